/*
 * The table of programs: how the arguments of each are to be read. A new program is a
 * row, not code.
 *
 * Operand grammar, one letter an operand, left to right:
 *
 *	r read   l list   w write   c create   d delete   m moved away   a attributes
 *	h host   u URL    p a program or script that is run   s shell text   k code of another
 *language   - nothing
 *	*  the letter before it for all that follow
 *	+  as *, but the last operand is the letter behind it
 *
 * Options: words "NAME=letter" separated by blanks, for options that take an argument. Short
 * options are also found in bundles ("-xf FILE") and joined ("-oFILE"); long ones as --name=VALUE.
 * recursive: letters and long names of options that make reads and deletes recursive.
 */
#pragma once

#include <stdbool.h>

enum program_flag {
	PROGRAM_STDIN_SENT = 1 << 0, /* sends its standard input to its host */
	PROGRAM_NETWORK = 1 << 1,    /* bare operands may be hosts; connects in any case */
	PROGRAM_RECURSIVE = 1 << 2,  /* always */
	PROGRAM_READS_CWD = 1 << 3,  /* reads the current directory when it has no operand */
	PROGRAM_WRITES_CWD = 1 << 4, /* builds: writes beneath the current directory */
	PROGRAM_PRIVILEGE = 1 << 5,  /* does nothing of use without root */
	PROGRAM_DOWNLOADS = 1 << 6,  /* what it prints or writes comes from the network */
};

struct program {
	const char *name;
	const char *operands;
	const char *options;   /* or NULL */
	const char *recursive; /* or NULL */
	unsigned flags;
	const char *hosts;       /* reached by the subcommands below, blanks between; or NULL */
	const char *subcommands; /* blanks between; NULL: with any */
};

/* NULL when there is no row. */
const struct program *program_row_find(const char *name);
