/*
 * What was hashed when: (device, inode, size, mtime, ctime) → hash. It makes the
 * capture of an unchanged tree one scan without reading a file.
 *
 * A file that was changed so shortly before it was read that a second change
 * could bear the same times is racily clean: it is not remembered and read again the
 * next time. The index is a cache: a damaged or missing one costs time only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/hash.h"

struct index_slot {
	uint64_t dev, ino; /* ino 0: free */
	uint64_t size;
	int64_t mtime_ns, ctime_ns;
	uint8_t hash[SHA256_SIZE]; /* of a regular file */
	uint8_t has_xattrs;
	uint8_t seen; /* in this process: what was not is dropped when saved after a full capture */
};

struct index {
	struct index_slot *slots; /* owned */
	size_t capacity, n;
	bool dirty;
};

void index_done(struct index *x);
/* NULL unless all of it is as it was. */
const struct index_slot *index_get(struct index *x, const struct stat *st);
/* read_at_ns: the time before the object was read. */
int index_put(struct index *x, const struct stat *st, const uint8_t *hash, bool has_xattrs,
	int64_t read_at_ns) MUST_CHECK;
bool is_racy(const struct stat *st, int64_t read_at_ns);

int index_load(struct index *x, int dir_fd) MUST_CHECK;
/* May be ignored: what is not saved is read again. */
int index_save(struct index *x, int dir_fd);

static inline int64_t timespec_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}
