#include "agent/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "agent/pattern_program.h"

#define GROUPS_MAX 32
#define REPEAT_MAX 255
/* Copies of an atom are made by reading it again; nested empty ones would cost without growing. */
#define STEPS_MAX 65536

struct parser {
	const char *start, *at;
	struct pattern *p;
	unsigned depth, steps;
	bool fold;
	const char *fault;
};

static void fail(struct parser *s, const char *fault)
{
	if (!s->fault)
		s->fault = fault;
}

static void emit(struct parser *s, enum pattern_op op, int32_t arg)
{
	/* One place stays free for the final MATCH. */
	if (s->p->n_code >= PATTERN_CODE_MAX - 1) {
		fail(s, "the pattern is too large");
		return;
	}
	s->p->code[s->p->n_code++] = (struct pattern_code){ .op = op, .arg = arg };
}

/* Puts one instruction before those from `from` on. */
static void emit_before(struct parser *s, size_t from, enum pattern_op op, int32_t arg)
{
	emit(s, op, arg);
	if (s->fault)
		return;
	memmove(&s->p->code[from + 1], &s->p->code[from],
		(s->p->n_code - 1 - from) * sizeof(s->p->code[0]));
	s->p->code[from] = (struct pattern_code){ .op = op, .arg = arg };
}

static void fold_set(struct byte_set *set)
{
	for (uint8_t c = 'a'; c <= 'z'; c++) {
		uint8_t upper = (uint8_t)(c - 'a' + 'A');

		if (byte_set_has(set, c))
			byte_set_add(set, upper);
		else if (byte_set_has(set, upper))
			byte_set_add(set, c);
	}
}

static void emit_set(struct parser *s, struct byte_set set)
{
	if (s->fold)
		fold_set(&set);
	for (size_t i = 0; i < s->p->n_sets; i++) {
		if (memcmp(&s->p->sets[i], &set, sizeof(set)) == 0) {
			emit(s, PATTERN_SET, (int32_t)i);
			return;
		}
	}
	if (s->p->n_sets == PATTERN_SETS_MAX) {
		fail(s, "the pattern has too many sets");
		return;
	}
	s->p->sets[s->p->n_sets] = set;
	emit(s, PATTERN_SET, (int32_t)s->p->n_sets++);
}

static void emit_byte(struct parser *s, uint8_t byte)
{
	struct byte_set set = { { 0 } };

	byte_set_add(&set, byte);
	emit_set(s, set);
}

/* One character that is not in `set` (of ASCII): its first byte, then what continues it. */
static void emit_character_not_in(struct parser *s, const struct byte_set *set)
{
	struct byte_set head = { { 0 } }, tail = { { 0 } };

	for (unsigned c = 0; c < 256; c++) {
		bool continues = c >= 0x80 && c < 0xc0;

		if (continues)
			byte_set_add(&tail, (uint8_t)c);
		else if (!byte_set_has(set, (uint8_t)c) && c != '\n')
			byte_set_add(&head, (uint8_t)c);
	}
	emit_set(s, head);
	emit(s, PATTERN_SPLIT, 3);
	emit_set(s, tail);
	emit(s, PATTERN_JUMP, -2);
}

/* \d \w \s into set; false for another letter. */
static bool add_class(struct byte_set *set, char letter)
{
	for (unsigned c = 0; c < 128; c++) {
		bool digit = c >= '0' && c <= '9';
		bool word = digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		bool space = c == ' ' || (c >= '\t' && c <= '\r');

		if ((letter == 'd' && digit) || (letter == 'w' && word) || (letter == 's' && space))
			byte_set_add(set, (uint8_t)c);
	}
	return letter == 'd' || letter == 'w' || letter == 's';
}

static char escaped_byte(char letter)
{
	switch (letter) {
	case 't':
		return '\t';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	default:
		return letter;
	}
}

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static void parse_escape(struct parser *s)
{
	struct byte_set set = { { 0 } };
	char letter = *s->at;

	if (letter == '\0') {
		fail(s, "a pattern cannot end with a backslash");
		return;
	}
	s->at++;
	if (letter == 'b' || letter == 'B')
		emit(s, letter == 'b' ? PATTERN_WORD : PATTERN_NOT_WORD, 0);
	else if (add_class(&set, letter))
		emit_set(s, set);
	else if (letter >= 'A' && letter <= 'Z' && add_class(&set, (char)(letter | 0x20)))
		emit_character_not_in(s, &set);
	else if (is_letter_or_digit(letter) && escaped_byte(letter) == letter)
		fail(s, "there is no such escape");
	else
		emit_byte(s, (uint8_t)escaped_byte(letter));
}

/* One member of a set, or the end of a range; -1 when a whole class was added. */
static int set_member(struct parser *s, struct byte_set *set)
{
	char c = *s->at++;

	if ((c & 0x80) != 0) {
		fail(s, "only ASCII can stand in a set");
		return -1;
	}
	if (c != '\\')
		return (unsigned char)c;
	c = *s->at;
	if (c == '\0') {
		fail(s, "a set has no end");
		return -1;
	}
	s->at++;
	return add_class(set, c) ? -1 : (unsigned char)escaped_byte(c);
}

static void parse_set(struct parser *s)
{
	struct byte_set set = { { 0 } };
	bool negated = *s->at == '^';

	s->at += negated;
	/* A "]" in the first place is a member. */
	for (bool first = true; *s->at != '\0' && (first || *s->at != ']') && !s->fault;
		first = false) {
		int from = set_member(s, &set), to = from;

		if (from >= 0 && s->at[0] == '-' && s->at[1] != ']' && s->at[1] != '\0') {
			s->at++;
			to = set_member(s, &set);
		}
		if (from >= 0 && to < from)
			fail(s, "a range runs backwards");
		for (int c = from; c >= 0 && c <= to && !s->fault; c++)
			byte_set_add(&set, (uint8_t)c);
	}
	if (*s->at != ']') {
		fail(s, "a set has no end");
		return;
	}
	s->at++;
	if (s->fold)
		fold_set(&set);
	if (negated)
		emit_character_not_in(s, &set);
	else
		emit_set(s, set);
}

static void parse_choice(struct parser *s);

static void parse_group(struct parser *s)
{
	if (++s->depth > GROUPS_MAX) {
		fail(s, "groups are nested too deep");
		return;
	}
	if (s->at[0] == '?' && s->at[1] == ':')
		s->at += 2;
	parse_choice(s);
	if (*s->at == ')')
		s->at++;
	else
		fail(s, "a group has no end");
	s->depth--;
}

/* A whole UTF-8 character is one atom, so that a repetition takes all of it. */
static void parse_literal(struct parser *s, char first)
{
	emit_byte(s, (uint8_t)first);
	while ((first & 0xc0) == 0xc0 && (*s->at & 0xc0) == 0x80)
		emit_byte(s, (uint8_t)*s->at++);
}

static void parse_atom(struct parser *s)
{
	static const struct byte_set none = { { 0 } };
	char c = *s->at++;

	if (++s->steps > STEPS_MAX)
		fail(s, "the pattern is too large");
	else if (c == '(')
		parse_group(s);
	else if (c == '[')
		parse_set(s);
	else if (c == '.')
		emit_character_not_in(s, &none);
	else if (c == '^')
		emit(s, PATTERN_BEGIN, 0);
	else if (c == '$')
		emit(s, PATTERN_END, 0);
	else if (c == '\\')
		parse_escape(s);
	else if (c == '*' || c == '+' || c == '?')
		fail(s, "there is nothing to repeat");
	else
		parse_literal(s, c);
}

static unsigned parse_number(struct parser *s)
{
	unsigned n = 0;

	if (*s->at < '0' || *s->at > '9')
		fail(s, "a repetition needs a number");
	while (*s->at >= '0' && *s->at <= '9' && n <= REPEAT_MAX)
		n = n * 10 + (unsigned)(*s->at++ - '0');
	if (n > REPEAT_MAX)
		fail(s, "a repetition is over 255");
	return n;
}

static void star(struct parser *s, size_t from)
{
	int32_t size = (int32_t)(s->p->n_code - from);

	emit_before(s, from, PATTERN_SPLIT, size + 2);
	emit(s, PATTERN_JUMP, -(size + 1));
}

/* The atom at `atom`, whose code begins at `from`, min to max times; UINT_MAX: no end. */
static void repeat(struct parser *s, const char *atom, size_t from, unsigned min, unsigned max)
{
	const char *after = s->at;

	s->p->n_code = from;
	for (unsigned i = 0; i < min && !s->fault; i++) {
		s->at = atom;
		parse_atom(s);
	}
	from = s->p->n_code;
	for (unsigned i = min; (max == ~0u ? i == min : i < max) && !s->fault; i++) {
		size_t begin = s->p->n_code;

		s->at = atom;
		parse_atom(s);
		if (max == ~0u)
			star(s, begin);
		else
			emit_before(s, begin, PATTERN_SPLIT, (int32_t)(s->p->n_code - begin) + 1);
	}
	s->at = after;
}

static void parse_counts(struct parser *s, const char *atom, size_t from)
{
	unsigned min, max;

	s->at++;
	min = max = parse_number(s);
	if (*s->at == ',') {
		s->at++;
		max = *s->at == '}' ? ~0u : parse_number(s);
	}
	if (*s->at != '}' || max < min) {
		fail(s, "a repetition is not {m}, {m,} or {m,n}");
		return;
	}
	s->at++;
	repeat(s, atom, from, min, max);
}

static void parse_repeated(struct parser *s)
{
	const char *atom = s->at;
	size_t from = s->p->n_code;
	bool counted = false;

	parse_atom(s);
	while (!s->fault) {
		int32_t size = (int32_t)(s->p->n_code - from);

		if (*s->at == '*') {
			star(s, from);
		} else if (*s->at == '+') {
			emit(s, PATTERN_SPLIT, 2);
			emit(s, PATTERN_JUMP, -(size + 1));
		} else if (*s->at == '?') {
			emit_before(s, from, PATTERN_SPLIT, size + 1);
		} else if (*s->at == '{' && !counted) {
			parse_counts(s, atom, from);
			counted = true;
			continue;
		} else {
			return;
		}
		counted = true; /* a count would read the atom without what was done to it */
		s->at++;
	}
}

static void parse_choice(struct parser *s)
{
	size_t first = s->p->n_code;

	for (;;) {
		size_t from = s->p->n_code;

		while (!s->fault && *s->at != '\0' && *s->at != '|' && *s->at != ')')
			parse_repeated(s);
		if (s->fault || *s->at != '|')
			break;
		s->at++;
		emit_before(s, from, PATTERN_SPLIT, (int32_t)(s->p->n_code - from) + 2);
		/* Jumps to the end of all branches: its aim is not known yet, the mark is 0. */
		emit(s, PATTERN_JUMP, 0);
	}
	for (size_t i = first; i < s->p->n_code && !s->fault; i++) {
		if (s->p->code[i].op == PATTERN_JUMP && s->p->code[i].arg == 0)
			s->p->code[i].arg = (int32_t)(s->p->n_code - i);
	}
}

/* What can stand at the beginning, so that the matcher may skip all else. */
static void find_first(struct pattern *p)
{
	size_t n = 0;

	p->round++;
	p->stack[n++] = 0;
	while (n > 0) {
		size_t at = p->stack[--n];
		struct pattern_code code = p->code[at];

		if (p->mark[at] == p->round)
			continue;
		p->mark[at] = p->round;
		if (code.op == PATTERN_SET) {
			for (size_t i = 0; i < sizeof(p->first.bits); i++)
				p->first.bits[i] |= p->sets[code.arg].bits[i];
		} else if (code.op == PATTERN_JUMP || code.op == PATTERN_SPLIT) {
			p->stack[n++] = (uint16_t)((int32_t)at + code.arg);
			if (code.op == PATTERN_SPLIT)
				p->stack[n++] = (uint16_t)(at + 1);
		} else {
			p->first_is_any = true;
		}
	}
}

int pattern_compile(
	const char *text, bool fold, struct pattern **ret_pattern, struct diag *reterr_diag)
{
	auto_pattern struct pattern *p = calloc(1, sizeof(*p));
	struct parser s = { .start = text, .at = text, .p = p, .fold = fold };

	if (!p)
		return -ENOMEM;
	if (strlen(text) > PATTERN_MAX)
		return diag_set(reterr_diag, -EINVAL, 0, 0, "the pattern is over 1 KiB");
	parse_choice(&s);
	if (!s.fault && *s.at != '\0')
		fail(&s, "a group ends that was not begun");
	if (s.fault)
		return diag_set(
			reterr_diag, -EINVAL, 1, (uint32_t)(s.at - s.start) + 1, "%s", s.fault);
	p->code[p->n_code++] = (struct pattern_code){ .op = PATTERN_MATCH };
	find_first(p);
	*ret_pattern = take_ptr(p);
	return 0;
}

struct pattern *pattern_free(struct pattern *p)
{
	int saved = errno;

	free(p);
	errno = saved;
	return NULL;
}
