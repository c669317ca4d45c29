/*
 * Files that arm something (base/arms.h) inside a writable tree: found before a command
 * starts, and compared and put back after it. What namespaces can prevent is bound
 * read-only besides; names that were absent can only be watched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"

#define ARMED_FILES_MAX 4096
#define ARMED_BYTES_MAX ((size_t)32 << 20)

struct armed_entry {
	const char *path;    /* relative to the root */
	unsigned mode;       /* type and permissions */
	const char *content; /* of a file, or the target of a link */
	size_t size;
	bool seen;
};

struct armed {
	struct arena memory;
	const char *root;
	struct armed_entry *entries;
	size_t n_entries;
};

/* -E2BIG when there is more than can be kept; nothing is left out silently. */
int armed_scan(struct armed *a, const char *root) MUST_CHECK;
void armed_done(struct armed *a);
/*
 * Puts everything back as it was. Each difference is a JSON string in the list `out`;
 * *ret_n counts them. A repository made by the command keeps its own new files, since a
 * clone could not be otherwise; they are listed too, as "made: PATH".
 */
int armed_restore(struct armed *a, struct buf *out, size_t *ret_n) MUST_CHECK;
