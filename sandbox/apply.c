#include "sandbox/apply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/filter.h"
#include "sandbox/hygiene.h"
#include "sandbox/landlock.h"

static const char *const step_names[] = {
	[APPLY_THREADS] = "single thread",
	[APPLY_SESSION] = "session",
	[APPLY_DESCRIPTORS] = "descriptors",
	[APPLY_ENVIRONMENT] = "environment",
	[APPLY_LIMITS] = "limits",
	[APPLY_DUMPABLE] = "not dumpable",
	[APPLY_CAPABILITIES] = "capabilities",
	[APPLY_NO_NEW_PRIVS] = "no_new_privs",
	[APPLY_LANDLOCK] = "landlock",
	[APPLY_SECCOMP] = "seccomp",
};
_Static_assert(N_ELEMENTS(step_names) == APPLY_N_, "name every step");

const char *apply_step_name(enum apply_step step)
{
	return (unsigned)step < APPLY_N_ ? step_names[step] : "unknown";
}

static int do_step(
	const struct il_sandbox_plan *plan, enum apply_step step, const char **reterr_path)
{
	switch (step) {
	case APPLY_THREADS:
		return hygiene_single_thread();
	case APPLY_SESSION:
		return plan->keep_session ? 0 : hygiene_session();
	case APPLY_DESCRIPTORS:
		return hygiene_descriptors(plan);
	case APPLY_ENVIRONMENT:
		return hygiene_environment(plan);
	case APPLY_LIMITS:
		return hygiene_limits();
	case APPLY_DUMPABLE:
		return hygiene_not_dumpable();
	case APPLY_CAPABILITIES:
		return hygiene_capabilities();
	case APPLY_NO_NEW_PRIVS:
		return hygiene_no_new_privs();
	case APPLY_LANDLOCK:
		return landlock_apply(plan, reterr_path);
	case APPLY_SECCOMP:
		return filter_install(plan->filter);
	case APPLY_N_:
		break;
	}
	return -EINVAL;
}

int apply_one(const struct il_sandbox_plan *plan, enum apply_step step,
	struct il_sandbox_step_error *reterr_error)
{
	const char *path = NULL;
	int r = do_step(plan, step, &path);

	if (r == 0 || !reterr_error)
		return r;
	reterr_error->step = apply_step_name(step);
	reterr_error->error = -r;
	(void)snprintf(reterr_error->text, sizeof(reterr_error->text), "%s%s%s: %s",
		reterr_error->step, path ? ": " : "", path ? path : "",
		strerror(-r)); /* cut is fine: for reading */
	return r;
}

int il_sandbox_apply_self(
	const struct il_sandbox_plan *plan, struct il_sandbox_step_error *reterr_error)
{
	for (int step = 0; step < APPLY_N_; step++) {
		int r = apply_one(plan, (enum apply_step)step, reterr_error);

		if (r != 0)
			return r; /* half a sandbox is none: the caller exits */
	}
	return 0;
}
