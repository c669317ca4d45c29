/*
 * Shell text to a tree: POSIX sh and the bash that people and agents write.
 *
 * The parser is conservative: it never guesses. What is not understood ends it with a
 * reason, and the whole text is then opaque. It looks at each byte once; nesting is
 * bounded by SHELL_DEPTH_MAX; memory is the arena's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"

#define SHELL_TEXT_MAX  ((size_t)64 * 1024)
#define SHELL_DEPTH_MAX 32
#define SHELL_NODES_MAX 4096 /* many more commands than are followed; keeps a refusal quick */

struct shell_node;

enum shell_part_kind {
	SHELL_TEXT,     /* text as it stands after quoting was taken off */
	SHELL_VARIABLE, /* $name ${name} ${name<op>word} */
	SHELL_COMMAND,  /* $(...) `...` <(...) >(...) */
	SHELL_ARITHMETIC,
};

struct shell_word;

struct shell_part {
	enum shell_part_kind kind;
	bool quoted;
	const char *text; /* SHELL_TEXT: the text; SHELL_VARIABLE: its name */
	size_t n;
	const char *op;                /* SHELL_VARIABLE: ":-", "#", "/" ... or NULL */
	const struct shell_word *word; /* behind op */
	const struct shell_node *command;
	bool is_process; /* <( ) or >( ): becomes a path */
	const struct shell_part *next;
};

struct shell_word {
	const struct shell_part *parts;
	uint32_t at, size; /* where it stands in the text */
	const struct shell_word *next;
};

struct shell_assignment {
	const char *name;
	bool appends; /* += */
	bool is_array;
	const struct shell_word *value; /* array: its words */
	const struct shell_assignment *next;
};

enum shell_redirection_kind {
	SHELL_IN,
	SHELL_OUT,
	SHELL_APPEND,
	SHELL_INOUT,
	SHELL_DUP,
	SHELL_HERE_DOC,
	SHELL_HERE_STRING
};

struct shell_redirection {
	enum shell_redirection_kind kind;
	int fd; /* -1: the usual one */
	const struct shell_word *target;
	const struct shell_redirection *next;
};

enum shell_node_kind {
	SHELL_SIMPLE,
	SHELL_PIPELINE, /* children are its stages */
	SHELL_SEQUENCE, /* children one after the other, whatever joins them */
	SHELL_SUBSHELL,
	SHELL_FOR,      /* name over words: the one child */
	SHELL_FUNCTION, /* name: the one child */
};

struct shell_node {
	enum shell_node_kind kind;
	const char *name;
	const struct shell_word *words;
	const struct shell_assignment *assignments;
	const struct shell_redirection *redirections;
	const struct shell_node *children; /* linked by next */
	bool background;
	uint32_t at, size;
	const struct shell_node *next;
};

/* 0; -EBADMSG with *reterr_why for text that no shell takes or that is not understood; -E2BIG for too many
 * commands; -ENOMEM. */
int shell_parse(struct arena *a, const char *text, size_t n, const struct shell_node **ret_node,
	const char **reterr_why) MUST_CHECK;
