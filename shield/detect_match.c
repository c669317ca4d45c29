#include <ctype.h>
#include <stdlib.h>
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

static bool is_special(char c)
{
	return c == ' ' || c == '%' || c == '#' || c == '<' || c == '>' || c == '\\' || c == '*';
}

/* One alternative of n bytes, then the rest of the pattern. */
static const char *match_alternative(
	struct matcher *m, const char *p, size_t n, const char *rest, const char *at)
{
	char one[1024];
	size_t n_rest;

	for (size_t k = 0; k < n; k++) {
		if (is_special(p[k])) {
			n_rest = strlen(rest);
			if (n + n_rest + 1 > sizeof(one))
				return NULL;
			memcpy(one, p, n);
			memcpy(one + n, rest, n_rest + 1);
			return match_here(m, one, at);
		}
		if (at + k >= m->end || at[k] != p[k])
			return NULL;
	}
	return match_here(m, rest, at + n);
}

static const char *match_group(struct matcher *m, const char *pattern, const char *at)
{
	const char *close = pattern;
	const char *p = pattern + 1;

	while (*close && *close != ')')
		close++;
	if (!*close)
		return NULL;
	while (p <= close) {
		size_t n = 0;
		const char *end;

		while (p[n] != '|' && p[n] != ')')
			n++;
		end = match_alternative(m, p, n, close + 1, at);
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

static uint32_t name_hash(const char *name, size_t n)
{
	uint32_t h = 2166136261U;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619U;
	return h;
}

/* The program's name at the beginning of an alternative; 0 where it may be any. */
static size_t name_size(const char *p)
{
	size_t n = strcspn(p, " *%|)\\<>#(");

	return p[n] == '%' || p[n] == '\\' || p[n] == '(' ? 0 : n;
}

static void index_add(struct detect_index *index, const char *p, uint32_t row)
{
	size_t n = name_size(p);

	if (index->n < index->max)
		index->entries[index->n] = (struct detect_entry){ .row = row,
			.hash = n > 0 ? name_hash(p, n) : 0 };
	index->n++;
}

static int compare_entries(const void *x, const void *y)
{
	const struct detect_entry *a = x, *b = y;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void detect_index_build(struct detect_index *index)
{
	index->n = 0;
	for (uint32_t row = 0; row < detect_n_calls; row++) {
		const char *p = detect_calls[row].pattern;

		if (*p != '(') {
			index_add(index, p, row);
			continue;
		}
		for (p++; *p && *p != ')'; p++) {
			if (p[-1] == '(' || p[-1] == '|')
				index_add(index, p, row);
		}
	}
	if (index->n <= index->max)
		qsort(index->entries, index->n, sizeof(*index->entries), compare_entries);
}

size_t detect_index_find(const struct detect_index *index, const char *program, size_t *ret_n)
{
	uint32_t hash = program ? name_hash(program, strlen(program)) : 0;
	size_t low = 0, high = index->n;
	size_t n = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (index->entries[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < index->n && index->entries[low + n].hash == hash)
		n++;
	*ret_n = n;
	return low;
}
