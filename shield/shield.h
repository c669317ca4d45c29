/*
 * shield: an action becomes effects, effects become a verdict with a grant, and
 * the verdict says why.
 *
 *	il_analyse(action) → effects + facts wanted
 *	(the caller gathers the facts in its own way)
 *	il_judge(analysis, facts, policy, flow, enforcer, time) → verdict
 *
 * Both steps are pure: no loop, storage, clock, I/O or global state; memory comes
 * from the arena that the caller passes and lives as long as it. Time is passed in,
 * state is returned.
 *
 * Errors anywhere mean deny: il_judge() has no error return, its verdict then
 * says which step failed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/effect.h"
#include "base/grant.h"
#include "base/hash.h"
#include "base/value.h"
#include "shield/action.h"

/* ---- what is proposed ---- */

struct il_action {
	const char *type;
	const struct value *payload; /* a map */
	const char *cwd;       /* absolute */
	const char *workspace; /* absolute, real */
	const char *home;      /* absolute */
	bool case_insensitive; /* the workspace's file system folds case */
};

/* ---- facts: what the judge needs to know of the machine ---- */

enum il_fact_kind {
	IL_FACT_PATH,	/* subject: absolute path → exists, type, link target, owner, git state */
	IL_FACT_SCRIPT, /* subject: a script that would run → its text (≤ 256 KiB) */
	IL_FACT_GIT,	/* subject: a repository directory → dirty, branch, hooks, remotes */
	IL_FACT_PROGRAM, /* subject: a program name → resolved path */
	IL_FACT_N_
};

struct il_fact_wanted {
	enum il_fact_kind kind;
	const char *subject;
};

enum il_file_type { IL_FILE_ABSENT, IL_FILE_REGULAR, IL_FILE_DIRECTORY, IL_FILE_SYMLINK, IL_FILE_OTHER };
enum il_git_state { IL_GIT_UNKNOWN, IL_GIT_CLEAN, IL_GIT_MODIFIED, IL_GIT_UNTRACKED, IL_GIT_IGNORED };

struct il_fact {
	enum il_fact_kind kind;
	const char *subject;
	bool known; /* false: could not be gathered; the judge assumes the worst */
	/* IL_FACT_PATH, IL_FACT_PROGRAM */
	enum il_file_type type;
	const char *resolved; /* real path, links followed; of the nearest existing parent plus the rest when absent */
	uint32_t nlink;
	enum il_git_state git;
	bool written_by_agent; /* provenance: this session's agent wrote it */
	uint64_t device, inode, size;
	int64_t ctime_ns;
	uint8_t sha256[SHA256_SIZE]; /* of scripts and operands read; else zero */
	/* IL_FACT_SCRIPT */
	const char *text;
	size_t n_text;
	/* IL_FACT_GIT */
	bool dirty, has_unpushed, has_untracked;
	const char *branch;
};

/* ---- analysis ---- */

struct il_analysis {
	const struct il_action *action; /* borrowed */
	const struct il_action_type *type; /* NULL when unknown */
	const struct value *payload;
	uint8_t action_hash[SHA256_SIZE];
	const struct effect *effects;
	size_t n_effects;
	const struct il_fact_wanted *wanted;
	size_t n_wanted;
	const char *refused; /* schema refusal: one sentence naming the field; else NULL */
	const void *detail;  /* shield's own */
};
/* Never fails for bad input (that is `refused`); -ENOMEM / -E2BIG when the arena is too small. */
IL_API int il_analyse(struct arena *a, const struct il_action *action, struct il_analysis *ret_analysis) MUST_CHECK;

/* ---- policy ---- */

struct il_policy; /* immutable once loaded; shared by reference count */
struct il_policy_source {
	const char *name; /* shown in messages: a path, or "preset:default" */
	const char *text;
	size_t n_text;
	bool narrowing_only; /* a workspace's own file: may only add deny, ask, verify and lower limits */
};
/* Later sources add to earlier ones. 0, or -EBADMSG with name:line:column in reterr_diag and *reterr_source. */
IL_API int il_policy_load(const struct il_policy_source *sources, size_t n_sources,
	struct il_policy **ret_policy, size_t *reterr_source, struct diag *reterr_diag) MUST_CHECK;
IL_API struct il_policy *il_policy_ref(struct il_policy *policy);
IL_API struct il_policy *il_policy_unref(struct il_policy *policy);
IL_API void il_policy_hash(const struct il_policy *policy, uint8_t ret_hash[static SHA256_SIZE]);
/* "default", "strict", "permissive"; NULL when unknown. Static text. */
IL_API const char *il_policy_preset(const char *name, size_t *ret_n);
/*
 * A policy file of the reference system in this program's language; -EBADMSG with the place of
 * what it does not know.
 */
IL_API int il_policy_import(struct arena *a, const char *text, size_t n, const char **ret_yaml,
	struct diag *reterr_diag) MUST_CHECK;
struct il_policy_rule {
	const char *list; /* "deny", "ask", "verify", "allow" */
	const char *name, *reason, *source; /* reason may be NULL */
	uint32_t line;
	size_t n_tests;
};
/* The rules in order of their sources; borrowed from the policy. False behind the last. */
IL_API bool il_policy_rule_get(
	const struct il_policy *policy, size_t i, struct il_policy_rule *ret_rule);
/* The widest grant that any verdict under this policy may carry, with `workspace` as root. */
IL_API int il_policy_ceiling(struct arena *a, const struct il_policy *policy, const char *workspace,
	const char *home, struct grant *ret_ceiling) MUST_CHECK;

/* ---- information flow ---- */

/* Labels of a session. Kept and stored by the caller; sorted by path. */
struct il_flow_entry {
	const char *path; /* canonical */
	uint64_t device, inode;
	enum label label;
};
struct il_flow {
	enum label session; /* highest label of data that this session's agent really received */
	const struct il_flow_entry *entries; /* files that carry labels because labelled data went into them */
	size_t n_entries;
	bool provider_public; /* the model's provider counts as a host that may get only public..internal */
};

/* ---- who will hold the grant ---- */

struct il_judge_enforcer {
	bool nobody; /* a hook's client: no allow may rely on a grant */
	bool filesystem, network, net_hosts, hide, armed_readonly, processes; /* proved here */
};

/* ---- verdict ---- */

enum il_decision { IL_DENY, IL_ASK, IL_ALLOW }; /* 0: memory that nobody wrote denies */
IL_API const char *il_decision_name(enum il_decision d);

enum il_severity { IL_SEVERITY_INFO, IL_SEVERITY_LOW, IL_SEVERITY_MEDIUM, IL_SEVERITY_HIGH, IL_SEVERITY_CRITICAL };

struct il_finding {
	const char *id; /* "PROT-CREDENTIALS", "DET-REVSHELL", "FLOW-...", a policy rule's name */
	enum il_decision decision; /* what this finding alone asks for */
	enum il_severity severity;
	const char *text;
	const char *field;
	uint32_t at, size;
};

struct il_verdict {
	enum il_decision decision;
	unsigned tier; /* 0 policy, 1 analysis, 2 model, 3 human: who decided, or for ask who is asked */
	const char *rule;
	const char *reason; /* one sentence naming effect and operand */
	const struct il_finding *findings;
	size_t n_findings;
	const struct effect *effects;
	size_t n_effects;
	struct grant grant; /* GRANT_NONE on deny; on ask: what an approval would give */
	enum label label;   /* highest label of what the action reads */
	uint8_t action_hash[SHA256_SIZE];
	uint8_t policy_hash[SHA256_SIZE];
	uint8_t facts_hash[SHA256_SIZE];
	uint8_t grant_hash[SHA256_SIZE];
	uint64_t expires_ms; /* on the caller's monotonic clock */
	const char *alternative; /* what the agent may do instead, or NULL */
};

enum il_judge_answer { IL_JUDGE_UNAVAILABLE, IL_JUDGE_DENY, IL_JUDGE_ASK, IL_JUDGE_ALLOW };

struct il_context {
	const struct il_policy *policy;
	const struct il_flow *flow;
	const struct il_judge_enforcer *enforcer;
	bool can_ask; /* somebody can be asked; else an ask without anybody is a deny */
	bool otr;     /* off the record: every mutating action is refused */
	uint64_t now_ms;
	int64_t wall_ns; /* for rules with `until`; 0: not known, such an allow is over */
	const char *state_dir, *config_dir, *program_dir; /* Interlock's own places, protected */
	const char *origin; /* "agent", "mcp", "hook" ... */
	enum il_judge_answer judge; /* tier 2's answer, if it was asked */
};
IL_API void il_judge(struct arena *a, const struct il_analysis *analysis, const struct il_fact *facts,
	size_t n_facts, const struct il_context *context, struct il_verdict *ret_verdict);

/*
 * The grant that the visible effects of an analysis need, whatever the verdict: what a refusal
 * refused, for explanations. -ENOMEM; -EINVAL for a refused analysis.
 */
IL_API int il_grant_wanted(struct arena *a, const struct il_analysis *analysis,
	const struct il_context *context, struct grant *ret_grant) MUST_CHECK;

/* What a built-in finding means, in half a sentence; NULL for what is none (a policy's rule). */
IL_API const char *il_finding_explain(const char *id);

/* The verdict as the map that `check --json`, events and audit share. */
IL_API const struct value *il_verdict_to_value(struct arena *a, const struct il_verdict *v) MUST_CHECK;

/* The labels after an executed action: what was really read and written. Entries are the arena's. */
IL_API int il_flow_after(struct arena *a, const struct il_flow *before, const struct il_verdict *verdict,
	struct il_flow *ret_after) MUST_CHECK;

/* Secrets in any string replaced by "<secret:KIND:digest>" (keyed with key): for records. */
IL_API const struct value *il_redact(struct arena *a, const struct value *v, const uint8_t *key,
	size_t n_key) MUST_CHECK;

/* ---- approvals: state only; timers and storage are the caller's ---- */

enum il_approval_scope { IL_APPROVE_ONCE, IL_APPROVE_SESSION, IL_APPROVE_ALWAYS };
#define IL_APPROVAL_TIMEOUT_MS	 300000
#define IL_APPROVALS_PER_HOUR 10

/* The question as shown to a human: display-safe, nothing hidden. */
IL_API int il_approval_question(struct arena *a, const struct il_analysis *analysis,
	const struct il_verdict *verdict, const char **ret_text) MUST_CHECK;
/* The exact policy rule (YAML) that "always" would write, bound to the grant. */
IL_API int il_approval_rule(struct arena *a, const struct il_analysis *analysis,
	const struct il_verdict *verdict, const char **ret_yaml) MUST_CHECK;
