#include "agent/pattern_program.h"

#include <string.h>
#include <strings.h>

static bool is_word_byte(const uint8_t *text, size_t n, size_t at)
{
	uint8_t c = at < n ? text[at] : 0;

	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

static bool holds(enum pattern_op op, const uint8_t *text, size_t n, size_t at)
{
	bool boundary = (at > 0 && is_word_byte(text, n, at - 1)) != is_word_byte(text, n, at);

	switch (op) {
	case PATTERN_BEGIN:
		return at == 0;
	case PATTERN_END:
		return at == n;
	case PATTERN_WORD:
		return boundary;
	case PATTERN_NOT_WORD:
		return !boundary;
	case PATTERN_MATCH:
	case PATTERN_SET:
	case PATTERN_JUMP:
	case PATTERN_SPLIT:
		break;
	}
	return false;
}

/*
 * Adds all that can be reached from one instruction without taking a byte.
 * Each is visited once a round, so a position costs no more than the program is
 * long. True: the end of the pattern was reached.
 */
static bool reach(struct pattern *p, size_t from, const uint8_t *text, size_t n, size_t at)
{
	size_t n_stack = 0;

	p->stack[n_stack++] = (uint16_t)from;
	while (n_stack > 0) {
		size_t i = p->stack[--n_stack];
		struct pattern_code code = p->code[i];

		if (p->mark[i] == p->round)
			continue;
		p->mark[i] = p->round;
		switch (code.op) {
		case PATTERN_MATCH:
			return true;
		case PATTERN_SET:
			p->next[p->n_next++] = (uint16_t)i;
			break;
		case PATTERN_SPLIT:
			p->stack[n_stack++] = (uint16_t)(i + 1);
			p->stack[n_stack++] = (uint16_t)((int32_t)i + code.arg);
			break;
		case PATTERN_JUMP:
			p->stack[n_stack++] = (uint16_t)((int32_t)i + code.arg);
			break;
		case PATTERN_BEGIN:
		case PATTERN_END:
		case PATTERN_WORD:
		case PATTERN_NOT_WORD:
			if (holds(code.op, text, n, at))
				p->stack[n_stack++] = (uint16_t)(i + 1);
			break;
		}
	}
	return false;
}

static void new_round(struct pattern *p)
{
	if (++p->round == 0) {
		memset(p->mark, 0, sizeof(p->mark));
		p->round = 1;
	}
	p->n_next = 0;
}

static void next_becomes_here(struct pattern *p)
{
	memcpy(p->here, p->next, p->n_next * sizeof(p->next[0]));
	p->n_here = p->n_next;
}

bool pattern_matches(struct pattern *p, const char *bytes, size_t n)
{
	const uint8_t *text = (const uint8_t *)bytes;

	p->n_here = 0;
	new_round(p);
	if (reach(p, 0, text, n, 0))
		return true;
	next_becomes_here(p);
	for (size_t at = 0; at < n; at++) {
		new_round(p);
		for (size_t i = 0; i < p->n_here; i++) {
			size_t from = p->here[i];

			if (byte_set_has(&p->sets[p->code[from].arg], text[at]) &&
				reach(p, from + 1, text, n, at + 1))
				return true;
		}
		/* A match may also begin behind this byte. */
		if ((p->first_is_any || (at + 1 < n && byte_set_has(&p->first, text[at + 1]))) &&
			reach(p, 0, text, n, at + 1))
			return true;
		next_becomes_here(p);
	}
	return false;
}

/* [abc] or [!a-z] at pattern, which stands behind the bracket; NULL when it has no end. */
static const char *name_set(const char *pattern, char c, bool *ret_has)
{
	bool negated = *pattern == '!' || *pattern == '^', has = false;

	pattern += negated;
	for (bool first = true; *pattern && (first || *pattern != ']'); first = false) {
		char from = *pattern++, to = from;

		if (pattern[0] == '-' && pattern[1] != ']' && pattern[1] != '\0') {
			to = pattern[1];
			pattern += 2;
		}
		has |= (unsigned char)c >= (unsigned char)from &&
		       (unsigned char)c <= (unsigned char)to;
	}
	*ret_has = has != negated;
	return *pattern == ']' ? pattern + 1 : NULL;
}

/* One sign of the pattern against one byte; NULL when it does not fit. */
static const char *name_step(const char *pattern, char c)
{
	const char *after;
	bool has;

	if (*pattern == '?')
		return pattern + 1;
	if (*pattern == '[' && (after = name_set(pattern + 1, c, &has)) != NULL)
		return has ? after : NULL;
	if (*pattern == '\\' && pattern[1] != '\0')
		pattern++;
	return *pattern == c ? pattern + 1 : NULL;
}

/* Only the last star is ever tried again, so the time is at most pattern times name. */
bool name_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *star_name = NULL;

	if (!strpbrk(pattern, "*?[\\"))
		return strcasestr(name, pattern) != NULL;
	while (*name) {
		const char *after = *pattern == '*' ? NULL : name_step(pattern, *name);

		if (*pattern == '*') {
			star = ++pattern;
			star_name = name;
		} else if (after) {
			pattern = after;
			name++;
		} else if (star) {
			pattern = star;
			name = ++star_name;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}
