/*
 * The way out of a command's network namespace: interlock-egress, started by process 1
 * before it leaves the machine's file system, listening on the namespace's loopback.
 */
#pragma once

#include <signal.h>

#include "base/attr.h"

/* Takes JOB_FD_BROKER. Returns when it is confined and listens. */
int outlet_start(const char *program, const sigset_t *signals) MUST_CHECK;
