/*
 * The log of a program (engine, agent, manager): one event a line, `key=value`
 * pairs, on stderr. Libraries never call this.
 *
 *	log_line(LOG_LEVEL_NOTICE, "peer-dropped peer=%" PRIu64 " why=%s", id, why);
 *
 * Text from outsiders goes through utf8_escape() first. Never a token, never a
 * payload.
 */
#pragma once

#include <stdint.h>

#include "base/attr.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_N_
};

/* `program` is borrowed for ever; call once in main(). */
void log_open(const char *program, enum log_level level);
void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);
/* 0 and the level, or -EINVAL. */
int log_level_parse(const char *name, enum log_level *ret_level) MUST_CHECK;
