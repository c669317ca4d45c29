/*
 * Ownership of locals: a local that owns something carries an auto_ mark and is
 * released when it leaves scope; success takes the thing out of it.
 *
 *	auto_free char *path = NULL;
 *	...
 *	*ret_path = take_ptr(path);
 *
 * All destructors here accept "nothing" (NULL, -1) and keep errno.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/attr.h"

static inline void cleanup_free(void *pointer)
{
	void **p = pointer;
	int saved = errno;

	free(*p);
	*p = NULL;
	errno = saved;
}

static inline void cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* nothing to do about a failure here */
	*fd = -1;
	errno = saved;
}

static inline void cleanup_fclose(FILE **file)
{
	int saved = errno;

	if (*file)
		(void)fclose(*file); /* writers check fflush() and ferror() first */
	*file = NULL;
	errno = saved;
}

static inline void cleanup_closedir(DIR **dir)
{
	int saved = errno;

	if (*dir)
		(void)closedir(*dir); /* nothing to do about a failure here */
	*dir = NULL;
	errno = saved;
}

#define CLEANUP(fn)   __attribute__((cleanup(fn)))
#define auto_free     CLEANUP(cleanup_free)
#define auto_close    CLEANUP(cleanup_close)
#define auto_fclose   CLEANUP(cleanup_fclose)
#define auto_closedir CLEANUP(cleanup_closedir)

/* Moves ownership out of a local pointer or descriptor, leaving "nothing" behind. */
#define take_ptr(pointer)                                                                          \
	({                                                                                         \
		__typeof__(pointer) taken_ = (pointer);                                            \
		(pointer) = NULL;                                                                  \
		taken_;                                                                            \
	})

static inline int take_fd_(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}
#define take_fd(fd) take_fd_(&(fd))
