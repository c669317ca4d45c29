/*
 * A token bucket: `per_second` sustained, with a burst of one second's worth.
 * A taker may go into debt once; then it says how long to wait. Time is passed in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	int64_t level_milli; /* thousandths of a unit; negative: debt */
	uint64_t at_ms;
	uint64_t per_second; /* 0: no limit */
};

static inline void bucket_init(struct bucket *b, uint64_t per_second, uint64_t now_ms)
{
	*b = (struct bucket){
		.level_milli = (int64_t)per_second * 1000, .at_ms = now_ms, .per_second = per_second
	};
}

static inline void bucket_refill(struct bucket *b, uint64_t now_ms)
{
	uint64_t passed = now_ms - b->at_ms;
	int64_t full = (int64_t)b->per_second * 1000;

	if (passed > 1000000)
		passed = 1000000; /* full long before, and no overflow */
	b->at_ms = now_ms;
	b->level_milli += (int64_t)(passed * b->per_second);
	if (b->level_milli > full)
		b->level_milli = full;
}

/* Takes n, going into debt; returns the milliseconds until there is no debt. */
static inline uint64_t bucket_take(struct bucket *b, uint64_t n, uint64_t now_ms)
{
	if (b->per_second == 0)
		return 0;
	bucket_refill(b, now_ms);
	b->level_milli -= (int64_t)(n * 1000);
	if (b->level_milli >= 0)
		return 0;
	return (uint64_t)-b->level_milli / b->per_second + 1;
}

/* Takes one only if it is there. */
static inline bool bucket_try(struct bucket *b, uint64_t now_ms)
{
	if (b->per_second == 0)
		return true;
	bucket_refill(b, now_ms);
	if (b->level_milli < 1000)
		return false;
	b->level_milli -= 1000;
	return true;
}
