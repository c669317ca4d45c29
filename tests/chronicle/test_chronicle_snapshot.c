/*
 * What a snapshot keeps, refuses and states, and what a rollback will not do.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "tests/chronicle/world.h"
#include "tests/support/cmocka.h"

#define DAY_NS INT64_C(86400000000000)

/* A clock that the test moves. */
static int64_t wall(void *ctx)
{
	return *(const int64_t *)ctx;
}

static uint64_t monotonic(void *ctx)
{
	(void)ctx;
	return 0;
}

static void expect_text(struct world *w, const char *path, const char *wanted)
{
	char *found = get(w, path);

	if (!wanted)
		assert_null(found);
	else
		assert_string_equal(found, wanted);
	free(found);
}

static int try_begin(struct world *w, const struct il_chronicle_place *place, struct diag *diag)
{
	struct il_snapshot_info info = { .session = "s1", .action_type = "test" };
	char id[IL_SNAPSHOT_ID_SIZE];

	return il_chronicle_begin(w->c, &info, place, 1, id, NULL, diag);
}

static void a_created_file_and_its_directories_go_again(void **state)
{
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];

	(void)state;
	world_open(&w);
	begin_at(&w, "a/b/c.txt", false, id);
	assert_int_equal(mkdirat(w.tree_fd, "a", 0755), 0);
	assert_int_equal(mkdirat(w.tree_fd, "a/b", 0755), 0);
	put(&w, "a/b/c.txt", "made");
	seal(&w, id);
	assert_int_equal(roll_back(&w, id, NULL, false), 0);
	assert_int_equal(faccessat(w.tree_fd, "a", F_OK, 0), -1);
	world_close(&w);
}

static void what_the_user_changed_since_is_a_conflict(void **state)
{
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];

	(void)state;
	world_open(&w);
	put(&w, "f", "one");
	begin_at(&w, "f", false, id);
	put(&w, "f", "two");
	seal(&w, id);
	put(&w, "f", "mine");
	assert_int_equal(roll_back(&w, id, NULL, false), IL_CHRONICLE_E_CONFLICT);
	expect_text(&w, "f", "mine");
	assert_int_equal(roll_back(&w, id, NULL, true), 0);
	expect_text(&w, "f", "one");
	world_close(&w);
}

static void a_directory_that_got_company_is_not_removed(void **state)
{
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];

	(void)state;
	world_open(&w);
	begin_at(&w, "", true, id);
	assert_int_equal(mkdirat(w.tree_fd, "d", 0755), 0);
	put(&w, "d/theirs", "x");
	seal(&w, id);
	put(&w, "d/mine", "y");
	assert_int_equal(roll_back(&w, id, NULL, false), IL_CHRONICLE_E_CONFLICT);
	expect_text(&w, "d/mine", "y");
	expect_text(&w, "d/theirs", "x");
	world_close(&w);
}

static void a_rollback_does_not_follow_a_planted_link(void **state)
{
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];
	char outside[300];
	struct stat st;

	(void)state;
	world_open(&w);
	(void)snprintf(outside, sizeof(outside), "%s/outside", w.dir);
	assert_int_equal(mkdir(outside, 0755), 0);
	assert_int_equal(mkdirat(w.tree_fd, "d", 0755), 0);
	put(&w, "d/f", "one");
	begin_at(&w, "d/f", false, id);
	put(&w, "d/f", "two");
	seal(&w, id);
	assert_int_equal(renameat(w.tree_fd, "d", w.tree_fd, "e"), 0);
	assert_int_equal(symlinkat(outside, w.tree_fd, "d"), 0);
	assert_true(roll_back(&w, id, NULL, true) != 0);
	(void)snprintf(outside, sizeof(outside), "%s/outside/f", w.dir);
	assert_int_equal(stat(outside, &st), -1);
	world_close(&w);
}

static void a_place_outside_its_root_is_refused(void **state)
{
	static const char *const paths[] = { "../x", "a/../../x", "/etc/passwd" };
	struct world w = { 0 };
	struct diag diag;

	(void)state;
	world_open(&w);
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		struct il_chronicle_place place = {
			.dir_fd = w.tree_fd, .root = w.tree, .path = paths[i], .may_create = true
		};

		assert_true(try_begin(&w, &place, &diag) < 0);
	}
	world_close(&w);
}

static void a_root_that_is_another_directory_is_refused(void **state)
{
	struct world w = { 0 };
	struct il_chronicle_place place = { .root = "/tmp", .path = "f", .may_create = true };
	struct diag diag;

	(void)state;
	world_open(&w);
	place.dir_fd = w.tree_fd;
	assert_int_equal(try_begin(&w, &place, &diag), -ESTALE);
	world_close(&w);
}

static void a_named_file_over_the_limit_is_refused_not_left_out(void **state)
{
	struct il_chronicle_options options = { .file_bytes_max = 1000 };
	struct il_chronicle_place place = { .path = "big" };
	struct world w = { 0 };
	struct diag diag;
	char text[2001] = { 0 };

	(void)state;
	world_open_with(&w, &options);
	memset(text, 'x', sizeof(text) - 1);
	put(&w, "big", text);
	place.dir_fd = w.tree_fd;
	place.root = w.tree;
	assert_int_equal(try_begin(&w, &place, &diag), -EFBIG);
	assert_non_null(strstr(diag.text, "big"));
	world_close(&w);
}

static int count_left_out(void *ctx, const char *path, const char *reason)
{
	unsigned *n = ctx;

	assert_true(strcmp(path, "big") == 0 || strcmp(path, "node_modules") == 0);
	assert_true(strlen(reason) > 0);
	(*n)++;
	return 0;
}

static void what_a_tree_leaves_out_is_named(void **state)
{
	static const char *const exclude[] = { "node_modules" };
	struct il_chronicle_options options = {
		.file_bytes_max = 1000, .exclude = exclude, .n_exclude = 1
	};
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];
	char text[5001] = { 0 };
	unsigned n = 0;

	(void)state;
	world_open_with(&w, &options);
	memset(text, 'x', sizeof(text) - 1);
	put(&w, "big", text);
	assert_int_equal(mkdirat(w.tree_fd, "node_modules", 0755), 0);
	put(&w, "node_modules/a", "b");
	begin_at(&w, "", true, id);
	seal(&w, id);
	assert_int_equal(il_chronicle_left_out(w.c, id, count_left_out, &n), 0);
	assert_int_equal(n, 2);
	world_close(&w);
}

static void a_tree_that_is_deleted_is_kept_though_excluded(void **state)
{
	static const char *const exclude[] = { "node_modules" };
	struct il_chronicle_options options = { .exclude = exclude, .n_exclude = 1 };
	struct il_snapshot_info info = { .action_type = "delete" };
	struct il_chronicle_place place = {
		.path = "node_modules", .recursive = true, .ignore_exclusions = true
	};
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];

	(void)state;
	world_open_with(&w, &options);
	assert_int_equal(mkdirat(w.tree_fd, "node_modules", 0755), 0);
	put(&w, "node_modules/a", "b");
	place.dir_fd = w.tree_fd;
	place.root = w.tree;
	assert_int_equal(il_chronicle_begin(w.c, &info, &place, 1, id, NULL, NULL), 0);
	assert_int_equal(unlinkat(w.tree_fd, "node_modules/a", 0), 0);
	assert_int_equal(unlinkat(w.tree_fd, "node_modules", AT_REMOVEDIR), 0);
	seal(&w, id);
	assert_int_equal(roll_back(&w, id, NULL, false), 0);
	expect_text(&w, "node_modules/a", "b");
	world_close(&w);
}

static void a_second_writer_is_refused_and_a_reader_is_not(void **state)
{
	struct world w = { 0 };
	struct il_chronicle_options options;
	struct il_chronicle *second = NULL;
	struct diag diag;

	(void)state;
	world_open(&w);
	options = w.options;
	assert_int_equal(il_chronicle_open(&options, &second, &diag), IL_CHRONICLE_E_LOCKED);
	options.read_only = true;
	assert_int_equal(il_chronicle_open(&options, &second, &diag), 0);
	il_chronicle_close(second);
	world_close(&w);
}

static void equal_contents_are_stored_once(void **state)
{
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE], name[16];
	char *text = calloc(1, 100001);
	uint64_t before;

	(void)state;
	world_open(&w);
	memset(text, 'q', 100000);
	put(&w, "f0", text);
	begin_at(&w, "", true, id);
	seal(&w, id);
	before = il_chronicle_bytes(w.c);
	for (int i = 1; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		put(&w, name, text);
	}
	begin_at(&w, "", true, id);
	seal(&w, id);
	assert_true(il_chronicle_bytes(w.c) - before < 20000);
	free(text);
	world_close(&w);
}

static void large_files_and_links_between_them_come_back(void **state)
{
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];
	char *before, *after, *text = malloc((size_t)6 << 20);

	(void)state;
	world_open(&w);
	for (size_t i = 0; i < ((size_t)6 << 20) - 1; i++)
		text[i] = (char)('a' + i % 23);
	text[((size_t)6 << 20) - 1] = '\0';
	put(&w, "large", text);
	assert_int_equal(linkat(w.tree_fd, "large", w.tree_fd, "other", 0), 0);
	before = describe(&w);
	begin_at(&w, "", true, id);
	put(&w, "large", "gone");
	assert_int_equal(unlinkat(w.tree_fd, "other", 0), 0);
	seal(&w, id);
	assert_int_equal(roll_back(&w, id, NULL, false), 0);
	after = describe(&w);
	assert_string_equal(after, before);
	free(before);
	free(after);
	free(text);
	world_close(&w);
}

static void at_the_quota_nothing_new_is_kept_nor_old_dropped(void **state)
{
	struct il_chronicle_options options = { .store_bytes_max = 60000 };
	struct world w = { 0 };
	struct il_chronicle_place place = { .path = "f", .may_create = true };
	char id[IL_SNAPSHOT_ID_SIZE];
	char text[50001] = { 0 };
	struct diag diag;
	uint64_t n = 7;

	(void)state;
	world_open_with(&w, &options);
	memset(text, 'a', sizeof(text) - 1);
	put(&w, "f", text);
	begin_at(&w, "f", false, id);
	memset(text, 'b', sizeof(text) - 1);
	put(&w, "f", text);
	seal(&w, id);
	place.dir_fd = w.tree_fd;
	place.root = w.tree;
	assert_int_equal(try_begin(&w, &place, &diag), IL_CHRONICLE_E_QUOTA);
	assert_non_null(strstr(diag.text, "prune"));
	/* Younger than seven days: not even a prune drops the traces. */
	assert_int_equal(il_chronicle_prune(w.c, NULL, 0, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(try_begin(&w, &place, &diag), IL_CHRONICLE_E_QUOTA);
	assert_int_equal(roll_back(&w, id, NULL, false), 0);
	world_close(&w);
}

static void verify_passes_after_ten_prunes(void **state)
{
	int64_t now = INT64_C(1700000000) * 1000000000;
	struct clock clock = { .wall_ns = wall, .monotonic_ms = monotonic, .ctx = &now };
	struct il_chronicle_options options = { .clock = &clock, .keep_snapshots = 5 };
	static const char *const live[] = { "live" };
	struct il_chronicle_report report;
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE], text[64];
	uint64_t n = 0, sum = 0;

	(void)state;
	world_open_with(&w, &options);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 8; i++) {
			(void)snprintf(text, sizeof(text), "round %d, %d", round, i);
			begin_at(&w, "f", false, id);
			put(&w, "f", text);
			seal(&w, id);
			now += DAY_NS;
		}
		assert_int_equal(il_chronicle_prune(w.c, live, 1, &n), 0);
		sum += n;
		assert_true(n > 0);
		world_reopen(&w);
		assert_int_equal(il_chronicle_verify(w.c, &report), 0);
		if (report.status != EXIT_VERIFY_INTACT)
			print_error("%s\n", report.text);
		assert_int_equal(report.status, EXIT_VERIFY_INTACT);
	}
	assert_int_equal(report.n_snapshots + sum, 80);
	/* The youngest ones still come back. */
	assert_int_equal(roll_back(&w, id, NULL, false), 0);
	expect_text(&w, "f", "round 9, 6");
	world_close(&w);
}

static void a_live_session_is_not_pruned(void **state)
{
	int64_t now = INT64_C(1700000000) * 1000000000;
	struct clock clock = { .wall_ns = wall, .monotonic_ms = monotonic, .ctx = &now };
	struct il_chronicle_options options = { .clock = &clock };
	static const char *const live[] = { "s1" };
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];
	uint64_t n = 7;

	(void)state;
	world_open_with(&w, &options);
	begin_at(&w, "f", false, id);
	put(&w, "f", "x");
	seal(&w, id);
	now += 100 * DAY_NS;
	assert_int_equal(il_chronicle_prune(w.c, live, 1, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(il_chronicle_prune(w.c, NULL, 0, &n), 0);
	assert_int_equal(n, 1);
	world_close(&w);
}

static void a_forgotten_secret_is_in_no_file_of_the_store(void **state)
{
	static const char secret[] = "hunter2-the-secret-of-the-test";
	struct il_chronicle_report report;
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE], command[400];
	uint64_t n = 0;

	(void)state;
	world_open(&w);
	put(&w, "secret", secret);
	put(&w, "plain", "plain");
	begin_at(&w, "", true, id);
	put(&w, "secret", "changed");
	put(&w, "plain", "changed too");
	seal(&w, id);
	(void)snprintf(command, sizeof(command), "grep -rqs '%s' '%s'", secret, w.store);
	assert_int_equal(system(command), 0);
	assert_int_equal(il_chronicle_forget(w.c, "secret", &n), 0);
	assert_int_equal(n, 2);
	assert_int_not_equal(system(command), 0);
	world_reopen(&w);
	assert_int_equal(il_chronicle_verify(w.c, &report), 0);
	assert_int_equal(report.status, EXIT_VERIFY_INTACT);
	assert_int_equal(
		il_chronicle_cat(w.c, id, "secret", IL_SIDE_BEFORE, -1), IL_CHRONICLE_E_ERASED);
	assert_int_equal(roll_back(&w, id, "plain", false), 0);
	expect_text(&w, "plain", "plain");
	world_close(&w);
}

/* The disk that is full is played by a limit on the size of files. */
static void a_snapshot_that_cannot_be_written_leaves_no_trace(void **state)
{
	struct il_chronicle_report report;
	struct world w = { 0 };
	struct il_chronicle_place place = { .path = "", .recursive = true };
	struct rlimit before, limit;
	char id[IL_SNAPSHOT_ID_SIZE], text[30001] = { 0 };
	struct diag diag = { 0 };

	(void)state;
	world_open(&w);
	put(&w, "f", "one");
	begin_at(&w, "", true, id);
	put(&w, "f", "two");
	seal(&w, id);
	memset(text, 'x', sizeof(text) - 1);
	put(&w, "big", text);
	place.dir_fd = w.tree_fd;
	place.root = w.tree;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){ .rlim_cur = 20000, .rlim_max = before.rlim_max };
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(try_begin(&w, &place, &diag), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(strlen(diag.text) > 0);
	assert_int_equal(il_chronicle_verify(w.c, &report), 0);
	assert_int_equal(report.status, EXIT_VERIFY_INTACT);
	assert_int_equal(report.n_snapshots, 1);
	assert_int_equal(try_begin(&w, &place, &diag), 0);
	assert_int_equal(roll_back(&w, id, NULL, false), 0);
	expect_text(&w, "f", "one");
	world_close(&w);
}

static void an_interrupted_snapshot_is_found_and_taken_back(void **state)
{
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];

	(void)state;
	world_open(&w);
	put(&w, "f", "one");
	begin_at(&w, "f", false, id);
	put(&w, "f", "half");
	world_reopen(&w);
	assert_int_equal(roll_back(&w, id, NULL, false), 0);
	expect_text(&w, "f", "one");
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_created_file_and_its_directories_go_again),
		cmocka_unit_test(what_the_user_changed_since_is_a_conflict),
		cmocka_unit_test(a_directory_that_got_company_is_not_removed),
		cmocka_unit_test(a_rollback_does_not_follow_a_planted_link),
		cmocka_unit_test(a_place_outside_its_root_is_refused),
		cmocka_unit_test(a_root_that_is_another_directory_is_refused),
		cmocka_unit_test(a_named_file_over_the_limit_is_refused_not_left_out),
		cmocka_unit_test(what_a_tree_leaves_out_is_named),
		cmocka_unit_test(a_tree_that_is_deleted_is_kept_though_excluded),
		cmocka_unit_test(a_second_writer_is_refused_and_a_reader_is_not),
		cmocka_unit_test(equal_contents_are_stored_once),
		cmocka_unit_test(large_files_and_links_between_them_come_back),
		cmocka_unit_test(at_the_quota_nothing_new_is_kept_nor_old_dropped),
		cmocka_unit_test(verify_passes_after_ten_prunes),
		cmocka_unit_test(a_live_session_is_not_pruned),
		cmocka_unit_test(a_forgotten_secret_is_in_no_file_of_the_store),
		cmocka_unit_test(a_snapshot_that_cannot_be_written_leaves_no_trace),
		cmocka_unit_test(an_interrupted_snapshot_is_found_and_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
