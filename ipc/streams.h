/*
 * The open streams of one connection. A stream is opened by either side: the
 * peer's numbers are odd, the engine's even, each side's always rise. So a number
 * that is not open and not above its side's last one has ended, and what still
 * comes for it is merely late.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/message.h"

struct stream {
	uint64_t number;
	enum message_kind opened_by;
	bool wants_credit; /* a chunk had to wait */
	uint64_t credit;   /* bytes of chunk data we may still send */
	uint64_t sent;     /* bytes of chunk data sent */
};

struct streams {
	struct stream *open; /* owned */
	size_t n_open, capacity;
	size_t n_work;
	uint64_t last_odd, last_even;
};

enum {
	STREAMS_E_REUSED = 1, /* not above the last number of its side, or of the wrong side */
};

void streams_done(struct streams *s);
bool is_peers_stream(uint64_t number);
/* The number is used from here on, whether the stream is then added or not. */
int streams_claim(struct streams *s, uint64_t number) MUST_CHECK;
uint64_t streams_next_even(struct streams *s);
int streams_add(struct streams *s, uint64_t number, enum message_kind opened_by, uint64_t credit)
	MUST_CHECK;
struct stream *streams_find(const struct streams *s, uint64_t number); /* NULL */
void streams_remove(struct streams *s, struct stream *stream);
/* It was open once. */
bool streams_has_ended(const struct streams *s, uint64_t number);
/* May this kind stand in a stream that was opened so? */
bool stream_admits(const struct stream *stream, enum message_kind kind);
