/*
 * A verdict without an engine: what `interlock check`, `eval` and `policy` share. The
 * policy is the user's own, or a preset; facts come from the machine as it is now.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "shield/shield.h"

struct judging {
	struct arena policy_arena;
	struct il_policy *policy;
	struct il_judge_enforcer enforcer;
	struct il_flow flow;
	struct il_context context;
	char *config_dir; /* owned */
};

#define JUDGING_NONE ((struct judging){ 0 })

/*
 * preset: a name, a file, or NULL for the user's policy (the preset `default` where there is
 * none) with the workspace's own rules. 0, or -errno after a message on stderr.
 */
int judging_open(struct judging *j, const char *preset, const char *workspace) MUST_CHECK;
void judging_done(struct judging *j);

/* What the analysis wants to know, from this machine. Scripts up to 256 KiB; no git state. */
int judging_gather(struct arena *a, const struct il_analysis *analysis, struct il_fact **ret_facts,
	size_t *ret_n) MUST_CHECK;
/* All steps for one action. */
int judging_run(struct judging *j, struct arena *a, const struct il_action *action,
	struct il_analysis *ret_analysis, struct il_verdict *ret_verdict) MUST_CHECK;

/* Where the user's policy is; the caller frees. */
int policy_path(char **ret_path) MUST_CHECK;
