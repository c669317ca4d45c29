/*
 * Contents too large for a copy in a segment: files of their own, cloned where the
 * file system can, else streamed in fixed memory.
 */
#pragma once

#include "chronicle/entry.h"
#include "chronicle/store.h"

/* The data of fd (those extents, or size bytes when there are none), synced. */
int large_put(struct store *s, int fd, uint64_t size, struct slice extents,
	uint8_t ret_hash[static SHA256_SIZE]) MUST_CHECK;

/* Copies n bytes; -ESTALE when `from` ends before. h may be NULL. */
int copy_range(int from, uint64_t from_at, int to, uint64_t to_at, uint64_t n, struct sha256 *h)
	MUST_CHECK;
