/*
 * The strict reader of lines. It runs over every byte of a log when that is verified, so it looks
 * at eight plain bytes at a time and copies nothing.
 */
#include "audit/line.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

#define HEX_DIGITS (SHA256_HEX_SIZE - 1)

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

struct cursor {
	const char *at;
	const char *end;
};

/* A byte that needs a closer look: below 0x20, a quote, a backslash, DEL or not ASCII. */
static bool is_special(unsigned char c)
{
	return c < 0x20 || c >= 0x7f || c == '"' || c == '\\';
}

/* The same for eight bytes at once; may say yes for a plain byte after a special one. */
static bool has_special(uint64_t x)
{
	uint64_t quote = x ^ (ONES * '"');
	uint64_t slash = x ^ (ONES * '\\');
	uint64_t del = x ^ (ONES * 0x7f);

	return (((x - ONES * 0x20) | (quote - ONES) | (slash - ONES) | (del - ONES) | x) & HIGHS) !=
	       0;
}

static const char *skip_plain(const char *at, const char *end)
{
	while (end - at >= 8) {
		uint64_t x;

		memcpy(&x, at, sizeof(x));
		if (has_special(x))
			break;
		at += 8;
	}
	while (at < end && !is_special((unsigned char)*at))
		at++;
	return at;
}

/* The value of a lower-case hexadecimal digit, and one more; 0 for every other byte. */
static const uint8_t nibbles[256] = {
	['0'] = 1,
	['1'] = 2,
	['2'] = 3,
	['3'] = 4,
	['4'] = 5,
	['5'] = 6,
	['6'] = 7,
	['7'] = 8,
	['8'] = 9,
	['9'] = 10,
	['a'] = 11,
	['b'] = 12,
	['c'] = 13,
	['d'] = 14,
	['e'] = 15,
	['f'] = 16,
};

static int hex_value(char c)
{
	return nibbles[(unsigned char)c] - 1;
}

/* The only escapes that the writer makes: \" \\ \n \t, \u00XX for other controls and DEL. */
static const char *skip_escape(const char *at, const char *end)
{
	int high, low, c;

	if (end - at < 2)
		return NULL;
	if (at[1] == '"' || at[1] == '\\' || at[1] == 'n' || at[1] == 't')
		return at + 2;
	if (end - at < 6 || at[1] != 'u' || at[2] != '0' || at[3] != '0')
		return NULL;
	high = hex_value(at[4]);
	low = hex_value(at[5]);
	if (high < 0 || low < 0)
		return NULL;
	c = high * 16 + low;
	if (c == 0 || c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f))
		return NULL;
	return at + 6;
}

/* From inside a string to its closing quote, or to the end; NULL when misspelt. */
static const char *skip_text(const char *at, const char *end)
{
	for (;;) {
		uint32_t code_point;
		size_t n;

		at = skip_plain(at, end);
		if (at == end || *at == '"')
			return at;
		if (*at == '\\') {
			at = skip_escape(at, end);
			if (!at)
				return NULL;
			continue;
		}
		n = (unsigned char)*at < 0x80
			    ? 0
			    : utf8_decode((const uint8_t *)at, (size_t)(end - at), &code_point);
		if (n == 0)
			return NULL;
		at += n;
	}
}

bool is_text_canonical(const char *text, size_t n)
{
	return skip_text(text, text + n) == text + n;
}

static bool take(struct cursor *c, const char *text, size_t n)
{
	if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0)
		return false;
	c->at += n;
	return true;
}

static bool take_string(struct cursor *c, struct slice *ret_text)
{
	const char *start = c->at + 1;
	const char *end;

	if (c->at >= c->end || *c->at != '"')
		return false;
	end = skip_text(start, c->end);
	if (!end || end == c->end)
		return false;
	*ret_text = (struct slice){ start, (size_t)(end - start) };
	c->at = end + 1;
	return true;
}

static bool take_uint(struct cursor *c, uint64_t max, uint64_t *ret_value)
{
	const char *start = c->at;
	uint64_t value = 0;

	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		uint64_t digit = (uint64_t)(*c->at - '0');

		if (value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (c->at == start || (*start == '0' && c->at - start > 1))
		return false;
	*ret_value = value;
	return true;
}

static bool take_json(struct cursor *c, unsigned depth);

static bool take_array(struct cursor *c, unsigned depth)
{
	if (take(c, "]", 1))
		return true;
	do {
		if (!take_json(c, depth))
			return false;
	} while (take(c, ",", 1));
	return take(c, "]", 1);
}

/* Keys are compared as they are spelt: escapes begin with a backslash, which no plain key byte
 * equals. */
static uint32_t next_byte(const char **at, const char *end)
{
	const char *p = *at;

	if (p == end)
		return 0;
	if (*p != '\\') {
		*at = p + 1;
		return (unsigned char)*p + 1u;
	}
	*at = p + (p[1] == 'u' ? 6 : 2);
	if (p[1] == 'u')
		return (uint32_t)(hex_value(p[4]) * 16 + hex_value(p[5])) + 1u;
	if (p[1] == 'n')
		return '\n' + 1u;
	return p[1] == 't' ? '\t' + 1u : (unsigned char)p[1] + 1u;
}

static bool is_before(struct slice a, struct slice b)
{
	const char *x = a.at, *y = b.at;

	for (;;) {
		uint32_t p = next_byte(&x, a.at + a.n);
		uint32_t q = next_byte(&y, b.at + b.n);

		if (p != q)
			return p < q;
		if (p == 0)
			return false;
	}
}

static bool take_map(struct cursor *c, unsigned depth)
{
	struct slice last = { 0 };

	if (take(c, "}", 1))
		return true;
	do {
		struct slice key;

		if (!take_string(c, &key) || !take(c, ":", 1) || !take_json(c, depth))
			return false;
		if (last.at && !is_before(last, key))
			return false;
		last = key;
	} while (take(c, ",", 1));
	return take(c, "}", 1);
}

static bool take_integer(struct cursor *c)
{
	bool negative = take(c, "-", 1);
	uint64_t value;

	if (!take_uint(c, negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX, &value))
		return false;
	return !negative || value > 0;
}

static bool take_json(struct cursor *c, unsigned depth)
{
	struct slice text;

	if (c->at >= c->end)
		return false;
	switch (*c->at) {
	case '"':
		return take_string(c, &text);
	case '{':
		c->at++;
		return depth > 0 && take_map(c, depth - 1);
	case '[':
		c->at++;
		return depth > 0 && take_array(c, depth - 1);
	case 't':
		return take(c, "true", 4);
	case 'f':
		return take(c, "false", 5);
	case 'n':
		return take(c, "null", 4);
	default:
		return take_integer(c);
	}
}

bool is_json_canonical(const char *text, size_t n)
{
	struct cursor c = { text, text + n };

	return take_json(&c, VALUE_DEPTH_MAX) && c.at == c.end;
}

/* A key with its colon, after a comma unless it is the first. */
#define TAKE_KEY(c, start, name)                                                                   \
	take_key((c), (start), "\"" name "\":", sizeof("\"" name "\":") - 1)

static bool take_key(struct cursor *c, const char *start, const char *key, size_t n)
{
	struct cursor saved = *c;

	if (c->at != start + 1 && !take(c, ",", 1))
		return false;
	if (take(c, key, n))
		return true;
	*c = saved;
	return false;
}

static bool take_hash(struct cursor *c, uint8_t *ret_hash)
{
	const char *at = c->at + 1;
	unsigned wrong = 0;

	if (c->end - c->at < HEX_DIGITS + 2 || c->at[0] != '"' || c->at[HEX_DIGITS + 1] != '"')
		return false;
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		unsigned high = nibbles[(unsigned char)at[2 * i]] - 1u;
		unsigned low = nibbles[(unsigned char)at[2 * i + 1]] - 1u;

		wrong |= (high | low) & 0x80u; /* all ones for what is no digit */
		ret_hash[i] = (uint8_t)(high << 4 | low);
	}
	c->at += HEX_DIGITS + 2;
	return wrong == 0;
}

static bool take_value(struct cursor *c, struct slice *ret_value)
{
	const char *start = c->at;

	if (!take_json(c, VALUE_DEPTH_MAX))
		return false;
	*ret_value = (struct slice){ start, (size_t)(c->at - start) };
	return true;
}

/* Where the digits of hash and mac are: left out of what is hashed. */
struct gaps {
	const char *hash;
	const char *mac;
};

static bool read_front(struct cursor *c, const char *start, struct line *l)
{
	struct slice ignored;
	uint8_t hash[SHA256_SIZE];

	if (TAKE_KEY(c, start, "action_hash") && !take_hash(c, hash))
		return false;
	if (TAKE_KEY(c, start, "action_type") && !take_string(c, &l->action_type))
		return false;
	if (TAKE_KEY(c, start, "attestation") && !take_value(c, &ignored))
		return false;
	if (TAKE_KEY(c, start, "details") && !take_value(c, &l->details))
		return false;
	if (!TAKE_KEY(c, start, "epoch") || !take_uint(c, INT64_MAX, &l->epoch))
		return false;
	if (!TAKE_KEY(c, start, "event") || !take_string(c, &l->event))
		return false;
	return !TAKE_KEY(c, start, "grant_hash") || take_hash(c, hash);
}

static bool read_middle(struct cursor *c, const char *start, struct line *l, struct gaps *gaps)
{
	struct slice ignored;
	uint64_t number;

	if (!TAKE_KEY(c, start, "hash"))
		return false;
	gaps->hash = c->at + 1;
	if (!take_hash(c, l->hash) || !TAKE_KEY(c, start, "id") || !take_string(c, &ignored) ||
		!TAKE_KEY(c, start, "mac"))
		return false;
	gaps->mac = c->at + 1;
	if (!take_hash(c, l->mac) || !TAKE_KEY(c, start, "monotonic_ms") ||
		!take_uint(c, INT64_MAX, &number))
		return false;
	if (TAKE_KEY(c, start, "origin") && !take_string(c, &l->origin))
		return false;
	if (TAKE_KEY(c, start, "otr") && !take(c, "true", 4))
		return false;
	return TAKE_KEY(c, start, "previous_hash") && take_hash(c, l->previous_hash);
}

static bool read_back(struct cursor *c, const char *start, struct line *l)
{
	struct slice ignored;

	if (!TAKE_KEY(c, start, "seq") || !take_uint(c, INT64_MAX, &l->seq))
		return false;
	if (TAKE_KEY(c, start, "session") && !take_string(c, &l->session))
		return false;
	if (TAKE_KEY(c, start, "snapshot") && !take_string(c, &ignored))
		return false;
	if (!TAKE_KEY(c, start, "time") || !take_string(c, &l->time))
		return false;
	if (TAKE_KEY(c, start, "verdict") && !take_string(c, &l->verdict))
		return false;
	return take(c, "}", 1) && c->at == c->end;
}

int line_read(const char *text, size_t n, struct line *ret_line)
{
	struct cursor c = { text, text + n };
	struct gaps gaps;
	struct sha256 h;

	memset(ret_line, 0, sizeof(*ret_line));
	if (!take(&c, "{", 1) || !read_front(&c, text, ret_line) ||
		!read_middle(&c, text, ret_line, &gaps) || !read_back(&c, text, ret_line))
		return -EBADMSG;
	sha256_init(&h);
	sha256_update(&h, text, (size_t)(gaps.hash - text));
	sha256_update(&h, gaps.hash + HEX_DIGITS, (size_t)(gaps.mac - gaps.hash) - HEX_DIGITS);
	sha256_update(&h, gaps.mac + HEX_DIGITS, (size_t)(text + n - gaps.mac) - HEX_DIGITS);
	sha256_final(&h, ret_line->computed);
	return 0;
}

bool slice_is(struct slice s, const char *text)
{
	return s.at && strlen(text) == s.n && memcmp(s.at, text, s.n) == 0;
}
