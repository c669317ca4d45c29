#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static uint64_t system_monotonic_ms(void *ctx)
{
	struct timespec t;

	(void)ctx;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with this clock */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int64_t system_wall_ns(void *ctx)
{
	struct timespec t;

	(void)ctx;
	(void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail with this clock */
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

const struct clock clock_system = {
	.monotonic_ms = system_monotonic_ms,
	.wall_ns = system_wall_ns,
};

void rfc3339_format(int64_t wall_ns, char ret_text[static RFC3339_SIZE])
{
	int64_t ns = wall_ns % NS_PER_S;
	time_t s = (time_t)(wall_ns / NS_PER_S);
	char date[32];
	struct tm tm;

	if (ns < 0) {
		ns += NS_PER_S;
		s--;
	}
	if (!gmtime_r(&s, &tm) || tm.tm_year > 9999 - 1900 || tm.tm_year < -1900) {
		memset(&tm, 0, sizeof(tm));
		tm.tm_year = 70;
		tm.tm_mday = 1;
		ns = 0;
	}
	(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	memset(ret_text, 0, RFC3339_SIZE);
	memcpy(ret_text, date, 19);
	ret_text[19] = '.';
	for (int i = 28; i > 19; i--) {
		ret_text[i] = (char)('0' + ns % 10);
		ns /= 10;
	}
	ret_text[29] = 'Z';
}

/* `n` digits at *text. */
static int take_digits(const char **text, int n, int *ret_value)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		char c = (*text)[i];

		if (c < '0' || c > '9')
			return -EINVAL;
		value = value * 10 + (c - '0');
	}
	*text += n;
	*ret_value = value;
	return 0;
}

static int take_char(const char **text, char c)
{
	if (**text != c)
		return -EINVAL;
	(*text)++;
	return 0;
}

static int take_fraction(const char **text, int64_t *ret_ns)
{
	int64_t scale = NS_PER_S / 10;

	*ret_ns = 0;
	if (take_char(text, '.') != 0)
		return 0;
	if (**text < '0' || **text > '9')
		return -EINVAL;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		if (scale == 0)
			return -EINVAL;
		*ret_ns += (**text - '0') * scale;
		scale /= 10;
	}
	return 0;
}

static bool tm_in_range(const struct tm *tm)
{
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
	       tm->tm_mday <= days[tm->tm_mon] && tm->tm_hour < 24 && tm->tm_min < 60 &&
	       tm->tm_sec < 60;
}

int rfc3339_parse(const char *text, int64_t *ret_wall_ns)
{
	struct tm tm = { 0 };
	int64_t ns = 0;

	if (take_digits(&text, 4, &tm.tm_year) != 0 || take_char(&text, '-') != 0 ||
		take_digits(&text, 2, &tm.tm_mon) != 0 || take_char(&text, '-') != 0 ||
		take_digits(&text, 2, &tm.tm_mday) != 0 || take_char(&text, 'T') != 0 ||
		take_digits(&text, 2, &tm.tm_hour) != 0 || take_char(&text, ':') != 0 ||
		take_digits(&text, 2, &tm.tm_min) != 0 || take_char(&text, ':') != 0 ||
		take_digits(&text, 2, &tm.tm_sec) != 0 || take_fraction(&text, &ns) != 0 ||
		take_char(&text, 'Z') != 0 || *text != '\0')
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	if (!tm_in_range(&tm) || tm.tm_year < 70 || tm.tm_year > 2200 - 1900)
		return -EINVAL;
	*ret_wall_ns = (int64_t)timegm(&tm) * NS_PER_S + ns;
	return 0;
}
