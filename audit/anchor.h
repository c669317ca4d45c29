/*
 * Where checkpoints go besides the log: a command of the user's (the line on its stdin) and the
 * system's journal. One command runs at a time and the log never waits for it: of what comes
 * meanwhile only the newest is kept, and that one is delivered before anchor_done() returns.
 * A failing anchor never stops the log.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/value.h"

#define ANCHOR_LINE_MAX 1024

struct anchor {
	char **command; /* owned; NULL: none */
	bool to_syslog;
	pid_t child;                   /* 0: none */
	char waiting[ANCHOR_LINE_MAX]; /* "": none */
};

/* Copies the command. */
int anchor_init(struct anchor *a, const char *const *command, bool to_syslog) MUST_CHECK;
void anchor_send(struct anchor *a, const struct value *checkpoint);
/* Delivers what waits; a command that takes longer than two seconds is killed. */
void anchor_done(struct anchor *a);
