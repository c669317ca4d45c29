/*
 * Time as a parameter, so that tests own it.
 *
 * Monotonic milliseconds are for time-outs and never run backwards. Wall time
 * is nanoseconds since 1970 UTC, for records only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

IL_API_BEGIN

struct clock {
	uint64_t (*monotonic_ms)(void *ctx);
	int64_t (*wall_ns)(void *ctx);
	void *ctx;
};

/* The machine's own clocks. */
extern const struct clock clock_system;

static inline uint64_t clock_monotonic_ms(const struct clock *c)
{
	return c->monotonic_ms(c->ctx);
}

static inline int64_t clock_wall_ns(const struct clock *c)
{
	return c->wall_ns(c->ctx);
}

/* "2026-01-31T23:59:59.123456789Z" (RFC 3339, always nine digits, always Z). */
#define RFC3339_SIZE sizeof("2026-01-31T23:59:59.123456789Z")
void rfc3339_format(int64_t wall_ns, char ret_text[static RFC3339_SIZE]);
/* Accepts what rfc3339_format() writes, with 0-9 digits of fraction. */
int rfc3339_parse(const char *text, int64_t *ret_wall_ns) __attribute__((warn_unused_result));

IL_API_END
