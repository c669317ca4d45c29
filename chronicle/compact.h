/*
 * Compaction: the store without some snapshots or contents. What stays is copied out of
 * the segments that have much to lose, stubs take the place of the links that go,
 * and only when all that is durable are the old segments removed.
 */
#pragma once

#include "chronicle/book.h"

/*
 * doomed: one flag a snapshot, or NULL. erased: hashes whose bytes must go whoever refers to them.
 * The book is read anew; pointers into it die.
 */
int compact(struct il_chronicle *c, const bool *doomed, const uint8_t *erased, size_t n_erased)
	MUST_CHECK;
