/*
 * Patterns for searching: a regular expression that is matched in time linear
 * in the text, whatever the pattern is, and shell patterns of names.
 *
 * Syntax: literals, . [abc] [^a-z] ( ) | * + ? {m} {m,} {m,n} ^ $ \b \B \d \D \w \W \s \S, and
 * \ before any other sign. Bounds: pattern 1 KiB, 32 nested groups, 4,096 instructions; what is
 * over is refused when it is compiled. No back-references: they have no linear-time matcher.
 *
 * Text is bytes; `.` and a negated set take one whole UTF-8 character.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/errors.h"

#define PATTERN_MAX 1024

struct pattern;

/* 0, or -EINVAL with the column in reterr_diag. fold: ASCII letters match in both cases. */
int pattern_compile(const char *text, bool fold, struct pattern **ret_pattern,
	struct diag *reterr_diag) MUST_CHECK;
struct pattern *pattern_free(struct pattern *p);
/* Is it anywhere in these n bytes? (p keeps its working memory, hence not const.) */
bool pattern_matches(struct pattern *p, const char *bytes, size_t n);

static inline void cleanup_pattern(struct pattern **p)
{
	*p = pattern_free(*p);
}
#define auto_pattern CLEANUP(cleanup_pattern)

/*
 * A shell pattern against a whole name: * ? [abc] [!a-z] and \. Without any of these it is found
 * anywhere in the name, in any case.
 */
bool name_matches(const char *pattern, const char *name);
