/*
 * Which contents the snapshots refer to: a walk over all their trees that marks each
 * once.
 */
#pragma once

#include "chronicle/book.h"

/* blob is NULL when the content is not there. id is the snapshot that refers to it. */
typedef int (*reference_fn)(void *ctx, const char *id, const uint8_t *hash, struct blob *blob);

/* Of the snapshots that are not doomed (doomed: one flag each, or NULL). Clears the marks first. */
int marks_walk(struct il_chronicle *c, const bool *doomed, reference_fn fn, void *ctx) MUST_CHECK;
