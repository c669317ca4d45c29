/*
 * The walk over a parsed command: what is known while it is read, and what has been
 * found. Shared by the expansion of words, the table of programs and the wrappers.
 */
#pragma once

#include "shield/command.h"
#include "shield/path.h"
#include "shield/shell_parse.h"

#define WALK_VARIABLES_MAX 64
#define WALK_FUNCTIONS_MAX 32
#define WALK_ARGV_MAX      512
#define WALK_DEPTH_MAX     12 /* scripts in scripts, wrappers in wrappers */
#define WALK_CALLS_MAX     512
#define WALK_EFFECTS_MAX   1024
#define WALK_PATHS_MAX     ((size_t)128 * 1024) /* bytes of all paths together */
#define WALK_STEPS_MAX     16384                /* commands walked, each round of a loop counted */
#define WALK_TEXT_MAX      ((size_t)256 * 1024) /* bytes of texts inside the text */
#define WALK_BRACES_MAX    ((size_t)256 * 1024) /* bytes that braces expand to */
#define WALK_VALUE_MAX     4096                 /* bytes of a variable's value that are followed */

/* An argument: its text; NULL when it cannot be known, then prefix is what is known of its
 * beginning. */
struct argument {
	const char *text;
	const char *prefix;
	bool glob;        /* holds an unquoted pattern */
	bool has_command; /* part of it is what a command printed */
	uint32_t at, size;
};

struct variable {
	const char *name;
	const char *value; /* NULL: not known */
	bool glob;
};

struct function {
	const char *name;
	const struct shell_node *body;
	unsigned n_walked;
};

/* What comes into a stage of a pipeline. */
struct stream {
	bool from_network;
	bool decoded;        /* went through a decoder */
	bool from_command;   /* some output that is not known */
	const char *literal; /* the text itself, where it is known */
	size_t first_effect; /* effects since here belong to the same pipeline */
};

struct walk {
	struct arena *arena;
	const struct command_context *context;
	struct path_origin origin; /* cwd is NULL while it is not known */
	const char *cwd;
	unsigned depth;
	uint32_t at, size; /* of the call that is looked at */
	struct stream in;
	/* What keeps the time linear in the text: paths, inner texts and braces in bytes. */
	size_t n_paths, n_text, n_braces;
	unsigned n_steps;
	int error;
	bool opaque, needs_network;
	struct variable variables[WALK_VARIABLES_MAX];
	size_t n_variables;
	struct function functions[WALK_FUNCTIONS_MAX];
	size_t n_functions;
	struct effect *effects;
	size_t n_effects, effects_capacity;
	struct il_fact_wanted *wanted;
	size_t n_wanted, wanted_capacity;
	struct command_note *notes;
	size_t n_notes, notes_capacity;
	struct command_call *calls;
	size_t n_calls, calls_capacity;
};

/* Adding; errors stay in w->error. */
void walk_effect(struct walk *w, enum effect_kind kind, const char *object, const char *target,
	bool recursive);
void walk_connect(struct walk *w, const char *host, uint16_t port);
void walk_send(struct walk *w, const char *what, const char *sink);
void walk_opaque(struct walk *w, const char *why);
void walk_note(struct walk *w, const char *id, const char *text);
void walk_want(struct walk *w, enum il_fact_kind kind, const char *subject);
const struct il_fact *walk_fact(const struct walk *w, enum il_fact_kind kind, const char *subject);

/* The canonical path of an argument, or NULL when it cannot be known. */
const char *walk_path(struct walk *w, const struct argument *arg);
/* An effect on the path of an argument; reads and writes of unknown paths are left to the grant,
 * the rest is opaque. */
void walk_path_effect(
	struct walk *w, enum effect_kind kind, const struct argument *arg, bool recursive);
/* "https://host:port/..", "host:port", "user@host:path" → a connect effect; NULL when there is no
 * host in it. */
const char *walk_host(struct walk *w, const struct argument *arg);

const struct variable *walk_variable(const struct walk *w, const char *name);
void walk_assign(struct walk *w, const char *name, const char *value, bool glob);

/* Words to arguments: at most max; the count. */
size_t walk_expand(
	struct walk *w, const struct shell_word *words, struct argument *args, size_t max);

void walk_node(struct walk *w, const struct shell_node *node);
/* Shell text that will be run: parsed and walked one level deeper. */
void walk_text(struct walk *w, const char *text, size_t n);
/* One command with its arguments; wrapped: found behind another. */
void walk_argv(struct walk *w, const struct argument *args, size_t n, bool wrapped);

/* True if the program was a wrapper: what it wraps has been walked. */
bool wrapper_walk(struct walk *w, const char *program, const struct argument *args, size_t n);
/* The effects of a program by its row; programs without one are an exec effect that the grant
 * contains. */
void program_walk(struct walk *w, const char *program, const struct argument *args, size_t n);
/* Programs whose arguments no row can say; shield/program_language.c. */
void program_git(struct walk *w, const struct argument *args, size_t n);
void program_tar(struct walk *w, const struct argument *args, size_t n);
void program_dd(struct walk *w, const struct argument *args, size_t n);
/* Code in another language: paths, hosts and commands that stand in it as texts. */
void code_walk(struct walk *w, const char *program, const char *code);
