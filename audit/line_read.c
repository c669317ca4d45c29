/*
 * The strict reader of lines. It runs over every byte of a log when that is verified, so it looks
 * at each byte once and copies nothing.
 */
#include "audit/line.h"

#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX  VALUE_DEPTH_MAX
#define HEX_DIGITS (SHA256_HEX_SIZE - 1)

struct scan {
	const uint8_t *at;
	const uint8_t *end;
};

/* Bytes of a JSON text that stand for themselves: not controls, quote, backslash, DEL. */
static inline bool is_plain(uint8_t c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static bool hex_value(uint8_t c, unsigned *ret_value)
{
	if (c >= '0' && c <= '9')
		*ret_value = (unsigned)c - (unsigned)'0';
	else if (c >= 'a' && c <= 'f')
		*ret_value = (unsigned)c - (unsigned)'a' + 10u;
	else
		return false;
	return true;
}

/* The canonical escapes: \" \\ \n \t, and \u00xx in lower case for the other controls and DEL. */
static bool scan_escape(struct scan *s)
{
	unsigned high, low, c;

	if (s->end - s->at < 2)
		return false;
	if (s->at[1] == '"' || s->at[1] == '\\' || s->at[1] == 'n' || s->at[1] == 't') {
		s->at += 2;
		return true;
	}
	if (s->end - s->at < 6 || memcmp(s->at, "\\u00", 4) != 0 || !hex_value(s->at[4], &high) ||
		!hex_value(s->at[5], &low))
		return false;
	c = high << 4 | low;
	if (c == 0 || c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f))
		return false;
	s->at += 6;
	return true;
}

/* A text with its quotes; UTF-8 is checked where text is used, bytes over 0x7f are covered by the
 * hash. */
static bool scan_text(struct scan *s, const uint8_t **ret_text, size_t *ret_n)
{
	if (s->at >= s->end || *s->at != '"')
		return false;
	*ret_text = ++s->at;
	for (;;) {
		while (s->at < s->end && is_plain(*s->at))
			s->at++;
		if (s->at >= s->end)
			return false;
		if (*s->at == '"')
			break;
		if (*s->at != '\\' || !scan_escape(s))
			return false;
	}
	*ret_n = (size_t)(s->at - *ret_text);
	s->at++;
	return true;
}

static bool scan_number(struct scan *s, uint64_t *ret_value)
{
	const uint8_t *start;
	uint64_t value = 0;

	if (s->at < s->end && *s->at == '-')
		s->at++;
	start = s->at;
	while (s->at < s->end && *s->at >= '0' && *s->at <= '9') {
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*s->at - '0'), &value))
			return false;
		s->at++;
	}
	if (s->at == start || (*start == '0' && s->at - start > 1) ||
		(value == 0 && start[-1] == '-'))
		return false;
	*ret_value = value;
	return true;
}

static bool scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

/* One open array or object. */
struct level {
	bool is_object;
	bool has_item;
	const uint8_t *key; /* the last one, since keys must ascend */
	size_t n_key;
};

static bool key_ascends(const struct level *l, const uint8_t *key, size_t n)
{
	size_t least = l->n_key < n ? l->n_key : n;
	int order;

	if (!l->key)
		return true;
	order = memcmp(l->key, key, least);
	return order < 0 || (order == 0 && l->n_key < n);
}

static bool scan_key(struct scan *s, struct level *l)
{
	const uint8_t *key;
	size_t n;

	if (!scan_text(s, &key, &n) || !key_ascends(l, key, n) || !scan_word(s, ":"))
		return false;
	l->key = key;
	l->n_key = n;
	return true;
}

static bool scan_item_start(struct scan *s, struct level *l)
{
	if (l->has_item && !scan_word(s, ","))
		return false;
	l->has_item = true;
	return !l->is_object || scan_key(s, l);
}

/* Text, number, true, false or null. */
static bool scan_scalar(struct scan *s)
{
	const uint8_t *text;
	uint64_t number;
	size_t n;

	if (s->at >= s->end)
		return false;
	switch (*s->at) {
	case '"':
		return scan_text(s, &text, &n);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		return scan_number(s, &number);
	}
}

/* Any value in canonical form. */
static bool scan_value(struct scan *s)
{
	struct level levels[DEPTH_MAX + 1];
	size_t depth = 0;

	for (;;) {
		if (s->at < s->end && (*s->at == '{' || *s->at == '[')) {
			if (depth > DEPTH_MAX)
				return false;
			levels[depth++] = (struct level){ .is_object = *s->at++ == '{' };
		} else if (!scan_scalar(s)) {
			return false;
		}
		/* Close what ends here, then stand before the next item. */
		for (;; depth--) {
			if (depth == 0)
				return true;
			if (s->at >= s->end)
				return false;
			if (*s->at != (levels[depth - 1].is_object ? '}' : ']'))
				break;
			s->at++;
		}
		if (!scan_item_start(s, &levels[depth - 1]))
			return false;
	}
}

/* `"key":` if the line goes on with this key; optional keys are simply not there. */
static bool next_is(struct scan *s, const char *key, bool first)
{
	const uint8_t *at = s->at;
	size_t n = strlen(key);

	if (!first) {
		if (at >= s->end || *at != ',')
			return false;
		at++;
	}
	if ((size_t)(s->end - at) < n + 3 || *at != '"' || memcmp(at + 1, key, n) != 0 ||
		at[n + 1] != '"' || at[n + 2] != ':')
		return false;
	s->at = at + n + 3;
	return true;
}

/* 64 digits in quotes. */
static bool scan_hash(struct scan *s, uint8_t ret_hash[static SHA256_SIZE])
{
	if (s->end - s->at < HEX_DIGITS + 2 || s->at[0] != '"' || s->at[HEX_DIGITS + 1] != '"')
		return false;
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		unsigned high, low;

		if (!hex_value(s->at[1 + 2 * i], &high) || !hex_value(s->at[2 + 2 * i], &low))
			return false;
		ret_hash[i] = (uint8_t)(high << 4 | low);
	}
	s->at += HEX_DIGITS + 2;
	return true;
}

static bool scan_head(struct scan *s, struct line *l, bool *first)
{
	uint8_t ignored[SHA256_SIZE];
	const uint8_t *text;
	size_t n;

	if (next_is(s, "action_hash", *first)) {
		*first = false;
		if (!scan_hash(s, ignored))
			return false;
	}
	if (next_is(s, "action_type", *first)) {
		*first = false;
		if (!scan_text(s, &text, &n))
			return false;
	}
	if (next_is(s, "attestation", *first)) {
		*first = false;
		if (!scan_value(s))
			return false;
	}
	if (next_is(s, "details", *first)) {
		*first = false;
		l->details = (const char *)s->at;
		if (!scan_value(s))
			return false;
		l->n_details = (size_t)((const char *)s->at - l->details);
	}
	return true;
}

static bool scan_identity(struct scan *s, struct line *l, bool first, const uint8_t **ret_hash_at)
{
	uint8_t ignored[SHA256_SIZE];
	const uint8_t *event;
	const uint8_t *epoch_at;

	if (!next_is(s, "epoch", first))
		return false;
	epoch_at = s->at;
	if (!scan_number(s, &l->epoch) || *epoch_at == '-' || !next_is(s, "event", false) ||
		!scan_text(s, &event, &l->n_event))
		return false;
	l->event = (const char *)event;
	if (next_is(s, "grant_hash", false) && !scan_hash(s, ignored))
		return false;
	if (!next_is(s, "hash", false))
		return false;
	*ret_hash_at = s->at + 1;
	return scan_hash(s, l->hash);
}

static bool scan_tail(struct scan *s, struct line *l, const uint8_t **ret_mac_at)
{
	const uint8_t *text, *number_at;
	uint64_t number;
	size_t n;

	if (!next_is(s, "id", false) || !scan_text(s, &text, &n) || !next_is(s, "mac", false))
		return false;
	*ret_mac_at = s->at + 1;
	if (!scan_hash(s, l->mac) || !next_is(s, "monotonic_ms", false) || !scan_number(s, &number))
		return false;
	if (next_is(s, "origin", false) && !scan_text(s, &text, &n))
		return false;
	if (next_is(s, "otr", false) && !scan_word(s, "true"))
		return false;
	if (!next_is(s, "previous_hash", false) || !scan_hash(s, l->previous_hash) ||
		!next_is(s, "seq", false))
		return false;
	number_at = s->at;
	if (!scan_number(s, &l->seq) || *number_at == '-')
		return false;
	if (next_is(s, "session", false) && !scan_text(s, &text, &n))
		return false;
	if (next_is(s, "snapshot", false) && !scan_text(s, &text, &n))
		return false;
	if (!next_is(s, "time", false) || !scan_text(s, &text, &n))
		return false;
	if (next_is(s, "verdict", false) && !scan_text(s, &text, &n))
		return false;
	return scan_word(s, "}") && s->at == s->end;
}

int line_read(const char *text, size_t n, struct line *ret_line)
{
	const uint8_t *start = (const uint8_t *)text;
	struct scan s = { .at = start, .end = start + n };
	const uint8_t *hash_at, *mac_at;
	struct line l = { 0 };
	struct sha256 h;
	bool first = true;

	if (!scan_word(&s, "{") || !scan_head(&s, &l, &first) ||
		!scan_identity(&s, &l, first, &hash_at) || !scan_tail(&s, &l, &mac_at))
		return -EBADMSG;
	sha256_init(&h);
	sha256_update(&h, start, (size_t)(hash_at - start));
	sha256_update(&h, hash_at + HEX_DIGITS, (size_t)(mac_at - hash_at) - HEX_DIGITS);
	sha256_update(&h, mac_at + HEX_DIGITS, (size_t)(s.end - mac_at) - HEX_DIGITS);
	sha256_final(&h, l.computed);
	*ret_line = l;
	return 0;
}
