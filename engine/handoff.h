/*
 * Work that other threads give back to the loop: a queue behind one uv_async_t.
 *
 *	handoff_open() → handoff_post() from any thread, fn runs on the loop → handoff_close()
 *
 * An item belongs to the poster and must stay until its fn runs; fn may free it.
 */
#pragma once

#include <uv.h>

#include "base/attr.h"

struct handoff_item {
	struct handoff_item *next;
	void (*fn)(struct handoff_item *item);
};

struct handoff {
	uv_async_t async;
	uv_mutex_t lock;
	struct handoff_item *first, *last; /* under lock */
};

int handoff_open(struct handoff *h, uv_loop_t *loop) MUST_CHECK;
void handoff_post(struct handoff *h, struct handoff_item *item);
/* Nobody may post any more. What is queued runs first. */
void handoff_close(struct handoff *h);

#define CONTAINER(pointer, type, member)                                                           \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))
