/*
 * The checks of `interlock doctor`: each looks at one thing that must be right for
 * a workspace, as it really is now (the sandbox by a probe run, the chain by a full
 * verification), and says what to do when it is not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "clients/workspace.h"

enum finding_state {
	FINDING_FAILED, /* needed, and not right */
	FINDING_WARNING,
	FINDING_OK,
	FINDING_N_
};

struct finding {
	enum finding_state state;
	char what[256];
	char remedy[256]; /* "" when nothing is to be done */
};

typedef void (*doctor_check_fn)(const struct workspace *w, struct finding *ret_finding);

struct doctor_check {
	const char *name;
	doctor_check_fn check;
};

/* In the order of the report; ended by a NULL name. */
extern const struct doctor_check doctor_checks[];
