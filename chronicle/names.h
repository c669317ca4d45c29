/*
 * The names in a directory, sorted by their bytes.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

struct names {
	char **list; /* owned, with what it points to */
	size_t n;
};

void names_done(struct names *names);
int names_read(int dir_fd, struct names *ret_names) MUST_CHECK;

/* Cuts a path that grew while going down back to n bytes. */
void path_cut(struct buf *path, size_t n);
