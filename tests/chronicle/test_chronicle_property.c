/*
 * Whatever happens to a tree, it can be brought back: random trees, random sequences of
 * changes, rollbacks whole and of one path. The number of sequences is the first argument.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/num.h"
#include "tests/chronicle/world.h"
#include "tests/support/cmocka.h"

#define STEPS 5

static uint32_t n_sequences = 40;

static void expect_same(struct world *w, const char *wanted, const char *when, uint32_t seed)
{
	char *found = describe(w);

	if (strcmp(found, wanted) != 0)
		print_error(
			"sequence %u, %s\n--- wanted\n%s--- found\n%s", seed, when, wanted, found);
	assert_string_equal(found, wanted);
	free(found);
}

struct first_change {
	char path[1024];
	uint32_t skip;
};

static int on_change(void *ctx, const struct il_change *change)
{
	struct first_change *f = ctx;

	(void)snprintf(f->path, sizeof(f->path), "%s", change->path);
	return f->skip-- == 0;
}

/* The line of one path in a description, and those of all beneath it. */
static char *lines_of(const char *description, const char *path)
{
	char *out = calloc(1, strlen(description) + 1), *copy = strdup(description), *rest = copy;
	size_t n = strlen(path);

	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		if (strncmp(line, "./", 2) == 0 && strncmp(line + 2, path, n) == 0 &&
			(line[2 + n] == ' ' || line[2 + n] == '/')) {
			/* The number of a link group depends on what stands before. */
			char *group = strstr(line, " group ");

			if (group)
				memset(group + 7, '#', strspn(group + 7, "0123456789"));
			strcat(strcat(out, line), "\n");
		}
	}
	free(copy);
	return out;
}

/* A link's other names may be outside the path, so the mark of a group may come and go. */
static void drop_groups(char *lines)
{
	for (char *at; (at = strstr(lines, " group "));)
		memmove(at, at + 7 + strspn(at + 7, "0123456789#"),
			strlen(at + 7 + strspn(at + 7, "0123456789#")) + 1);
}

/* One path alone comes back; then the rest. */
static void one_path(struct world *w, const char *id, const char *before, uint32_t seed)
{
	struct first_change f = { .skip = roll(w, 4) };
	struct il_rollback what = { .id = id };
	const char *path = f.path;
	char own[IL_SNAPSHOT_ID_SIZE];
	struct diag diag = { 0 };
	char *found, *x, *y;
	int r = il_chronicle_changes(w->c, id, on_change, &f);

	assert_true(r == 0 || r == 1);
	/* A change beneath a directory that must come back too is restored with it. */
	if (f.path[0] == '\0' || strchr(f.path, '/'))
		return;
	what.paths = &path;
	what.n_paths = 1;
	r = il_chronicle_rollback(w->c, &what, NULL, NULL, own, &diag);
	if (r != 0)
		print_error("sequence %u, path \"%s\": %s\n", seed, path, diag.text);
	assert_int_equal(r, 0);
	found = describe(w);
	x = lines_of(before, path);
	y = lines_of(found, path);
	drop_groups(x);
	drop_groups(y);
	assert_string_equal(y, x);
	free(x);
	free(y);
	free(found);
}

static void sequence(struct world *w, uint32_t seed)
{
	char ids[STEPS][IL_SNAPSHOT_ID_SIZE];
	char *states[STEPS + 1];
	uint32_t n = 1 + roll(w, STEPS);
	int r;

	plant(w, 30);
	for (uint32_t i = 0; i < n; i++) {
		states[i] = describe(w);
		begin_at(w, "", true, ids[i]);
		plant(w, 1 + roll(w, 10));
		seal(w, ids[i]);
		if (roll(w, 8) == 0)
			world_reopen(w);
	}
	states[n] = describe(w);
	if (roll(w, 2) == 0)
		one_path(w, ids[n - 1], states[n - 1], seed);
	for (uint32_t i = n; i > 0; i--) {
		r = roll_back(w, ids[i - 1], NULL, false);
		if (r != 0)
			print_error("sequence %u, undo of step %u\n--- before\n%s--- after\n%s--- "
				    "now\n%s",
				seed, i, states[i - 1], states[i], describe(w));
		assert_int_equal(r, 0);
		expect_same(w, states[i - 1], "undo", seed);
	}
	/* Forward again, by the side after. */
	for (uint32_t i = 0; i < n; i++) {
		struct il_rollback what = { .id = ids[i], .side = IL_SIDE_AFTER };
		char own[IL_SNAPSHOT_ID_SIZE];

		assert_int_equal(il_chronicle_rollback(w->c, &what, NULL, NULL, own, NULL), 0);
		expect_same(w, states[i + 1], "redo", seed);
	}
	for (uint32_t i = 0; i <= n; i++)
		free(states[i]);
}

static void every_state_comes_back(void **state)
{
	struct il_chronicle_report report;

	(void)state;
	for (uint32_t seed = 1; seed <= n_sequences; seed++) {
		struct world w = { .talkative = true,
			.random = seed * UINT64_C(0x9e3779b97f4a7c15) };

		world_open(&w);
		sequence(&w, seed);
		assert_int_equal(il_chronicle_verify(w.c, &report), 0);
		if (report.status != EXIT_VERIFY_INTACT)
			print_error("sequence %u: %s\n", seed, report.text);
		assert_int_equal(report.status, EXIT_VERIFY_INTACT);
		world_close(&w);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_comes_back),
	};

	if (argc > 1 && num_parse_u32(argv[1], 1, 1000000, &n_sequences) != 0)
		return EXIT_STATUS_USAGE;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
