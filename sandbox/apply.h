/*
 * Applying a plan in one pass, and its steps for callers that must do something in
 * between (the runner, between its namespaces and the filter).
 *
 *	single-thread → session → descriptors → environment → limits → not-dumpable
 *	→ capabilities → no_new_privs → landlock → seccomp
 */
#pragma once

#include "sandbox/plan.h"

enum apply_step {
	APPLY_THREADS,
	APPLY_SESSION,
	APPLY_DESCRIPTORS,
	APPLY_ENVIRONMENT,
	APPLY_LIMITS,
	APPLY_DUMPABLE,
	APPLY_CAPABILITIES,
	APPLY_NO_NEW_PRIVS,
	APPLY_LANDLOCK,
	APPLY_SECCOMP,
	APPLY_N_
};

const char *apply_step_name(enum apply_step step);
/* One step; reterr_error (which may be NULL) names the step and what it was about. */
int apply_one(const struct il_sandbox_plan *plan, enum apply_step step,
	struct il_sandbox_step_error *reterr_error) MUST_CHECK;
