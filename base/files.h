/*
 * Whole-file reading and atomic, durable writing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

/* The whole file beneath dirfd, at most limit bytes (-EFBIG beyond); refuses what is no regular
 * file (-EINVAL). Caller frees; a NUL follows. */
int file_read(int dirfd, const char *path, size_t limit, char **ret_data, size_t *ret_size)
	MUST_CHECK;
/* Temporary in the same directory, fsync, rename, fsync of the directory. */
int file_write_atomic(int dirfd, const char *path, const void *data, size_t n, mode_t mode)
	MUST_CHECK;
/* write(2) until all is written. */
int write_all(int fd, const void *data, size_t n) MUST_CHECK;
/* mkdir -p with this mode for what is new; 0 if it exists as a directory. */
int make_dirs(const char *path, mode_t mode) MUST_CHECK;
