/*
 * A log as a stream of records: the segments in order, cut into windows that threads read and
 * parse side by side and hand over one after the other. Memory is flat: one window a thread,
 * whatever the size of the log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/line.h"

struct stream_record {
	struct line line; /* slices are borrowed for the call */
	const char *text;
	size_t n_text;
	bool is_bad; /* not a canonical line */
	uint32_t segment;
	uint64_t line_number; /* in its segment, from 1 */
};

/* Records in order, never two at a time; `ahead` are those of the same window behind it. Non-zero
 * ends the walk and is returned. */
typedef int (*stream_fn)(void *ctx, const struct stream_record *record,
	const struct stream_record *ahead, size_t n_ahead);

struct stream_options {
	int dir_fd;
	unsigned threads;      /* 0: all cores */
	uint32_t from_segment; /* 0: all */
};

enum {
	STREAM_E_TORN = 1, /* bytes behind the last line of the last segment */
	STREAM_E_GAP,      /* a segment number is missing; ret_segment names it */
};

int stream_walk(const struct stream_options *o, stream_fn fn, void *ctx, uint32_t *reterr_segment)
	MUST_CHECK;
