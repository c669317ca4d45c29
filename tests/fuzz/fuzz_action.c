/*
 * Actions from outside, as JSON {type, payload}: whatever comes, there is a verdict with a
 * reason, the same one each time, and no allow touches the keys of the user.
 */
#include <stdlib.h>
#include <string.h>

#include "shield/shield.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct il_verdict *v)
{
	if (!v->rule || !v->reason)
		abort();
	if (v->decision == IL_DENY && (v->grant.n_paths > 0 || v->grant.may_spawn))
		abort();
	for (size_t i = 0; v->decision == IL_ALLOW && i < v->n_effects; i++) {
		const struct effect *e = &v->effects[i];

		if ((e->kind == EFFECT_READ || e->kind == EFFECT_WRITE) &&
			strncmp(e->object, "/home/u/.ssh/id_", 16) == 0)
			abort();
	}
	if (v->decision == IL_ALLOW && grant_rights_on(&v->grant, "/home/u/.ssh/id_rsa") != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct il_policy_source source = { .name = "preset:default" };
	struct il_judge_enforcer enforcer = { .filesystem = true, .network = true, .net_hosts = true,
					      .hide = true, .processes = true };
	struct il_policy *policy = NULL;
	struct il_context context = { .enforcer = &enforcer, .can_ask = true, .origin = "agent" };
	struct il_action action = { .cwd = "/home/u/p", .workspace = "/home/u/p", .home = "/home/u" };
	struct il_analysis analysis;
	struct il_verdict v, again;
	const struct value *root;
	auto_arena struct arena a = { 0 };
	struct diag diag;
	size_t bad;

	arena_init(&a, (size_t)1 << 26);
	if (value_from_json(&a, (const char *)data, size, &root, &diag) != 0)
		return 0;
	action.type = value_get_text(root, "type");
	action.payload = value_get(root, "payload");
	if (!action.type || !action.payload)
		return 0;
	source.text = il_policy_preset("default", &source.n_text);
	if (il_policy_load(&source, 1, &policy, &bad, &diag) != 0)
		abort();
	context.policy = policy;
	if (il_analyse(&a, &action, &analysis) == 0) {
		il_judge(&a, &analysis, NULL, 0, &context, &v);
		check(&v);
		il_judge(&a, &analysis, NULL, 0, &context, &again);
		if (strcmp(v.rule, "JUDGE-FAILED") != 0 && strcmp(again.rule, "JUDGE-FAILED") != 0 &&
			(v.decision != again.decision || strcmp(v.reason, again.reason) != 0))
			abort();
	}
	policy = il_policy_unref(policy);
	return 0;
}
