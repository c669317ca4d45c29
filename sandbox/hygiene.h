/*
 * The parts of confinement that are no policy of the kernel's: what a process still
 * holds when it is locked in. Each is one step of sandbox/apply.h.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "sandbox/plan.h"

/* -EBUSY when threads exist: what is applied to one would not hold for the others. */
int hygiene_single_thread(void) MUST_CHECK;
int hygiene_no_new_privs(void) MUST_CHECK;
int hygiene_not_dumpable(void) MUST_CHECK;
/* Closes every descriptor but 0, 1, 2 and the plan's. */
int hygiene_descriptors(const struct il_sandbox_plan *plan) MUST_CHECK;
/* Unsets and wipes every variable that is not on the plan's list. */
int hygiene_environment(const struct il_sandbox_plan *plan) MUST_CHECK;
/* No core files. */
int hygiene_limits(void) MUST_CHECK;
/* An own session, unless it leads one already; no controlling terminal. */
int hygiene_session(void) MUST_CHECK;
/* All capability sets empty, the bounding set too where that is allowed. */
int hygiene_capabilities(void) MUST_CHECK;
