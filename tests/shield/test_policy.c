#include "tests/shield/world.h"

static int load(const char *text, bool narrowing, struct diag *diag)
{
	struct il_policy_source sources[2] = { { .name = "preset:default" },
		{ .name = "own", .text = text, .n_text = strlen(text), .narrowing_only = narrowing } };
	struct il_policy *p = NULL;
	size_t bad = 9;
	int r;

	*diag = (struct diag){ 0 };
	sources[0].text = il_policy_preset("default", &sources[0].n_text);
	r = il_policy_load(sources, 2, &p, &bad, diag);
	if (r != 0)
		assert_int_equal(bad, 1);
	(void)il_policy_unref(p);
	return r;
}

static void every_preset_loads_with_the_tests_in_its_rules(void **state)
{
	static const char *const names[] = { "default", "strict", "permissive" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		struct il_policy_source s = { .name = names[i] };
		struct il_policy *p = NULL;
		struct diag diag = { 0 };
		size_t bad;

		s.text = il_policy_preset(names[i], &s.n_text);
		assert_non_null(s.text);
		if (il_policy_load(&s, 1, &p, &bad, &diag) != 0)
			fail_msg("%s:%u:%u: %s", names[i], diag.line, diag.column, diag.text);
		(void)il_policy_unref(p);
	}
}

static void what_is_wrong_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
		unsigned line;
	} cases[] = {
		{ "version: 1\nrules: []\n", "rules", 2 },
		{ "version: 2\n", "version 1", 1 },
		{ "deny: []\n", "version", 1 },
		{ "version: 1\ndeny:\n  - name: x\n    actions: [no_such]\n", "no_such", 4 },
		{ "version: 1\ndeny:\n  - name: x\n    effects: [fly]\n", "fly", 4 },
		{ "version: 1\ndeny:\n  - name: x\n    colour: red\n", "colour", 4 },
		{ "version: 1\ndeny:\n  - name: x\n    paths: [\"a/[b\"]\n", "[", 4 },
		{ "version: 1\ndeny:\n  - name: x\n    paths: [\"a/../b\"]\n", "..", 4 },
		{ "version: 1\ndeny:\n  - name: x\n    paths: [a, a]\n", "twice", 4 },
		{ "version: 1\ndeny:\n  - actions: [read_file]\n", "name", 3 },
		{ "version: 1\ndeny:\n  - name: x\n    reason: y\n", "condition", 3 },
		{ "version: 1\ndeny:\n  - name: read\n    actions: [read_file]\n", "another rule", 3 },
		{ "version: 1\nallow:\n  - name: x\n    actions: [read_file]\n    until: soon\n", "until", 5 },
		{ "version: 1\ndefault: maybe\n", "allow", 2 },
		{ "version: 1\nlimits: { wall: fast }\n", "duration", 2 },
		{ "version: 1\nversion: 1\n", "", 2 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct diag diag;

		if (load(cases[i].text, false, &diag) != -EBADMSG)
			fail_msg("accepted: %s", cases[i].text);
		if (!strstr(diag.text, cases[i].says) || diag.line != cases[i].line)
			fail_msg("%s -> %u:%u: %s", cases[i].text, diag.line, diag.column, diag.text);
		assert_true(diag.column > 0);
	}
}

static void a_workspace_may_only_narrow(void **state)
{
	static const char *const refused[] = {
		"version: 1\nallow:\n  - name: x\n    actions: [execute_command]\n",
		"version: 1\nhosts: [evil.example]\n",
		"version: 1\nceiling: { any_host: true }\n",
		"version: 1\ndefault: allow\n",
		"version: 1\nflow: permissive\n",
	};
	struct diag diag;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		assert_int_equal(load(refused[i], true, &diag), -EBADMSG);
	assert_int_equal(load("version: 1\ndeny:\n  - name: x\n    actions: [git_push]\ndefault: deny\n",
				 true, &diag),
		0);
}

static void tests_in_rules_are_run_when_loaded(void **state)
{
	struct diag diag;

	(void)state;
	assert_int_equal(load("version: 1\ndeny:\n  - name: x\n    effects: [write]\n    paths: [src/**]\n"
			      "    match:\n      - { write_file: { path: src/a, content: b } }\n"
			      "    not_match:\n      - { write_file: { path: doc/a, content: b } }\n",
				 false, &diag),
		0);
	assert_int_equal(load("version: 1\ndeny:\n  - name: x\n    effects: [write]\n    paths: [src/**]\n"
			      "    match:\n      - { write_file: { path: doc/a, content: b } }\n",
				 false, &diag),
		-EBADMSG);
	assert_int_equal(diag.line, 7);
	assert_int_equal(load("version: 1\ndeny:\n  - name: x\n    actions: [read_file]\n"
			      "    match:\n      - { read_file: { nopath: doc/a } }\n",
				 false, &diag),
		-EBADMSG);
}

static void deny_wins_over_ask_over_allow_in_any_order(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, "version: 1\nallow:\n  - name: a\n    actions: [delete_file]\n"
		       "ask:\n  - name: b\n    effects: [delete]\n    paths: [\"*.c\"]\n"
		       "deny:\n  - name: c\n    effects: [delete]\n    paths: [main.c]\n");
	assert_int_equal(world_judge(&w, "delete_file", "{\"path\":\"main.c\"}").decision, IL_DENY);
	assert_int_equal(world_judge(&w, "delete_file", "{\"path\":\"x.c\"}").decision, IL_ASK);
	assert_int_equal(world_judge(&w, "delete_file", "{\"path\":\"x.h\"}").decision, IL_ALLOW);
	world_done(&w);
}

static void no_policy_lifts_protection(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, "version: 1\nallow:\n  - name: all\n    actions: [read_file, write_file, delete_file]\n");
	assert_int_equal(world_judge(&w, "read_file", "{\"path\":\"~/.ssh/id_rsa\"}").decision, IL_DENY);
	assert_int_equal(world_judge(&w, "write_file",
				 "{\"path\":\"~/.config/interlock/policy.yaml\",\"content\":\"x\"}")
				 .decision,
		IL_DENY);
	assert_int_equal(world_judge(&w, "delete_file", "{\"path\":\"/etc/sudoers\"}").decision, IL_DENY);
	world_done(&w);
}

static void an_allow_ends_with_its_day_and_a_deny_too(void **state)
{
	struct world w;
	static const int64_t day = (int64_t)86400 * 1000000000;

	(void)state;
	world_init(&w, "version: 1\nallow:\n  - name: a\n    effects: [write]\n    paths: [/srv/x/**]\n"
		       "    until: 2026-01-31\n");
	w.context.wall_ns = 20484 * day; /* 2026-01-31 */
	assert_int_equal(
		world_judge(&w, "write_file", "{\"path\":\"/srv/x/a\",\"content\":\"\"}").decision, IL_ALLOW);
	w.context.wall_ns = 20485 * day;
	assert_int_equal(
		world_judge(&w, "write_file", "{\"path\":\"/srv/x/a\",\"content\":\"\"}").decision, IL_ASK);
	w.context.wall_ns = 0; /* no clock */
	assert_int_equal(
		world_judge(&w, "write_file", "{\"path\":\"/srv/x/a\",\"content\":\"\"}").decision, IL_ASK);
	world_done(&w);
}

static void always_writes_a_rule_for_exactly_this_action(void **state)
{
	struct world w;
	struct il_verdict v;
	const char *rule;
	char text[2048];

	(void)state;
	world_init(&w, NULL);
	v = world_judge(&w, "write_file", "{\"path\":\"/srv/x/a\",\"content\":\"1\"}");
	assert_int_equal(v.decision, IL_ASK);
	assert_int_equal(il_approval_rule(&w.arena, &w.analysis, &v, &rule), 0);
	(void)snprintf(text, sizeof(text), "version: 1\nallow:\n%s", rule);
	world_done(&w);
	world_init(&w, text);
	assert_int_equal(
		world_judge(&w, "write_file", "{\"path\":\"/srv/x/a\",\"content\":\"1\"}").decision, IL_ALLOW);
	assert_int_equal(
		world_judge(&w, "write_file", "{\"path\":\"/srv/x/a\",\"content\":\"2\"}").decision, IL_ASK);
	world_done(&w);
}

static void the_question_hides_nothing(void **state)
{
	struct world w;
	struct il_verdict v;
	const char *text;
	char json[9000];

	(void)state;
	world_init(&w, NULL);
	(void)snprintf(json, sizeof(json), "{\"path\":\"/srv/a\\u202etxt\",\"content\":\"\\u001b[2K%04000d END\"}", 7);
	v = world_judge(&w, "write_file", json);
	assert_int_equal(il_approval_question(&w.arena, &w.analysis, &v, &text), 0);
	assert_null(strchr(text, '\x1b'));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_non_null(strstr(text, "u{202e}"));
	assert_non_null(strstr(text, "7 END"));
	world_done(&w);
}

/* Deterministic numbers: a failure can be repeated. */
static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

static const char *const action_texts[][2] = {
	{ "read_file", "{\"path\":\"src/a.c\"}" },
	{ "read_file", "{\"path\":\"/etc/hostname\"}" },
	{ "write_file", "{\"path\":\"src/a.c\",\"content\":\"x\"}" },
	{ "write_file", "{\"path\":\"/tmp/a\",\"content\":\"x\"}" },
	{ "delete_file", "{\"path\":\"src/a.c\"}" },
	{ "delete_directory", "{\"path\":\"build\"}" },
	{ "copy_file", "{\"source\":\"a\",\"destination\":\"b\"}" },
	{ "git_commit", "{\"message\":\"x\"}" },
	{ "execute_command", "{\"command\":\"make all && cp a b\"}" },
	{ "execute_command", "{\"command\":\"npm install\"}" },
	{ "memory_search", "{\"query\":\"x\"}" },
};

static void one_more_deny_or_ask_never_allows_more(void **state)
{
	static const char *const kinds[] = { "deny", "ask", "verify" };
	static const char *const conditions[] = { "effects: [read]", "effects: [write, create]",
		"effects: [delete]", "paths: [src/**]", "paths: [\"**/a*\"]", "actions: [execute_command]",
		"effects: [exec]", "programs: [make]", "hosts: [\"*\"]", "labels: [public]",
		"actions: [\"files:\"]", "origins: [agent]", "states: [artefact]" };
	uint32_t seed = 1;

	(void)state;
	for (int i = 0; i < 200; i++) {
		char rule[256];
		struct world with, without;

		(void)snprintf(rule, sizeof(rule), "version: 1\n%s:\n  - name: extra\n    %s\n",
			kinds[next(&seed) % N_ELEMENTS(kinds)],
			conditions[next(&seed) % N_ELEMENTS(conditions)]);
		world_init(&without, NULL);
		world_init(&with, rule);
		for (size_t k = 0; k < N_ELEMENTS(action_texts); k++) {
			struct il_verdict a, b;

			a = world_judge(&without, action_texts[k][0], action_texts[k][1]);
			b = world_judge(&with, action_texts[k][0], action_texts[k][1]);
			if (b.decision > a.decision)
				fail_msg("%s makes %s weaker", rule, action_texts[k][1]);
		}
		world_done(&with);
		world_done(&without);
	}
}

static void one_guarantee_less_never_allows_more(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 64; bits++) {
		struct world all, some;

		world_init(&all, NULL);
		world_init(&some, NULL);
		some.enforcer = (struct il_judge_enforcer){ .filesystem = bits & 1, .network = bits & 2,
			.net_hosts = bits & 4, .hide = bits & 8, .armed_readonly = bits & 16,
			.processes = bits & 32 };
		for (size_t k = 0; k < N_ELEMENTS(action_texts); k++) {
			struct il_verdict a = world_judge(&all, action_texts[k][0], action_texts[k][1]);
			struct il_verdict b = world_judge(&some, action_texts[k][0], action_texts[k][1]);

			assert_true(b.decision <= a.decision);
		}
		world_done(&all);
		world_done(&some);
	}
}

static void a_smaller_ceiling_never_allows_more(void **state)
{
	struct world wide, narrow;
	static const char *const more[][2] = {
		{ "write_file", "{\"path\":\"/srv/x\",\"content\":\"x\"}" },
		{ "read_file", "{\"path\":\"/srv/x\"}" },
		{ "http_request", "{\"url\":\"https://example.com/\"}" },
	};

	(void)state;
	world_init(&wide, NULL);
	world_init(&narrow, "version: 1\nceiling: { read: [/usr], write: [/tmp], any_host: false }\n");
	for (size_t k = 0; k < N_ELEMENTS(more); k++) {
		assert_int_equal(world_judge(&narrow, more[k][0], more[k][1]).decision, IL_DENY);
		assert_int_not_equal(world_judge(&wide, more[k][0], more[k][1]).decision, IL_DENY);
	}
	for (size_t k = 0; k < N_ELEMENTS(action_texts); k++)
		assert_true(world_judge(&narrow, action_texts[k][0], action_texts[k][1]).decision <=
			    world_judge(&wide, action_texts[k][0], action_texts[k][1]).decision);
	world_done(&wide);
	world_done(&narrow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_preset_loads_with_the_tests_in_its_rules),
		cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
		cmocka_unit_test(a_workspace_may_only_narrow),
		cmocka_unit_test(tests_in_rules_are_run_when_loaded),
		cmocka_unit_test(deny_wins_over_ask_over_allow_in_any_order),
		cmocka_unit_test(no_policy_lifts_protection),
		cmocka_unit_test(an_allow_ends_with_its_day_and_a_deny_too),
		cmocka_unit_test(always_writes_a_rule_for_exactly_this_action),
		cmocka_unit_test(the_question_hides_nothing),
		cmocka_unit_test(one_more_deny_or_ask_never_allows_more),
		cmocka_unit_test(one_guarantee_less_never_allows_more),
		cmocka_unit_test(a_smaller_ceiling_never_allows_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
