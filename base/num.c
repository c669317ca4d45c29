#include "base/num.h"

#include <errno.h>
#include <strings.h>

/* Reads digits at *text and moves past them. */
static int num_digits(const char **text, uint64_t max, uint64_t *ret_value)
{
	const char *at = *text;
	uint64_t value = 0;

	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return -ERANGE;
	}
	if (value > max)
		return -ERANGE;
	*text = at;
	*ret_value = value;
	return 0;
}

int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;
	int r = num_digits(&text, max, &value);

	if (r != 0)
		return r;
	if (*text != '\0')
		return -EINVAL;
	if (value < min)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int num_parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret_value)
{
	uint64_t value;
	int r = num_parse_u64(text, min, max, &value);

	if (r == 0)
		*ret_value = (uint32_t)value;
	return r;
}

static int num_scaled(const char *text, uint64_t max, const char *const *names,
	const uint64_t *factors, uint64_t *ret_value)
{
	uint64_t value;
	int r = num_digits(&text, UINT64_MAX, &value);

	if (r != 0)
		return r;
	for (size_t i = 0; names[i]; i++) {
		if (strcasecmp(text, names[i]) != 0)
			continue;
		if (__builtin_mul_overflow(value, factors[i], &value) || value > max)
			return -ERANGE;
		*ret_value = value;
		return 0;
	}
	return -EINVAL;
}

int num_parse_size(const char *text, uint64_t max, uint64_t *ret_bytes)
{
	static const char *const names[] = { "", "b", "k", "kb", "kib", "m", "mb", "mib", "g", "gb",
		"gib", "t", "tb", "tib", NULL };
	static const uint64_t factors[] = { 1, 1, 1024, 1024, 1024, 1 << 20, 1 << 20, 1 << 20,
		1 << 30, 1 << 30, 1 << 30, (uint64_t)1 << 40, (uint64_t)1 << 40,
		(uint64_t)1 << 40 };

	_Static_assert(sizeof(factors) / sizeof(factors[0]) + 1 == sizeof(names) / sizeof(names[0]),
		"a factor for each name");
	return num_scaled(text, max, names, factors, ret_bytes);
}

int num_parse_duration_ms(const char *text, uint64_t max_ms, uint64_t *ret_ms)
{
	static const char *const names[] = { "", "s", "ms", "m", "h", "d", NULL };
	static const uint64_t factors[] = { 1000, 1000, 1, 60000, 3600000, 86400000 };

	_Static_assert(sizeof(factors) / sizeof(factors[0]) + 1 == sizeof(names) / sizeof(names[0]),
		"a factor for each name");
	return num_scaled(text, max_ms, names, factors, ret_ms);
}
