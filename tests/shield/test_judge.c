#include "tests/shield/world.h"

static void work_inside_the_workspace_is_allowed_under_a_narrow_grant(void **state)
{
	struct world w;
	struct il_verdict v;

	(void)state;
	world_init(&w, NULL);
	v = world_judge(&w, "write_file", "{\"path\":\"src/a.c\",\"content\":\"int x;\\n\"}");
	assert_int_equal(v.decision, IL_ALLOW);
	assert_int_equal(v.grant.net, GRANT_NET_NONE);
	assert_true(grant_rights_on(&v.grant, WORKSPACE "/src/a.c") & GRANT_WRITE);
	assert_int_equal(grant_rights_on(&v.grant, WORKSPACE "/src/b.c"), 0);
	v = world_judge(&w, "read_file", "{\"path\":\"src/a.c\"}");
	assert_int_equal(v.decision, IL_ALLOW);
	assert_false(grant_rights_on(&v.grant, WORKSPACE "/src/a.c") & GRANT_WRITE);
	world_done(&w);
}

static void every_spelling_of_a_protected_place_is_refused(void **state)
{
	static const char *const paths[] = { "~/.ssh/id_rsa", "/home/dev/.ssh/id_rsa",
		"../../.ssh/id_rsa", "/home/dev/work/../.ssh//id_rsa", "/proc/self/root/home/dev/.ssh/id_rsa",
		"/proc/self/cwd/../../.ssh/id_rsa", "file:///home/dev/.ssh/id_rsa", "~dev/.ssh/id_rsa",
		"/home/dev/.SSH/id_rsa", "/home/other/.aws/credentials", "/etc/shadow",
		"/home/dev/.local/state/interlock/x/approver.token" };
	struct world w;

	(void)state;
	world_init(&w, NULL);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		char json[512];
		struct il_verdict v;

		(void)snprintf(json, sizeof(json), "{\"path\":\"%s\"}", paths[i]);
		v = world_judge(&w, "read_file", json);
		assert_int_equal(v.decision, IL_DENY);
		assert_true(has_finding(&v, "PROT-"));
		assert_int_equal(v.grant.n_paths, 0);
	}
	world_done(&w);
}

static void a_link_is_judged_by_where_it_leads(void **state)
{
	struct il_fact fact = { .kind = IL_FACT_PATH, .subject = WORKSPACE "/outbox/key", .known = true,
				.type = IL_FILE_REGULAR, .resolved = HOME "/.ssh/key" };
	struct world w;
	struct il_verdict v;

	(void)state;
	world_init(&w, NULL);
	v = world_judge(&w, "write_file", "{\"path\":\"outbox/key\",\"content\":\"x\"}");
	assert_int_equal(v.decision, IL_ALLOW);
	w.facts = &fact;
	w.n_facts = 1;
	v = world_judge(&w, "write_file", "{\"path\":\"outbox/key\",\"content\":\"x\"}");
	assert_int_equal(v.decision, IL_DENY);
	world_done(&w);
}

static void what_is_deleted_decides_how(void **state)
{
	struct il_fact fact = { .kind = IL_FACT_PATH, .subject = WORKSPACE "/photos", .known = true,
				.type = IL_FILE_DIRECTORY, .git = IL_GIT_UNTRACKED };
	struct world w;

	(void)state;
	world_init(&w, NULL);
	w.facts = &fact;
	w.n_facts = 1;
	assert_int_equal(world_judge(&w, "delete_directory", "{\"path\":\"photos\"}").decision, IL_ASK);
	fact.git = IL_GIT_CLEAN;
	assert_int_equal(world_judge(&w, "delete_directory", "{\"path\":\"photos\"}").decision, IL_ALLOW);
	assert_int_equal(
		world_judge(&w, "delete_directory", "{\"path\":\"node_modules\"}").decision, IL_ALLOW);
	assert_int_equal(world_judge(&w, "delete_directory", "{\"path\":\".\"}").decision, IL_DENY);
	assert_int_equal(world_judge(&w, "delete_directory", "{\"path\":\"~\"}").decision, IL_DENY);
	assert_int_equal(world_judge(&w, "delete_directory", "{\"path\":\"/usr\"}").decision, IL_DENY);
	world_done(&w);
}

static void a_refused_action_names_its_field(void **state)
{
	struct world w;
	struct il_verdict v;

	(void)state;
	world_init(&w, NULL);
	v = world_judge(&w, "read_file", "{\"path\":\"a\",\"mode\":\"x\"}");
	assert_int_equal(v.decision, IL_DENY);
	assert_non_null(strstr(v.reason, "\"mode\""));
	v = world_judge(&w, "no_such_action", "{}");
	assert_int_equal(v.decision, IL_DENY);
	assert_string_equal(v.rule, "SCHEMA");
	world_done(&w);
}

static void off_the_record_nothing_changes(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, NULL);
	w.context.otr = true;
	assert_int_equal(
		world_judge(&w, "write_file", "{\"path\":\"a\",\"content\":\"\"}").decision, IL_DENY);
	assert_int_equal(world_judge(&w, "read_file", "{\"path\":\"a\"}").decision, IL_ALLOW);
	world_done(&w);
}

static void an_ask_without_anybody_is_a_deny(void **state)
{
	struct world w;
	struct il_verdict v;

	(void)state;
	world_init(&w, NULL);
	assert_int_equal(world_judge(&w, "read_file", "{\"path\":\".env\"}").decision, IL_ASK);
	w.context.can_ask = false;
	v = world_judge(&w, "read_file", "{\"path\":\".env\"}");
	assert_int_equal(v.decision, IL_DENY);
	assert_int_equal(v.grant.n_paths, 0);
	world_done(&w);
}

static void an_allow_that_rests_on_nothing_proved_is_an_ask(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, NULL);
	assert_int_equal(world_judge(&w, "git_commit", "{\"message\":\"x\"}").decision, IL_ALLOW);
	w.enforcer.filesystem = false;
	assert_int_equal(world_judge(&w, "git_commit", "{\"message\":\"x\"}").decision, IL_ASK);
	w.enforcer.filesystem = true;
	w.enforcer.network = false;
	assert_int_equal(world_judge(&w, "git_commit", "{\"message\":\"x\"}").decision, IL_ASK);
	world_done(&w);
}

static void looking_at_a_directory_above_a_home_does_not_open_the_home(void **state)
{
	static const char *const commands[] = { "ls /", "ls /home", "tool /", "stat /home",
		"find / -name x", "find /home -type f" };
	struct world w;

	(void)state;
	world_init(&w, NULL);
	for (size_t i = 0; i < N_ELEMENTS(commands); i++) {
		struct il_verdict v = world_command(&w, commands[i]);

		assert_int_equal(grant_rights_on(&v.grant, HOME "/.ssh/id_rsa"), 0);
		assert_int_equal(grant_rights_on(&v.grant, HOME "/other"), 0);
	}
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_inside_the_workspace_is_allowed_under_a_narrow_grant),
		cmocka_unit_test(every_spelling_of_a_protected_place_is_refused),
		cmocka_unit_test(a_link_is_judged_by_where_it_leads),
		cmocka_unit_test(what_is_deleted_decides_how),
		cmocka_unit_test(a_refused_action_names_its_field),
		cmocka_unit_test(off_the_record_nothing_changes),
		cmocka_unit_test(an_ask_without_anybody_is_a_deny),
		cmocka_unit_test(an_allow_that_rests_on_nothing_proved_is_an_ask),
		cmocka_unit_test(looking_at_a_directory_above_a_home_does_not_open_the_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
