#include "shield/decode.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#define DECODED_MAX ((size_t)64 * 1024)
#define SHORTEST    8

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	if (c == '-')
		return 62;
	if (c == '_')
		return 63;
	return at ? (int)(at - digits) : -1;
}

static bool from_base64(const char *text, struct buf *out)
{
	unsigned bits = 0, value = 0;

	for (; *text && *text != '='; text++) {
		int digit;

		if (*text == '\n' || *text == ' ')
			continue;
		digit = base64_digit(*text);
		if (digit < 0)
			return false;
		value = (value << 6 | (unsigned)digit) & 0xffffff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			buf_byte(out, (uint8_t)(value >> bits));
		}
	}
	return text[strspn(text, "=\n ")] == '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Plain pairs, or \x41\x42. */
static bool from_hex(const char *text, struct buf *out)
{
	while (*text) {
		int high, low;

		if (text[0] == '\\' && text[1] == 'x')
			text += 2;
		if (*text == ' ' || *text == '\n') {
			text++;
			continue;
		}
		high = hex_digit(text[0]);
		low = high < 0 ? -1 : hex_digit(text[1]);
		if (low < 0)
			return false;
		buf_byte(out, (uint8_t)(high << 4 | low));
		text += 2;
	}
	return true;
}

static bool is_text(const struct buf *b)
{
	if (buf_error(b) != 0 || b->size == 0 || !is_utf8(b->data, b->size))
		return false;
	for (size_t i = 0; i < b->size; i++) {
		uint8_t c = b->data[i];

		if (c < 0x20 && c != '\n' && c != '\t' && c != '\r')
			return false;
	}
	return true;
}

const char *decode_text(struct arena *a, const char *text)
{
	auto_buf struct buf out = BUF_INIT(DECODED_MAX);

	if (strlen(text) < SHORTEST)
		return NULL;
	if (!(from_hex(text, &out) && is_text(&out))) {
		buf_clear(&out);
		if (!(from_base64(text, &out) && is_text(&out)))
			return NULL;
	}
	return arena_text(a, buf_get_text(&out), out.size);
}

const char *decode_escapes(struct arena *a, const char *text)
{
	auto_buf struct buf out = BUF_INIT(DECODED_MAX);
	bool any = false;

	for (; *text; text++) {
		unsigned value = 0;
		size_t n = 0;

		if (text[0] == '\\' && text[1] == 'x' && hex_digit(text[2]) >= 0) {
			for (text += 2; n < 2 && hex_digit(*text) >= 0; n++)
				value = value * 16 + (unsigned)hex_digit(*text++);
		} else if (text[0] == '\\' && text[1] >= '0' && text[1] <= '7') {
			for (text++; n < 4 && *text >= '0' && *text <= '7'; n++)
				value = value * 8 + (unsigned)(*text++ - '0');
		} else {
			buf_byte(&out, (uint8_t)*text);
			continue;
		}
		any = true;
		buf_byte(&out, (uint8_t)value);
		text--;
	}
	if (!any || buf_error(&out) != 0 || memchr(buf_get_text(&out), '\0', out.size))
		return NULL;
	return arena_text(a, buf_get_text(&out), out.size);
}
