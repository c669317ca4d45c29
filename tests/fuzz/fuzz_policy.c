/*
 * Policies of people and of workspaces: a refusal says why, what loads can be judged by, and a
 * workspace's file never turns a refusal of the preset into an allow.
 */
#include <stdlib.h>
#include <string.h>

#include "shield/shield.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum il_decision judge(struct il_policy *policy, const char *json)
{
	auto_arena struct arena a = { 0 };
	struct il_action action = { .type = "delete_file", .cwd = "/home/u/p", .workspace = "/home/u/p",
				    .home = "/home/u" };
	struct il_judge_enforcer enforcer = { .filesystem = true, .network = true, .net_hosts = true,
					      .hide = true };
	struct il_context context = { .policy = policy, .enforcer = &enforcer, .can_ask = true,
				      .origin = "agent" };
	struct il_analysis analysis;
	struct il_verdict v;

	arena_init(&a, (size_t)1 << 24);
	if (value_from_json(&a, json, strlen(json), &action.payload, NULL) != 0 ||
		il_analyse(&a, &action, &analysis) != 0)
		abort();
	il_judge(&a, &analysis, NULL, 0, &context, &v);
	if (!v.rule || !v.reason)
		abort();
	return v.decision;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct il_policy_source sources[2] = { { .name = "preset:default" },
		{ .name = "fuzz", .text = (const char *)data, .n_text = size } };
	static const char *const json[] = { "{\"path\":\"a\"}", "{\"path\":\"/etc/x\"}",
		"{\"path\":\"~/.ssh/id_rsa\"}" };
	struct il_policy *narrow = NULL, *policy = NULL, *plain = NULL;
	const char *yaml;
	auto_arena struct arena a = { 0 };
	struct diag diag = { 0 };
	size_t bad = 0;
	int r;

	sources[0].text = il_policy_preset("default", &sources[0].n_text);
	if (il_policy_load(sources, 1, &plain, &bad, &diag) != 0)
		abort();
	r = il_policy_load(sources, 2, &policy, &bad, &diag);
	if (r > 0 || (r == -EBADMSG && (bad != 1 || diag.text[0] == '\0')))
		abort();
	if (r == 0 && judge(policy, json[2]) != IL_DENY)
		abort();
	sources[1].narrowing_only = true;
	r = il_policy_load(sources, 2, &narrow, &bad, &diag);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(json); i++) {
		if (judge(narrow, json[i]) > judge(plain, json[i]))
			abort();
	}
	policy = il_policy_unref(policy);
	narrow = il_policy_unref(narrow);
	plain = il_policy_unref(plain);
	arena_init(&a, (size_t)1 << 24);
	r = il_policy_import(&a, (const char *)data, size, &yaml, &diag);
	if (r > 0 || (r == 0 && strlen(yaml) == 0))
		abort();
	return 0;
}
