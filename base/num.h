/*
 * Text to number in one place: the whole text or nothing, within a range,
 * decimal digits only. Negative numbers, signs, blanks and leading "0x" are
 * refused with -EINVAL, values outside the range with -ERANGE.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

int num_parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret_value) MUST_CHECK;
int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value) MUST_CHECK;

/* "10", "64K", "512M", "2G" (powers of 1024, case-insensitive, optional final "B" or "iB"). */
int num_parse_size(const char *text, uint64_t max, uint64_t *ret_bytes) MUST_CHECK;

/* "30" or "30s" seconds, "250ms", "5m", "2h", "7d" → milliseconds. */
int num_parse_duration_ms(const char *text, uint64_t max_ms, uint64_t *ret_ms) MUST_CHECK;
