/*
 * Atomic writing of one file beneath a directory: a temporary beside it, all bytes, the old
 * file's mode, owner and extended attributes, fsync, rename, fsync of the directory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/attr.h"

struct replacement {
	int dirfd;        /* borrowed */
	const char *name; /* in dirfd */
	int old_fd;       /* the file that is there, or -1 */
	int fd;           /* the temporary; owned between start and end */
	char temporary[64];
};

/* -EINVAL when something else than a regular file is there; -ELOOP for a symbolic link. */
int replacement_start(struct replacement *w, int dirfd, const char *name) MUST_CHECK;
/* Makes it the file, durably. must_be_new: -EEXIST when a file appeared meanwhile. */
int replacement_commit(struct replacement *w, bool must_be_new) MUST_CHECK;
/* Also after commit; removes what is left. */
void replacement_done(struct replacement *w);
#define auto_replacement __attribute__((cleanup(replacement_done)))
