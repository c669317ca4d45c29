#include "shield/path.h"
#include "tests/shield/world.h"

static void expect(struct world *w, const char *type, const char *json, enum il_decision want)
{
	struct il_verdict v = world_judge(w, type, json);

	if (v.decision != want)
		fail_msg("%s %s: %s [%s] %s", type, json, il_decision_name(v.decision), v.rule, v.reason);
}

static void interlock_guards_its_own_places(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, NULL);
	expect(&w, "read_file", "{\"path\":\"~/.local/state/interlock/x/client.token\"}", IL_DENY);
	expect(&w, "write_file", "{\"path\":\"~/.config/interlock/policy.yaml\",\"content\":\"\"}", IL_DENY);
	expect(&w, "write_file", "{\"path\":\"interlock.yaml\",\"content\":\"\"}", IL_DENY);
	expect(&w, "read_file", "{\"path\":\"interlock.yaml\"}", IL_ALLOW);
	expect(&w, "write_file", "{\"path\":\"/usr/libexec/interlock/interlock-engine\",\"content\":\"\"}",
		IL_DENY);
	expect(&w, "delete_directory", "{\"path\":\"~/.config/interlock\"}", IL_DENY);
	expect(&w, "move_file", "{\"source\":\"x\",\"destination\":\"~/.config/interlock/policy.yaml\"}",
		IL_DENY);
	world_done(&w);
}

static void hooks_and_settings_of_clients_are_not_written(void **state)
{
	static const char *const paths[] = { ".claude/settings.json", ".CLAUDE/settings.json",
		"sub/.claude/settings.local.json", ".git/hooks/pre-commit", ".cursor/mcp.json",
		"~/.claude/settings.json", "~/.bashrc", "~/.config/systemd/user/x.service", "/etc/cron.d/x",
		"/etc/passwd", "/boot/x", "/etc/ld.so.preload", "~/.gitconfig", "~/.ssh/authorized_keys" };
	struct world w;

	(void)state;
	world_init(&w, NULL);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		char json[256];

		(void)snprintf(json, sizeof(json), "{\"path\":\"%s\",\"content\":\"x\"}", paths[i]);
		expect(&w, "write_file", json, IL_DENY);
	}
	world_done(&w);
}

static void what_runs_by_itself_is_asked_about(void **state)
{
	struct world w;
	struct il_verdict v;

	(void)state;
	world_init(&w, NULL);
	expect(&w, "write_file", "{\"path\":\".envrc\",\"content\":\"x\"}", IL_ASK);
	expect(&w, "write_file", "{\"path\":\"CLAUDE.md\",\"content\":\"x\"}", IL_ASK);
	v = world_judge(&w, "write_file", "{\"path\":\".envrc\",\"content\":\"x\"}");
	assert_int_equal(v.grant.armed, GRANT_ARMED_WRITABLE);
	expect(&w, "write_file", "{\"path\":\"Makefile\",\"content\":\"x\"}", IL_ALLOW);
	expect(&w, "write_file", "{\"path\":\"package.json\",\"content\":\"{}\"}", IL_ALLOW);
	world_done(&w);
}

static void ordinary_names_are_not_mistaken_for_secrets(void **state)
{
	static const char *const paths[] = { "my-config.yaml", "config.yaml", "secrets-manager.go",
		"templates/password-reset.html", ".env.example", "docs/credentials.md", "src/token.c",
		"test/fixtures/test-key.pem", ".github/workflows/ci.yml", "keyboard.key.c" };
	struct world w;

	(void)state;
	world_init(&w, NULL);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		char json[256];

		(void)snprintf(json, sizeof(json), "{\"path\":\"%s\"}", paths[i]);
		expect(&w, "read_file", json, IL_ALLOW);
	}
	world_done(&w);
}

static void paths_have_one_form(void **state)
{
	static const char *const cases[][2] = { { "a/../b", WORKSPACE "/b" }, { "/a//b/./c", "/a/b/c" },
		{ "~", HOME }, { "~/x", HOME "/x" }, { "~other/x", "/home/other/x" }, { "/..", "/" },
		{ "file:///a", "/a" }, { "/proc/self/root/a", "/a" }, { "/proc/1/root", "/" },
		{ "/proc/self/cwd/a", WORKSPACE "/a" }, { "/proc/self/root/proc/self/root/a", "/a" },
		{ "C:\\Windows\\x", "/c:/windows/x" }, { "/proc/thread-self/root/etc", "/etc" } };
	struct path_origin origin = { .cwd = WORKSPACE, .home = HOME };
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		assert_string_equal(path_canon(&a, &origin, cases[i][0]), cases[i][1]);
	arena_done(&a);
}

static void patterns_match_as_they_say(void **state)
{
	(void)state;
	assert_true(is_path_match("src/**", "src/a/b", false));
	assert_true(is_path_match("**/x", "x", false));
	assert_true(is_path_match("**/x", "a/b/x", false));
	assert_false(is_path_match("*", "a/b", false));
	assert_true(is_path_match("{a,b}.c", "b.c", false));
	assert_true(is_path_match("[a-c]?", "bz", false));
	assert_false(is_path_match("[!a-c]?", "bz", false));
	assert_false(is_path_match("A", "a", false));
	assert_true(is_path_match("A", "a", true));
	/* Hostile: ends as "no match" instead of never. */
	assert_false(is_path_match("**/a**/a**/a**/a**/a**/a**/a/b",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interlock_guards_its_own_places),
		cmocka_unit_test(hooks_and_settings_of_clients_are_not_written),
		cmocka_unit_test(what_runs_by_itself_is_asked_about),
		cmocka_unit_test(ordinary_names_are_not_mistaken_for_secrets),
		cmocka_unit_test(paths_have_one_form),
		cmocka_unit_test(patterns_match_as_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
