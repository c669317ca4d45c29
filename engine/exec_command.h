/* Commands under their verdict's grant, by the runner. */
#pragma once

#include "engine/commands.h"

int exec_command(struct proposal *p) MUST_CHECK;
/*
 * Starts argv for p under the grant of its verdict; cwd is absolute. 1: it runs, and its end fills
 * the result and resumes p. 0: it could not be planned, p says why and goes on at once. -errno
 * otherwise.
 */
int command_start(struct proposal *p, const char *const *argv, size_t n_argv, const char *cwd,
	const char *const *env, size_t n_env) MUST_CHECK;
/* What an executor's start returns for what command_start() returned: p goes on by itself when
 * nothing runs. */
int command_started(struct proposal *p, int started) MUST_CHECK;
