/*
 * Paths as text: every spelling of one place becomes the same absolute path
 * without "." and "..", before any table is asked about it. Links are the
 * business of facts, not of this file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

#define PATH_TEXT_MAX 8192

struct path_origin {
	const char *cwd, *home; /* absolute */
};

/*
 * Understood: relative paths, "~", "~user", "file://", doubled slashes, /proc/self/root,
 * /proc/self/cwd, /proc/PID/root, "\\" where the text looks like a Windows path. NULL when the
 * arena is full or the text is longer than PATH_TEXT_MAX.
 */
const char *path_canon(struct arena *a, const struct path_origin *origin, const char *text)
	MUST_CHECK;

/* True for dir itself and all beneath; fold: ASCII case does not matter. */
bool is_path_beneath(const char *path, const char *dir, bool fold);
/* The part of path behind dir and its slash, "" for dir itself; NULL when it is not beneath. */
const char *path_rest(const char *path, const char *dir, bool fold);
const char *path_name(const char *path); /* behind the last slash */

/*
 * Shell pattern: "*" and "?" stop at "/", "**" does not, [...] and {a,b} as usual. Linear in
 * both lengths for each "**".
 */
bool is_path_match(const char *pattern, const char *path, bool fold);
/* False, with the reason, for a pattern that is_path_match() would never match. */
bool is_path_pattern(const char *pattern, const char **reterr_why);
