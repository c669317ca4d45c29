/*
 * Waiting for a command as the reaper of its whole tree: limits are looked at every
 * SUPERVISE_TICK_MS, and when the command is over, everything it left behind is ended.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/grant.h"
#include "sandbox/runner/job.h"

#define SUPERVISE_TICK_MS 25

/* The signals that supervise() reads; to be blocked before the command is started. */
int supervise_block(sigset_t *ret_before) MUST_CHECK;
/*
 * SIGTERM ends the tree at once, SIGUSR1 asks the command to end. Writes REPORT_LIMIT and
 * REPORT_EXIT to the descriptor.
 */
int supervise(pid_t command, const struct grant_limits *limits, int report) MUST_CHECK;
/* One record; a runner that is gone is no error. */
void report_write(int fd, enum report_kind kind, int code, const char *text);
