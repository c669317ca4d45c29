/*
 * Tier 1: rows of what is recognisably evil or worth a question, looked for in
 * every string of every action and in the calls of commands.
 *
 * A pattern is matched against folded text (lower case, blanks as one kind):
 *
 *	space	one or more blanks
 *	<  >	beginning or end of a word
 *	*	at most 80 characters, none a newline
 *	%	one or more characters of a name: letters, digits, "_", ".", "-", "/", ":", "@"
 *	#	one or more digits
 *	(a|b|)	one of these; alternatives hold only literals, spaces, % and #
 *	\c	the character c
 *
 * Every match costs a bounded number of steps for each place where the row's
 * anchor stands, so that time stays linear in the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shield/shield.h"

enum detect_scope {
	DETECT_COMMAND = 1 << 0, /* text that a shell or interpreter runs */
	DETECT_PROSE = 1 << 1,	 /* instructions to models and people: tasks, memory, schedules */
	DETECT_SENT = 1 << 2,	 /* what goes to somebody else: mail, messages, bodies, addresses */
	DETECT_CONTENT = 1 << 3, /* what is written into files */
	DETECT_URL = 1 << 4,
	DETECT_CALL = 1 << 5, /* one call of a command: its program and arguments, one blank between */
	DETECT_ANY = (1 << 5) - 1,
};

struct detect_row {
	const char *id; /* "DET-..." */
	enum il_decision decision;
	enum il_severity severity;
	unsigned scope;	     /* of enum detect_scope */
	const char *anchor;  /* must stand in the folded text; NULL only for DETECT_CALL */
	const char *pattern; /* begins at the anchor unless it begins with "*" */
	const char *what;    /* "asks a model to forget its instructions" */
	const char *yes, *no; /* examples that the tests run */
};

extern const struct detect_row detect_rows[];
extern const size_t detect_n_rows;
extern const struct detect_row detect_calls[];
extern const size_t detect_n_calls;

/* text is folded; ret_at and ret_size say where. */
bool is_detect_match(const struct detect_row *row, const char *text, size_t n, size_t *ret_at,
	size_t *ret_size);
/* A pattern at the beginning of text. */
bool is_detect_pattern(const char *pattern, const char *text, size_t n, size_t *ret_size);
/*
 * The rows of detect_calls by the names of programs that they speak of; hash 0: by any. Built
 * once, kept by the policy. build() with max 0 only counts.
 */
struct detect_entry {
	uint32_t hash, row;
};
struct detect_index {
	struct detect_entry *entries;
	size_t n, max;
};
void detect_index_build(struct detect_index *index);
/* The first of ret_n entries for a program; NULL: of those for any. */
size_t detect_index_find(const struct detect_index *index, const char *program, size_t *ret_n);
/* Folds n bytes into ret, which has room for n + 1. */
void detect_fold(const char *text, size_t n, char *ret);

/* A secret recognised by its form. */
struct detect_secret {
	const char *kind; /* "github-token" */
	size_t at, size;
};
/* The first secret at or behind `from`; false when there is none. */
bool detect_secret_find(const char *text, size_t n, size_t from, struct detect_secret *ret_secret);
