/*
 * Makes one object what a recorded entry says. Everything goes by descriptors
 * beneath the root; a file appears whole, by rename, or not at all.
 */
#pragma once

#include "chronicle/entry.h"
#include "chronicle/store.h"

enum {
	RESTORE_E_CANNOT =
		1,        /* this object cannot be brought back (left out, a socket); others can */
	RESTORE_E_OWNER,  /* all but the owner (or a privileged attribute) was restored */
	RESTORE_E_BROKEN, /* the store lacks the content, or it is not what was recorded */
};

/* A new object under a name that is free: content, then attributes. */
int restore_new(struct store *s, int dir_fd, const char *name, const struct entry *e) MUST_CHECK;
/* Attributes of what is there; links are not followed. */
int restore_attributes(int dir_fd, const char *name, const struct entry *e) MUST_CHECK;
/* Removes what is there; a directory only when it is empty, unless whole. */
int restore_remove(int dir_fd, const char *name, bool whole) MUST_CHECK;
int set_mtime(int dir_fd, const char *name, int64_t mtime_ns) MUST_CHECK;
