/*
 * What il_run_plan() decided, and il_run_start() does. Plain data but for the private
 * directory of tier B, which is made with the plan and removed with it.
 */
#pragma once

#include <limits.h>

#include "sandbox/runner/armed.h"
#include "sandbox/runner/job.h"
#include "sandbox/runner/program.h"
#include "sandbox/runner/runner.h"

struct il_run_plan {
	struct arena memory;
	enum il_tier tier;
	enum grant_net net;
	bool own_network, restore_armed;
	struct grant_limits limits;
	char grant_hash[SHA256_HEX_SIZE];
	char mode[48]; /* of sandbox.h: what is really applied */
	struct program program;
	const char *exec_program;
	const char *const *env_names;
	size_t n_env_names;
	const char **argv;
	const char *cwd;
	const char *egress_program; /* "": no way out */
	struct grant_host *hosts;
	size_t n_hosts;
	struct il_sandbox_plan *sandbox;
	struct buf job;
	struct armed armed;
	char *private_dir;
	char lost[256]; /* what a stronger tier would have held */
};

#define RUN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* run_binds.c: the mounts of tier C that show what the sandbox plan allows. */
int run_binds(struct il_run_plan *p, const struct grant *g, struct job_bind **ret_binds,
	size_t *ret_n) MUST_CHECK;
/* run_env.c: the allow-listed environment. Names go to p->env_names. */
int run_environment(struct il_run_plan *p, const struct il_run_command *command, char ***ret_envp,
	struct diag *reterr_diag) MUST_CHECK;
/* attest.c: result->attestation_json, to be freed by the caller. */
int run_attest(const struct il_run_plan *p, const struct il_run_result *result,
	const char *armed_json, const char *network_json, char **ret_json) MUST_CHECK;
