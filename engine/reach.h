/*
 * Paths to descriptors, once: an absolute canonical path is opened beneath the root of the grant
 * that covers it, after the grant's rights on it were checked. Nothing outside that
 * root is ever reached, magic links are not followed, and writers follow no link at all.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "engine/proposal.h"

/* For reading: links are followed as long as they stay beneath; what is opened must be what was
 * judged
 * (-ESTALE). -EACCES without the rights; -EINVAL for what is no regular file or directory. */
int reach_open(struct proposal *p, const char *path, uint32_t rights, int flags, int *ret_fd)
	MUST_CHECK;
/* The directory of path, opened without following a link, and the last component (points into
 * path). */
int reach_parent(struct proposal *p, const char *path, uint32_t rights, int *ret_dirfd,
	const char **ret_name) MUST_CHECK;
/* The same, making missing directories. */
int reach_parent_make(struct proposal *p, const char *path, uint32_t rights, int *ret_dirfd,
	const char **ret_name) MUST_CHECK;
