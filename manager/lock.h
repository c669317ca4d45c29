/*
 * Who runs a workspace: an flock on a file of its state directory, held for life.
 * The pid inside is for people and for `stop`; only the lock decides.
 */
#pragma once

#include <sys/types.h>

#include "base/attr.h"

enum lock_condition {
	LOCK_E_HELD = 1, /* somebody runs; the pid may be read with lock_holder() */
};

/* Takes the lock and writes our pid; the descriptor is close-on-exec and keeps it. */
int lock_take(int state_fd, const char *name, int *ret_fd) MUST_CHECK;
/* 0 and the pid of the holder, or -ESRCH when nobody holds it. */
int lock_holder(int state_fd, const char *name, pid_t *ret_pid) MUST_CHECK;
