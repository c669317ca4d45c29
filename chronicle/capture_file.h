/*
 * The content of one regular file into the store.
 */
#pragma once

#include "chronicle/capture.h"

/* Fills size, hash, extents, link group and xattrs (in the capture's buffers). A positive result is
 * the reason to leave it out. */
int capture_file(struct capture *c, int dir_fd, const char *name, const struct stat *st,
	struct entry *e) MUST_CHECK;
