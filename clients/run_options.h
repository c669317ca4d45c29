/*
 * The options of `interlock run` and the grant that they make.
 */
#pragma once

#include "base/arena.h"
#include "sandbox/runner/runner.h"

#define RUN_LIST_MAX 128

struct run_options {
	struct arena memory;
	struct grant grant;
	enum il_tier tier;
	const char *json_file; /* NULL: no attestation wanted */
	bool dry_run, why, tty;
	const char *env[RUN_LIST_MAX], *pass_env[RUN_LIST_MAX];
	size_t n_env, n_pass_env;
	char **command;
	size_t n_command;
};

/* 0, or an exit status after telling why; -1: help was shown. */
int run_options_parse(int argc, char **argv, struct run_options *ret_options) MUST_CHECK;
