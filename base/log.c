#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define LOG_LINE_MAX 2048

/*
 * The one exception to "no mutable file-scope state": a log that must be handed to every function
 * that may fail would be left out exactly where it matters. Written once, in main().
 */
static const char *log_program = "interlock";
static enum log_level log_most = LOG_LEVEL_NOTICE;

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_NOTICE] = "notice",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};
_Static_assert(N_ELEMENTS(level_names) == LOG_LEVEL_N_, "name every level");

void log_open(const char *program, enum log_level level)
{
	log_program = program;
	log_most = level;
}

void log_line(enum log_level level, const char *format, ...)
{
	char text[LOG_LINE_MAX];
	char at[RFC3339_SIZE];
	va_list args;

	if (level > log_most)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args); /* cut is fine: a log line has a limit */
	va_end(args);
	rfc3339_format(clock_wall_ns(&clock_system), at);
	(void)fprintf(stderr, "%s %s %s %s\n", at, log_program, level_names[level], text);
}

int log_level_parse(const char *name, enum log_level *ret_level)
{
	for (int i = 0; i < LOG_LEVEL_N_; i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}
