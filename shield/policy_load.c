#include <stdlib.h>
#include <string.h>

#include "shield/policy.h"

int il_policy_load(const struct il_policy_source *sources, size_t n_sources,
	struct il_policy **ret_policy, size_t *reterr_source, struct diag *reterr_diag)
{
	struct il_policy *p = calloc(1, sizeof(*p));
	const char *failed = NULL;
	struct sha256 h;
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->references = 1;
	p->otherwise = RULE_ASK;
	p->fallback = RULE_ASK;
	p->flow_preset = -1;
	arena_init(&p->arena, (size_t)64 << 20);
	p->rules = arena_alloc_array(&p->arena, POLICY_RULES_MAX, sizeof(*p->rules));
	detect_index_build(&p->calls);
	p->calls.max = p->calls.n;
	p->calls.entries = arena_alloc_array(&p->arena, p->calls.max, sizeof(*p->calls.entries));
	sha256_init(&h);
	if (!p->rules || !p->calls.entries)
		r = -ENOMEM;
	else
		detect_index_build(&p->calls);
	for (size_t i = 0; r == 0 && i < n_sources; i++) {
		uint8_t narrowing = sources[i].narrowing_only;
		uint64_t n = sources[i].n_text;

		r = policy_read(p, &sources[i], reterr_diag);
		if (r != 0 && reterr_source)
			*reterr_source = i;
		sha256_update(&h, &n, sizeof(n));
		sha256_update(&h, &narrowing, 1);
		sha256_update(&h, sources[i].text, sources[i].n_text);
	}
	sha256_final(&h, p->hash);
	if (r == 0) {
		if (p->flow_preset < 0)
			p->flow_preset = 0;
		r = policy_test(p, reterr_diag, &failed);
		for (size_t i = 0; r != 0 && failed && i < n_sources; i++) {
			if (strcmp(sources[i].name, failed) == 0 && reterr_source)
				*reterr_source = i;
		}
	}
	if (r != 0) {
		(void)il_policy_unref(p);
		return r;
	}
	*ret_policy = p;
	return 0;
}

struct il_policy *il_policy_ref(struct il_policy *policy)
{
	__atomic_add_fetch(&policy->references, 1, __ATOMIC_RELAXED);
	return policy;
}

struct il_policy *il_policy_unref(struct il_policy *policy)
{
	if (policy && __atomic_sub_fetch(&policy->references, 1, __ATOMIC_ACQ_REL) == 0) {
		arena_done(&policy->arena);
		free(policy);
	}
	return NULL;
}

void il_policy_hash(const struct il_policy *policy, uint8_t ret_hash[static SHA256_SIZE])
{
	memcpy(ret_hash, policy->hash, SHA256_SIZE);
}

bool il_policy_rule_get(const struct il_policy *policy, size_t i, struct il_policy_rule *ret_rule)
{
	static const char *const lists[RULE_KIND_N_] = { "deny", "ask", "verify", "allow" };
	const struct rule *rule;

	if (i >= policy->n_rules)
		return false;
	rule = &policy->rules[i];
	*ret_rule = (struct il_policy_rule){ .list = lists[rule->kind], .name = rule->name,
		.reason = rule->reason, .source = rule->source, .line = rule->line,
		.n_tests = rule->n_tests };
	return true;
}
