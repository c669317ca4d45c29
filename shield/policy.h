/*
 * A loaded policy: rules in four lists, a list of hosts, a ceiling. It is made
 * by policy_load.c and read by policy_match.c, and immutable in between.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/effect.h"
#include "base/hash.h"
#include "shield/detect.h"
#include "shield/judgement.h"
#include "shield/shield.h"

#define POLICY_RULES_MAX 1024
#define POLICY_TEXT_MAX	 (1U << 20)

enum rule_kind { RULE_DENY, RULE_ASK, RULE_VERIFY, RULE_ALLOW, RULE_KIND_N_ };

/* A test that lives in a rule: a command, or a map of one action to its payload. */
struct rule_test {
	const struct value *value;
	bool matches; /* what is wanted */
	uint32_t line, column;
};

struct texts {
	const char **items;
	size_t n;
};

struct rule {
	enum rule_kind kind;
	const char *name;
	const char *reason; /* or NULL */
	const char *source;
	uint32_t line;
	const struct il_action_type **actions;
	size_t n_actions;
	uint32_t effects; /* bits of 1 << effect_kind; 0: any */
	uint32_t labels;  /* bits of 1 << label; 0: any */
	uint32_t states;  /* bits of 1 << object_state; 0: any */
	struct texts paths, not_paths, programs, hosts, origins;
	int recursive;	  /* -1: any, 0, 1 */
	int64_t until_ns; /* 0: for ever */
	unsigned tier;	  /* RULE_VERIFY: 1 or 2 */
	bool whole;	  /* no condition on effects: speaks of the action as a whole */
	const struct rule_test *tests;
	size_t n_tests;
	/* Exactly this action and the grant it was approved under, written by an approval; or NULL. */
	const uint8_t *action_hash, *grant_hash;
};

struct il_policy {
	struct arena arena;
	unsigned references;
	uint8_t hash[SHA256_SIZE];
	enum rule_kind otherwise; /* no match */
	enum rule_kind fallback;  /* verify without a judge */
	struct rule *rules;
	size_t n_rules;
	struct texts hosts;   /* that development tools may reach */
	struct texts read, write; /* the ceiling's places beyond the workspace, absolute or "~/..." */
	bool any_host;
	bool temp_writable;
	int flow_preset; /* enum flow_preset */
	struct grant_limits limits;
	struct detect_index calls; /* of the arena */
};

/* One matching rule for one effect, or for the action (effect NULL). */
bool is_rule_match(const struct judgement *j, const struct rule *rule, const struct judged_effect *e);
/* host[:port] against a policy's pattern; `dev` expands "<development>". */
bool is_host_match(const char *pattern, const struct texts *dev, const char *host, uint16_t port);

/* Loading of one source into p; messages as in il_policy_load(). */
int policy_read(struct il_policy *p, const struct il_policy_source *source, struct diag *reterr_diag)
	MUST_CHECK;
/* The tests that live in rules, after all sources are read. */
int policy_test(struct il_policy *p, struct diag *reterr_diag, const char **reterr_source) MUST_CHECK;
