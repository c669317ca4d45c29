/*
 * Files that arm something: writing them makes another program run code later.
 * One table for all who must know: shield (effect arms), the runner (read-only
 * binds, watch and restore), chronicle and the reports.
 *
 * Patterns are relative to a project root and match at any depth: components
 * are compared whole, "*" stands for one component. Matching folds ASCII case,
 * since such files are found by programs on case-insensitive file systems too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum arms_kind {
	ARMS_NOT,
	ARMS_PURPOSE, /* run on purpose: Makefile, package.json, CI files, conftest.py */
	ARMS_ITSELF,  /* runs by itself: git hooks and config, .envrc, editor tasks, agent settings
		       */
	ARMS_KIND_N_
};

struct arms_pattern {
	const char *pattern; /* ".git/hooks/" (a directory and all in it) or ".envrc" */
	enum arms_kind kind;
	const char *what; /* "git runs it", for people */
};

/* The table, ended by a NULL pattern. */
extern const struct arms_pattern arms_patterns[];

/*
 * The strongest match for a path (absolute or relative; only its components count);
 * ret_what may be NULL.
 */
enum arms_kind arms_match(const char *path, const char **ret_what);
