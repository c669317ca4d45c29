#include "base/utf8.h"

#define REPLACEMENT 0xfffdu

size_t utf8_decode(const uint8_t *bytes, size_t n, uint32_t *ret_code_point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length;
	uint32_t c;

	if (n == 0)
		return 0;
	c = bytes[0];
	if (c < 0x80) {
		*ret_code_point = c;
		return 1;
	}
	if (c >= 0xc2 && c <= 0xdf)
		length = 2;
	else if (c >= 0xe0 && c <= 0xef)
		length = 3;
	else if (c >= 0xf0 && c <= 0xf4)
		length = 4;
	else
		return 0;
	if (length > n)
		return 0;
	c &= 0x7fu >> length;
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (bytes[i] & 0x3fu);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret_code_point = c;
	return length;
}

bool is_utf8(const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n > 0) {
		uint32_t c;
		size_t length;

		if (*at < 0x80) {
			at++;
			n--;
			continue;
		}
		length = utf8_decode(at, n, &c);
		if (length == 0)
			return false;
		at += length;
		n -= length;
	}
	return true;
}

void utf8_append(struct buf *b, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = REPLACEMENT;
	if (c < 0x80) {
		buf_byte(b, (uint8_t)c);
	} else if (c < 0x800) {
		buf_byte(b, (uint8_t)(0xc0 | c >> 6));
		buf_byte(b, (uint8_t)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_byte(b, (uint8_t)(0xe0 | c >> 12));
		buf_byte(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf_byte(b, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		buf_byte(b, (uint8_t)(0xf0 | c >> 18));
		buf_byte(b, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
		buf_byte(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf_byte(b, (uint8_t)(0x80 | (c & 0x3f)));
	}
}

struct range {
	uint32_t first, last;
};

/* Characters that change how text looks without being seen: controls, bidi, zero-width, tags,
 * variation selectors. */
static const struct range invisible[] = {
	{ 0x00, 0x1f },
	{ 0x7f, 0x9f },
	{ 0xad, 0xad },
	{ 0x34f, 0x34f },
	{ 0x61c, 0x61c },
	{ 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },
	{ 0x200b, 0x200f },
	{ 0x2028, 0x202e },
	{ 0x2060, 0x206f },
	{ 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },
	{ 0xe0000, 0xe0fff },
};

static bool is_invisible(uint32_t c)
{
	for (size_t i = 0; i < N_ELEMENTS(invisible); i++) {
		if (c >= invisible[i].first && c <= invisible[i].last)
			return true;
	}
	return false;
}

void utf8_escape(struct buf *b, const void *bytes, size_t n, size_t max)
{
	const uint8_t *at = bytes;
	size_t start = b->size;

	while (n > 0) {
		uint32_t c = 0;
		size_t length = utf8_decode(at, n, &c);

		if (b->error != 0)
			return;
		if (b->size - start >= max) {
			buf_printf(b, "...(+%zu bytes)", n);
			return;
		}
		if (length == 0) {
			buf_printf(b, "\\x%02x", at[0]);
			length = 1;
		} else if (c == '\\') {
			buf_text(b, "\\\\");
		} else if (is_invisible(c)) {
			if (c < 0x80)
				buf_printf(b, "\\x%02x", c);
			else
				buf_printf(b, "\\u{%x}", c);
		} else {
			buf_bytes(b, at, length);
		}
		at += length;
		n -= length;
	}
}
