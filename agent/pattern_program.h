/*
 * A compiled pattern: instructions with relative jumps, so that a piece can be
 * moved and copied as a whole. pattern.c writes it, pattern_match.c runs it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/pattern.h"

#define PATTERN_CODE_MAX 4096
#define PATTERN_SETS_MAX 256

enum pattern_op {
	PATTERN_MATCH,
	PATTERN_SET,   /* takes one byte of sets[arg] */
	PATTERN_JUMP,  /* to +arg */
	PATTERN_SPLIT, /* to +1 and to +arg */
	PATTERN_BEGIN,
	PATTERN_END,
	PATTERN_WORD, /* between a word byte and another */
	PATTERN_NOT_WORD,
};

struct pattern_code {
	enum pattern_op op;
	int32_t arg;
};

struct byte_set {
	uint8_t bits[32];
};

static inline bool byte_set_has(const struct byte_set *s, uint8_t byte)
{
	return (s->bits[byte >> 3] >> (byte & 7) & 1) != 0;
}

static inline void byte_set_add(struct byte_set *s, uint8_t byte)
{
	s->bits[byte >> 3] |= (uint8_t)(1u << (byte & 7));
}

struct pattern {
	struct pattern_code code[PATTERN_CODE_MAX];
	size_t n_code;
	struct byte_set sets[PATTERN_SETS_MAX];
	size_t n_sets;
	struct byte_set first; /* bytes a match can begin with */
	bool first_is_any;
	/* working memory of the matcher */
	uint16_t here[PATTERN_CODE_MAX], next[PATTERN_CODE_MAX], stack[2 * PATTERN_CODE_MAX];
	size_t n_here, n_next;
	uint32_t mark[PATTERN_CODE_MAX];
	uint32_t round;
};
