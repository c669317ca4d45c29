/*
 * A shell command (or an argv) as effects. Pure; used by il_analyse() without facts and by
 * il_judge() again with them (scripts that would run, resolved programs, link targets).
 *
 * The parser never guesses: what it cannot resolve becomes an EFFECT_OPAQUE with the reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/effect.h"
#include "shield/shield.h"

struct command_context {
	const char *cwd, *workspace, *home;
	bool case_insensitive;
	const struct il_fact *facts; /* may be none */
	size_t n_facts;
	const char *field; /* payload field for the effects' origin */
};

/*
 * A structural observation that no single effect carries ("download piped into a shell",
 * "fork bomb", "decoded text is executed"), as input for the detectors.
 */
struct command_note {
	const char *id;	  /* "NOTE-PIPE-TO-SHELL" ... docs list them all */
	const char *text; /* one sentence with the operand */
	uint32_t at, size;
};

/* One simple command as it would be executed, wrappers looked through; argv[i] is NULL where it cannot be known. */
struct command_call {
	const char *program; /* base name, or NULL */
	const char *const *argv;
	size_t n_argv;
	bool wrapped; /* found behind sudo, env, xargs, sh -c ... */
	uint32_t at, size;
};

struct command_result {
	const struct effect *effects;
	size_t n_effects;
	const struct il_fact_wanted *wanted;
	size_t n_wanted;
	const struct command_note *notes;
	size_t n_notes;
	const struct command_call *calls;
	size_t n_calls;
	bool opaque;	    /* some part cannot be known */
	bool needs_network; /* visibly connects somewhere */
};

/* 0; -E2BIG when the command or what it expands to is over the limits (64 KiB of text); -ENOMEM. */
int command_analyse(struct arena *a, const struct command_context *context, const char *text, size_t n,
	struct command_result *ret_result) MUST_CHECK;
int command_analyse_argv(struct arena *a, const struct command_context *context,
	const char *const *argv, size_t n_argv, struct command_result *ret_result) MUST_CHECK;
