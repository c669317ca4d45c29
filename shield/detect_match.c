#include <ctype.h>
#include <string.h>

#include "shield/detect.h"

#define GAP_MAX 80

struct matcher {
	const char *start, *end; /* of the text */
	unsigned steps;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n';
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("_.-/:@$~=+,", c)) || (c & 0x80);
}

static const char *match_here(struct matcher *m, const char *pattern, const char *at);

static const char *match_gap(struct matcher *m, const char *pattern, const char *at)
{
	for (int i = 0; i <= GAP_MAX; i++) {
		const char *end = match_here(m, pattern, at);

		if (end)
			return end;
		if (at == m->end || *at == '\n')
			return NULL;
		at++;
	}
	return NULL;
}

static const char *match_run(
	struct matcher *m, const char *pattern, const char *at, bool (*is)(char c))
{
	const char *most = at;

	while (most < m->end && most - at < 4 * GAP_MAX && is(*most))
		most++;
	for (; most > at; most--) {
		const char *end = match_here(m, pattern, most);

		if (end)
			return end;
	}
	return NULL;
}

static bool is_digit(char c)
{
	return isdigit((unsigned char)c) != 0;
}

static const char *match_group(struct matcher *m, const char *pattern, const char *at)
{
	const char *close = strchr(pattern, ')');
	char one[1024];

	if (!close)
		return NULL;
	for (const char *p = pattern + 1; p <= close;) {
		size_t n = strcspn(p, "|)");
		size_t n_rest = strlen(close + 1);
		const char *end;

		/* Most alternatives fail at their first character: nothing is copied for them. */
		if (n > 0 && !strchr(" %#<>\\", *p) && (at == m->end || *at != *p)) {
			p += n + 1;
			continue;
		}
		if (n + n_rest + 1 > sizeof(one))
			return NULL;
		memcpy(one, p, n);
		memcpy(one + n, close + 1, n_rest + 1);
		end = match_here(m, one, at);
		if (end)
			return end;
		p += n + 1;
	}
	return NULL;
}

static bool is_boundary(const struct matcher *m, const char *at)
{
	bool before = at > m->start && is_word(at[-1]);
	bool after = at < m->end && is_word(*at);

	return before != after || (!before && !after);
}

static const char *match_here(struct matcher *m, const char *pattern, const char *at)
{
	for (; *pattern; pattern++) {
		if (m->steps == 0)
			return NULL;
		m->steps--;
		switch (*pattern) {
		case '*':
			return match_gap(m, pattern + 1, at);
		case '%':
			return match_run(m, pattern + 1, at, is_name);
		case '#':
			return match_run(m, pattern + 1, at, is_digit);
		case '(':
			return match_group(m, pattern, at);
		case '<':
		case '>':
			if (!is_boundary(m, at))
				return NULL;
			continue;
		case ' ':
			if (at == m->end || !is_blank(*at))
				return NULL;
			while (at < m->end && is_blank(*at))
				at++;
			continue;
		case '\\':
			pattern++;
			break;
		default:
			break;
		}
		if (at == m->end || *at != *pattern)
			return NULL;
		at++;
	}
	return at;
}

bool is_detect_pattern(const char *pattern, const char *text, size_t n, size_t *ret_size)
{
	struct matcher m = { .start = text, .end = text + n, .steps = 20000 };
	const char *end = match_here(&m, pattern, text);

	if (!end)
		return false;
	*ret_size = (size_t)(end - text);
	return true;
}

/* The anchor stands somewhere in the pattern; tries begin so far before it as the pattern may reach. */
bool is_detect_match(const struct detect_row *row, const char *text, size_t n, size_t *ret_at,
	size_t *ret_size)
{
	size_t n_anchor = strlen(row->anchor);
	const char *end = text + n;
	unsigned tries = 512;

	for (const char *at = text; at < end && tries > 0; at++, tries--) {
		const char *first;
		const char *match;
		struct matcher m = { .start = text, .end = end, .steps = 4000 };

		at = memmem(at, (size_t)(end - at), row->anchor, n_anchor);
		if (!at)
			return false;
		first = at;
		match = match_here(&m, row->pattern, first);
		if (match) {
			*ret_at = (size_t)(first - text);
			*ret_size = (size_t)(match - first);
			return true;
		}
	}
	return false;
}

void detect_fold(const char *text, size_t n, char *ret)
{
	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c + 32);
		else if (c == '\t' || c == '\r' || c == '\v' || c == '\f')
			c = ' ';
		ret[i] = c;
	}
	ret[n] = '\0';
}

static uint32_t letter_bit(char c)
{
	return c >= 'a' && c <= 'z' ? 1U << (c - 'a') : 1U << 31;
}

uint32_t detect_first_letters(const char *pattern)
{
	uint32_t letters = 0;

	if (*pattern == '%' || *pattern == '*' || *pattern == '\\')
		return UINT32_MAX;
	if (*pattern != '(')
		return letter_bit(*pattern);
	for (const char *p = pattern + 1; *p && *p != ')'; p++) {
		if (p[-1] == '(' || p[-1] == '|')
			letters |= *p == '%' || *p == '|' ? UINT32_MAX : letter_bit(*p);
	}
	return letters;
}

bool is_detect_first(uint32_t letters, char c)
{
	return (letters & letter_bit(c)) != 0;
}
