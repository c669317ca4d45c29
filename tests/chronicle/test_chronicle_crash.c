/*
 * A writer is killed at a random moment, many times over: in snapshots, rollbacks and prunes. After
 * each death the store verifies, what was left open is sealed, and a rollback brings
 * back exactly what was; no half file is ever there. The number of deaths is the
 * first argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/num.h"
#include "tests/chronicle/world.h"
#include "tests/support/cmocka.h"

#define FILES      20
#define TEXT_SIZE  9000
#define DAY_NS     INT64_C(86400000000000)
#define KILL_AFTER 60000 /* microseconds at most */

static uint32_t n_deaths = 12;

/* A clock by which each snapshot is a day older than the next, so that there is always something to
 * prune. */
static int64_t wall(void *ctx)
{
	struct timespec now;

	(void)ctx;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000) * DAY_NS / 100;
}

static uint64_t monotonic(void *ctx)
{
	(void)ctx;
	return 0;
}

/* Whole contents are one letter, repeated: a half file shows. */
static void put_letter(struct world *w, int number, char letter)
{
	char text[TEXT_SIZE + 1], name[32];

	memset(text, letter, TEXT_SIZE);
	text[TEXT_SIZE] = '\0';
	(void)snprintf(name, sizeof(name), "d%d/f%d", number % 3, number);
	put(w, name, text);
}

static void check_whole(struct world *w)
{
	for (int i = 0; i < FILES; i++) {
		char name[32], *text;

		(void)snprintf(name, sizeof(name), "d%d/f%d", i % 3, i);
		text = get(w, name);
		if (!text)
			continue;
		assert_int_equal(strlen(text), TEXT_SIZE);
		assert_int_equal(strspn(text, (char[]){ text[0], '\0' }), TEXT_SIZE);
		free(text);
	}
}

/* The victim: only the library writes to the tree while this runs. */
static void work_until_killed(struct world *w, const char *id)
{
	uint64_t n;

	if (il_chronicle_open(&w->options, &w->c, NULL) != 0)
		_exit(1);
	for (;;) {
		struct il_rollback what = { .id = id, .force = true };
		char own[IL_SNAPSHOT_ID_SIZE];

		what.side = roll(w, 2) == 0 ? IL_SIDE_BEFORE : IL_SIDE_AFTER;
		if (il_chronicle_rollback(w->c, &what, NULL, NULL, own, NULL) != 0)
			_exit(2);
		begin_at(w, "", true, own);
		if (il_chronicle_seal(w->c, own, IL_OUTCOME_DONE, NULL, NULL) != 0)
			_exit(3);
		if (roll(w, 4) == 0 &&
			il_chronicle_prune(w->c, (const char *const[]){ "s1" }, 1, &n) != 0)
			_exit(4);
	}
}

static void kill_one(struct world *w, const char *id)
{
	struct timespec pause = { .tv_nsec = (long)(1000 + roll(w, KILL_AFTER)) * 1000 };
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		work_until_killed(w, id);
	(void)nanosleep(&pause, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("the victim ended by itself with %d", WEXITSTATUS(status));
}

static int seal_one(void *ctx, const char *id)
{
	return il_chronicle_seal(ctx, id, IL_OUTCOME_INTERRUPTED, NULL, NULL);
}

static void expect_intact(struct world *w)
{
	struct il_chronicle_report report;

	assert_int_equal(il_chronicle_verify(w->c, &report), 0);
	if (report.status != EXIT_VERIFY_INTACT)
		print_error("%s\n", report.text);
	assert_int_equal(report.status, EXIT_VERIFY_INTACT);
}

/* The third word: the time. */
static char *time_of(char *mode)
{
	char *owner = strchr(mode + 1, ' ');

	return strchr(owner + 1, ' ') + 1;
}

/* All but the times of directories: a rollback that dies half-way has no way to put them back. */
static char *describe_but_dir_times(struct world *w)
{
	char *text = describe(w), *line = text;

	for (; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char *mode = strchr(line, ' ');

		if (strncmp(mode, " 40", 3) == 0)
			memset(time_of(mode), '#', strcspn(time_of(mode), " \n"));
	}
	return text;
}

static void recover(struct world *w, const char *id, const char *before, const char *after)
{
	char *found;

	check_whole(w);
	assert_int_equal(il_chronicle_open(&w->options, &w->c, NULL), 0);
	expect_intact(w);
	assert_int_equal(il_chronicle_unsealed(w->c, seal_one, w->c), 0);
	assert_int_equal(roll_back(w, id, NULL, true), 0);
	found = describe_but_dir_times(w);
	assert_string_equal(found, before);
	free(found);
	if (roll(w, 2) == 0) {
		struct il_rollback what = { .id = id, .side = IL_SIDE_AFTER };
		char own[IL_SNAPSHOT_ID_SIZE];

		assert_int_equal(il_chronicle_rollback(w->c, &what, NULL, NULL, own, NULL), 0);
		found = describe_but_dir_times(w);
		assert_string_equal(found, after);
		free(found);
	}
	expect_intact(w);
	il_chronicle_close(w->c);
	w->c = NULL;
}

static void no_death_leaves_a_broken_store_or_a_half_file(void **state)
{
	struct clock clock = { .wall_ns = wall, .monotonic_ms = monotonic };
	struct il_chronicle_options options = { .keep_snapshots = 10 };
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];
	char *before, *after;

	(void)state;
	options.clock = &clock;
	world_open_with(&w, &options);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			mkdirat(w.tree_fd, (const char *const[]){ "d0", "d1", "d2" }[i], 0755), 0);
	for (int i = 0; i < FILES; i++)
		put_letter(&w, i, (char)('a' + i));
	before = describe_but_dir_times(&w);
	begin_at(&w, "", true, id);
	for (int i = 0; i < FILES; i += 2)
		put_letter(&w, i, (char)('A' + i));
	assert_int_equal(unlinkat(w.tree_fd, "d1/f1", 0), 0);
	assert_int_equal(linkat(w.tree_fd, "d0/f3", w.tree_fd, "d2/linked", 0), 0);
	seal(&w, id);
	after = describe_but_dir_times(&w);
	il_chronicle_close(w.c);
	w.c = NULL;
	for (uint32_t i = 0; i < n_deaths; i++) {
		kill_one(&w, id);
		recover(&w, id, before, after);
	}
	free(before);
	free(after);
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_death_leaves_a_broken_store_or_a_half_file),
	};

	if (argc > 1 && num_parse_u32(argv[1], 1, 100000, &n_deaths) != 0)
		return EXIT_STATUS_USAGE;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
