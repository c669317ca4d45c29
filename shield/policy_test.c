#include <stdlib.h>
#include <string.h>

#include "shield/policy.h"

/* A small world in which the tests that live in rules are judged. */
#define TEST_HOME      "/home/user"
#define TEST_WORKSPACE "/home/user/project"

static bool is_judged_so(const struct judgement *j, const struct rule *rule)
{
	if (is_rule_match(j, rule, NULL))
		return true;
	for (size_t i = 0; i < j->n_effects; i++) {
		if (is_rule_match(j, rule, &j->effects[i]))
			return true;
	}
	return false;
}

static int test_action(struct il_policy *p, const struct rule *rule, const struct rule_test *test,
	struct arena *a, bool *ret_matches)
{
	struct il_action action = { .type = "execute_command", .cwd = TEST_WORKSPACE,
		.workspace = TEST_WORKSPACE, .home = TEST_HOME };
	struct il_context context = { .policy = p, .origin = "agent" };
	struct value *payload = NULL;
	struct il_analysis analysis;
	struct judgement j;
	int r;

	if (test->value->kind == VALUE_TEXT) {
		payload = value_map(a, 1);
		if (value_put(payload, "command", test->value) != 0)
			return -ENOMEM;
		action.payload = payload;
	} else {
		action.type = test->value->pairs[0].key;
		action.payload = test->value->pairs[0].value;
	}
	r = il_analyse(a, &action, &analysis);
	if (r != 0)
		return r;
	if (analysis.refused)
		return -EBADMSG;
	if (rule->origins.n > 0)
		context.origin = rule->origins.items[0];
	r = judgement_prepare(&j, a, &analysis, NULL, 0, &context);
	if (r != 0)
		return r;
	*ret_matches = is_judged_so(&j, rule);
	return 0;
}

static int test_rule(struct il_policy *p, const struct rule *rule, struct diag *diag)
{
	for (size_t i = 0; i < rule->n_tests; i++) {
		const struct rule_test *test = &rule->tests[i];
		auto_arena struct arena a = { 0 };
		bool matches = false;
		int r;

		arena_init(&a, (size_t)16 << 20);
		r = test_action(p, rule, test, &a, &matches);
		if (r == -EBADMSG)
			return diag_set(diag, r, test->line, test->column,
				"this is no valid action to test the rule \"%.64s\" with", rule->name);
		if (r != 0)
			return r;
		if (matches != test->matches)
			return diag_set(diag, -EBADMSG, test->line, test->column,
				"the rule \"%.64s\" %s this, though its test says it %s", rule->name,
				matches ? "matches" : "does not match",
				matches ? "does not" : "does");
	}
	return 0;
}

int policy_test(struct il_policy *p, struct diag *reterr_diag, const char **reterr_source)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		int r = test_rule(p, &p->rules[i], reterr_diag);

		if (r != 0) {
			*reterr_source = p->rules[i].source;
			return r;
		}
	}
	return 0;
}
