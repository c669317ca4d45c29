/*
 * The engine's stdout protocol, one line each, in this order and nothing else:
 *
 *	PORT:unix:/absolute/path
 *	WEB:<port> | WEB_FAILED:<port>:<error> | WEB_DISABLED
 *
 * A push parser: bytes in, state out.
 *
 *   PORT --PORT:--> WEB --WEB...--> READY
 *     |              |                |
 *     +---- anything else -----> BROKEN
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define STARTUP_LINE_MAX   1024
#define STARTUP_TIMEOUT_MS 30000

enum startup_state {
	STARTUP_BROKEN,
	STARTUP_PORT,
	STARTUP_WEB,
	STARTUP_READY
};

struct startup {
	enum startup_state state;
	char line[STARTUP_LINE_MAX];
	size_t n_line;
	char endpoint[STARTUP_LINE_MAX]; /* "unix:/..." once known */
	char web[STARTUP_LINE_MAX];      /* the web line as it came, once known */
};

void startup_init(struct startup *s);
enum startup_state startup_push(struct startup *s, const char *bytes, size_t n);
