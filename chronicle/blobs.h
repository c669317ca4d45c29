/*
 * Where each stored content is: hash → segment, offset, length. In memory, rebuilt
 * from the segments at each open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/hash.h"

#define BLOB_LARGE UINT32_MAX /* a file of its own in large/ */

struct blob {
	uint8_t hash[SHA256_SIZE];
	uint32_t segment; /* number of the segment, or BLOB_LARGE */
	uint8_t type;     /* enum frame_type */
	bool used;
	bool marked;             /* free for the user of the table: reached by a walk */
	uint64_t offset, length; /* of the bytes, behind the frame's header */
};

struct blobs {
	struct blob *slots; /* owned */
	size_t capacity;    /* a power of two, or 0 */
	size_t n;
};

void blobs_done(struct blobs *t);
/* Replaces what has the same hash. */
int blobs_put(struct blobs *t, const struct blob *blob) MUST_CHECK;
/* Borrowed until the next put; NULL when there is none. */
struct blob *blobs_get(const struct blobs *t, const uint8_t hash[static SHA256_SIZE]);
