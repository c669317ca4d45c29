/*
 * Namespaces: the place that a command of tier C lives in. Everything is reached under its
 * own path, but only what the job binds is there.
 *
 *	space_unshare (user, mount, pid, net, ipc, uts, cgroup) → fork
 *	  → in the child: space_build (new root, pivot) → confined by sandbox/apply.h
 */
#pragma once

#include "base/attr.h"
#include "sandbox/runner/job.h"

/* In the parent: the next child is process 1 of the new pid namespace. */
int space_unshare(const struct job *job, const char **reterr_step) MUST_CHECK;
/* In process 1. */
int space_build(const struct job *job, const char **reterr_step) MUST_CHECK;
