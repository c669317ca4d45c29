/*
 * interlock policy show | set PRESET | edit | lint [FILE] | test [FILE] | diff PRESET|FILE |
 *	import FILE | why ID
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "base/files.h"
#include "base/state.h"
#include "clients/commands.h"
#include "clients/judging.h"

#define POLICY_MAX ((size_t)1 << 20)

static int usage(void)
{
	(void)fputs("usage: interlock policy show | set PRESET|FILE | edit | lint [FILE] | test "
		    "[FILE]\n"
		    "       interlock policy diff PRESET|FILE | import FILE | why ID\n"
		    "presets: default, strict, permissive\n",
		stderr);
	return EXIT_STATUS_USAGE;
}

static int fail(const char *what, int r)
{
	(void)fprintf(stderr, "interlock policy: %s: %s\n", what, strerror(-r));
	return EXIT_STATUS_FAILED;
}

/* A preset's text, a file's, or (name NULL) the user's own policy or what stands for it. */
static int read_policy(const char *name, char **ret_text, size_t *ret_n)
{
	auto_free char *path = NULL;
	size_t n = 0;
	const char *preset = name ? il_policy_preset(name, &n) : NULL;
	int r;

	if (!preset) {
		if (!name) {
			r = policy_path(&path);
			if (r != 0)
				return r;
		}
		r = file_read(AT_FDCWD, name ? name : path, POLICY_MAX, ret_text, ret_n);
		if (r != -ENOENT || name)
			return r;
		preset = il_policy_preset("default", &n);
	}
	*ret_text = strndup(preset, n);
	*ret_n = n;
	return *ret_text ? 0 : -ENOMEM;
}

/* True if it loads, its own tests included; the reason goes to stderr. */
static bool is_sound(const char *name, const char *text, size_t n)
{
	struct il_policy_source source = { .name = name, .text = text, .n_text = n };
	struct il_policy *policy = NULL;
	struct diag diag = { 0 };
	size_t bad = 0;
	int r = il_policy_load(&source, 1, &policy, &bad, &diag);

	(void)il_policy_unref(policy);
	if (r != 0)
		(void)fprintf(stderr, "%s:%u:%u: %s\n", name, diag.line, diag.column,
			diag.text[0] ? diag.text : strerror(-r));
	return r == 0;
}

static int show(const char *name)
{
	auto_free char *text = NULL;
	size_t n = 0;
	int r = read_policy(name, &text, &n);

	if (r != 0)
		return fail("cannot read the policy", r);
	return fwrite(text, 1, n, stdout) == n ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}

static int store(const char *text, size_t n)
{
	auto_free char *config = NULL;
	auto_free char *path = NULL;
	int r = state_config_dir(&config);

	if (r == 0)
		r = policy_path(&path);
	if (r == 0)
		r = make_dirs(config, 0700);
	if (r == 0)
		r = file_write_atomic(AT_FDCWD, path, text, n, 0600);
	if (r != 0)
		return fail("cannot write the policy", r);
	printf("%s\n", path);
	return EXIT_STATUS_OK;
}

static int set(const char *name)
{
	auto_free char *text = NULL;
	size_t n = 0;
	int r = read_policy(name, &text, &n);

	if (r != 0)
		return fail(name, r);
	return is_sound(name, text, n) ? store(text, n) : EXIT_STATUS_CONFIG;
}

static int lint(const char *name, bool tests)
{
	auto_free char *text = NULL;
	size_t n = 0;
	struct il_policy_source source = { .name = name ? name : "policy.yaml" };
	struct il_policy *policy = NULL;
	struct il_policy_rule rule;
	struct diag diag = { 0 };
	size_t bad = 0, n_tests = 0, n_rules = 0;
	int r = read_policy(name, &text, &n);

	if (r != 0)
		return fail(source.name, r);
	source.text = text;
	source.n_text = n;
	r = il_policy_load(&source, 1, &policy, &bad, &diag);
	if (r != 0) {
		(void)fprintf(stderr, "%s:%u:%u: %s\n", source.name, diag.line, diag.column,
			diag.text[0] ? diag.text : strerror(-r));
		return EXIT_STATUS_CONFIG;
	}
	for (; il_policy_rule_get(policy, n_rules, &rule); n_rules++) {
		n_tests += rule.n_tests;
		if (tests)
			printf("%-6s %-32s %zu test%s passed\n", rule.list, rule.name, rule.n_tests,
				rule.n_tests == 1 ? "" : "s");
	}
	printf("%s: %zu rules, %zu tests, sound\n", source.name, n_rules, n_tests);
	(void)il_policy_unref(policy);
	return EXIT_STATUS_OK;
}

/* An editor on a copy; only a sound result replaces the policy. */
static int run_editor(const char *path)
{
	const char *editor = getenv("VISUAL");
	int status;
	pid_t pid;

	if (!editor || !*editor)
		editor = getenv("EDITOR");
	if (!editor || !*editor)
		editor = "vi";
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)execlp(editor, editor, path, (char *)NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECANCELED;
}

static int edit(void)
{
	auto_free char *text = NULL;
	auto_free char *edited = NULL;
	char path[] = "/tmp/interlock-policy-XXXXXX";
	size_t n = 0, n_edited = 0;
	auto_close int fd = -1;
	int status = EXIT_STATUS_FAILED;
	int r = read_policy(NULL, &text, &n);

	if (r == 0) {
		fd = mkostemp(path, O_CLOEXEC);
		r = fd < 0 ? -errno : write_all(fd, text, n);
	}
	if (r == 0)
		r = run_editor(path);
	if (r == 0)
		r = file_read(AT_FDCWD, path, POLICY_MAX, &edited, &n_edited);
	if (r != 0)
		status = fail("the policy is unchanged", r);
	else
		status = is_sound(path, edited, n_edited) ? store(edited, n_edited)
							  : EXIT_STATUS_CONFIG;
	if (fd >= 0 && status == EXIT_STATUS_OK)
		(void)unlink(path); /* kept after a refusal, so that no work is lost */
	return status;
}

static const char *list_of(const struct il_policy *p, const char *name)
{
	struct il_policy_rule rule;

	for (size_t i = 0; il_policy_rule_get(p, i, &rule); i++) {
		if (strcmp(rule.name, name) == 0)
			return rule.list;
	}
	return NULL;
}

static int diff(const char *name)
{
	struct judging mine = JUDGING_NONE, other = JUDGING_NONE;
	struct il_policy_rule rule;
	int r = judging_open(&mine, NULL, NULL);

	if (r == 0)
		r = judging_open(&other, name, NULL);
	for (size_t i = 0; r == 0 && il_policy_rule_get(mine.policy, i, &rule); i++) {
		const char *there = list_of(other.policy, rule.name);

		if (!there)
			printf("- %s %s\n", rule.list, rule.name);
		else if (strcmp(there, rule.list) != 0)
			printf("~ %s %s -> %s\n", rule.name, rule.list, there);
	}
	for (size_t i = 0; r == 0 && il_policy_rule_get(other.policy, i, &rule); i++) {
		if (!list_of(mine.policy, rule.name))
			printf("+ %s %s\n", rule.list, rule.name);
	}
	judging_done(&mine);
	judging_done(&other);
	return r == 0 ? EXIT_STATUS_OK : EXIT_STATUS_CONFIG;
}

static int import(const char *file)
{
	auto_free char *text = NULL;
	size_t n = 0;
	struct arena a;
	struct diag diag = { 0 };
	const char *yaml = NULL;
	int status = EXIT_STATUS_CONFIG;
	int r = file_read(AT_FDCWD, file, POLICY_MAX, &text, &n);

	if (r != 0)
		return fail(file, r);
	arena_init(&a, 32 * POLICY_MAX);
	r = il_policy_import(&a, text, n, &yaml, &diag);
	if (r != 0)
		(void)fprintf(stderr, "%s:%u:%u: %s\n", file, diag.line, diag.column,
			diag.text[0] ? diag.text : strerror(-r));
	else if (is_sound("imported", yaml, strlen(yaml)))
		status = fputs(yaml, stdout) < 0 ? EXIT_STATUS_FAILED : EXIT_STATUS_OK;
	arena_done(&a);
	return status;
}

static int why(const char *id)
{
	struct judging j = JUDGING_NONE;
	struct il_policy_rule rule;
	const char *text = il_finding_explain(id);
	int status = EXIT_STATUS_FAILED;

	if (text) {
		printf("%s: built in: %s\n", id, text);
		return EXIT_STATUS_OK;
	}
	if (judging_open(&j, NULL, NULL) != 0)
		return EXIT_STATUS_CONFIG;
	for (size_t i = 0; il_policy_rule_get(j.policy, i, &rule); i++) {
		if (strcmp(rule.name, id) == 0) {
			printf("%s: %s rule at %s:%u: %s\n", id, rule.list, rule.source, rule.line,
				rule.reason ? rule.reason : "without a stated reason");
			status = EXIT_STATUS_OK;
		}
	}
	if (status != EXIT_STATUS_OK)
		(void)fprintf(stderr, "interlock policy: nothing is called \"%s\"\n", id);
	judging_done(&j);
	return status;
}

int cmd_policy(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	const char *word = argc > 2 ? argv[2] : NULL;

	if (argc > 3)
		return usage();
	if (strcmp(verb, "show") == 0)
		return show(word);
	if (strcmp(verb, "lint") == 0 || strcmp(verb, "test") == 0)
		return lint(word, verb[0] == 't');
	if (strcmp(verb, "edit") == 0 && !word)
		return edit();
	if (!word)
		return usage();
	if (strcmp(verb, "set") == 0)
		return set(word);
	if (strcmp(verb, "diff") == 0)
		return diff(word);
	if (strcmp(verb, "import") == 0)
		return import(word);
	if (strcmp(verb, "why") == 0)
		return why(word);
	return usage();
}
