/* A ring buffer of integers with a fixed capacity. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RING_CAPACITY 8

struct ring {
	int items[RING_CAPACITY];
	size_t first;
	size_t count;
};

/* False when the ring is full. */
bool ring_push(struct ring *r, int item);
/* False when the ring is empty. */
bool ring_pop(struct ring *r, int *ret_item);
