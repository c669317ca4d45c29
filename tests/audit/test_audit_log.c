/*
 * The log written, read, cut and damaged, over the public interface.
 */
#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/exit.h"
#include "base/files.h"

#define SEGMENT "00000001.jsonl"

static int make_dir(void **state)
{
	char *dir = strdup("/tmp/interlock-audit-XXXXXX");

	*state = dir;
	return dir && mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
	auto_free char *command = NULL;
	int r = asprintf(&command, "rm -rf '%s'", (char *)*state) < 0 ? -1 : system(command);

	free(*state);
	return r;
}

static struct il_audit *open_log(const char *dir)
{
	struct il_audit_options o = { .dir = dir };
	struct il_audit *log = NULL;
	struct diag diag = { 0 };
	int r = il_audit_open(&o, &log, &diag);

	if (r != 0)
		fail_msg("open: %d %s", r, diag.text);
	return log;
}

static void append(struct il_audit *log, const char *path)
{
	auto_arena struct arena a = { 0 };
	struct il_audit_entry entry = {
		.event = "ActionProposed", .session = "s1", .action_type = "read_file"
	};
	struct value *details;

	arena_init(&a, 4096);
	details = value_map(&a, 2);
	assert_int_equal(value_put(details, "path", value_text(&a, path, strlen(path))), 0);
	assert_int_equal(value_put(details, "a", value_text(&a, "\x1b\"\\\n\x7f", 5)), 0);
	entry.details = details;
	assert_int_equal(il_audit_append_wait(log, &entry, NULL), 0);
}

static void fill(const char *dir, unsigned n)
{
	struct il_audit *log = open_log(dir);
	char path[32];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "file-%u", i);
		append(log, path);
	}
	il_audit_close(log);
}

static struct il_audit_report verify(const char *dir, const char *key)
{
	struct il_audit_verify_options o = { .dir = dir, .key = key };
	struct il_audit_report report = { 0 };

	assert_int_equal(il_audit_verify(&o, &report), 0);
	return report;
}

static char *read_segment(const char *dir)
{
	auto_free char *path = NULL;
	char *text = NULL;
	size_t n;

	assert_true(asprintf(&path, "%s/" SEGMENT, dir) > 0);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 24, &text, &n), 0);
	return text;
}

static void write_segment(const char *dir, const char *text)
{
	auto_free char *path = NULL;

	assert_true(asprintf(&path, "%s/" SEGMENT, dir) > 0);
	assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0600), 0);
}

static char *line_at(char *text, unsigned n)
{
	for (; n > 0; n--)
		text = strchr(text, '\n') + 1;
	return text;
}

static void a_log_is_intact_across_openings(void **state)
{
	const char *dir = *state;
	auto_free char *key = NULL;
	struct il_audit *log;
	struct il_audit_report report;

	fill(dir, 20);
	log = open_log(dir);
	assert_int_equal(il_audit_take_verification_key(log, &key), 0);
	append(log, "more");
	il_audit_close(log);
	report = verify(dir, key);
	if (report.status != EXIT_VERIFY_INTACT)
		fail_msg("%s: %s", report.where, report.text);
	assert_true(report.anchored);
	assert_int_equal(report.unratcheted_window_ms, 0);
	assert_int_equal(report.n_entries, 20 + 1 + 2 * 3); /* opened, closed, checkpoint, twice */
	report = verify(dir, NULL);
	assert_int_equal(report.status, EXIT_VERIFY_INTACT);
	assert_string_equal(report.text, "consistent, not anchored");
}

static void the_verification_key_is_handed_out_once(void **state)
{
	struct il_audit *log = open_log(*state);
	auto_free char *key = NULL;
	char *again = NULL;

	assert_int_equal(il_audit_take_verification_key(log, &key), 0);
	assert_int_equal(il_audit_take_verification_key(log, &again), -ENOENT);
	il_audit_close(log);
}

static void a_second_writer_is_refused(void **state)
{
	struct il_audit_options o = { .dir = *state };
	struct il_audit *log = open_log(*state), *second = NULL;
	struct diag diag;

	assert_int_equal(il_audit_open(&o, &second, &diag), IL_AUDIT_E_LOCKED);
	il_audit_close(log);
}

static void a_torn_last_line_is_cut_and_recorded(void **state)
{
	const char *dir = *state;
	auto_free char *text = NULL;
	auto_free char *torn = NULL;
	struct il_audit_report report;

	fill(dir, 3);
	text = read_segment(dir);
	assert_true(asprintf(&torn, "%s{\"details\":{\"pa", text) > 0);
	write_segment(dir, torn);
	assert_int_equal(verify(dir, NULL).status, EXIT_VERIFY_INTACT);
	fill(dir, 1);
	report = verify(dir, NULL);
	assert_int_equal(report.status, EXIT_VERIFY_INTACT);
	free(text);
	text = read_segment(dir);
	assert_non_null(strstr(text, "LogRecovered"));
	assert_non_null(strstr(text, "\"bytes_cut\":15"));
}

/* Each kind of damage done to the segment alone. */
static void damage_is_found_and_named(void **state)
{
	const char *dir = *state;
	auto_free char *text = NULL;
	struct il_audit_report report;

	fill(dir, 10);
	text = read_segment(dir);

	{ /* edit */
		auto_free char *bad = strdup(text);

		memcpy(strstr(line_at(bad, 4), "file-"), "fi1e-", 5);
		write_segment(dir, bad);
		report = verify(dir, NULL);
		assert_int_equal(report.damage, IL_AUDIT_DAMAGE_EDIT);
		assert_int_equal(report.bad_seq, 5);
	}
	{ /* delete */
		auto_free char *bad = strdup(text);
		char *from = line_at(bad, 4), *to = line_at(bad, 6);

		memmove(from, to, strlen(to) + 1);
		write_segment(dir, bad);
		report = verify(dir, NULL);
		assert_int_equal(report.damage, IL_AUDIT_DAMAGE_DELETE);
		assert_int_equal(report.bad_seq, 5);
	}
	{ /* insert: the same entry twice */
		auto_free char *bad = NULL;
		char *at = line_at(text, 4), *end = line_at(text, 5);

		assert_true(asprintf(&bad, "%.*s%.*s%s", (int)(end - text), text, (int)(end - at),
				    at, end) > 0);
		write_segment(dir, bad);
		assert_int_equal(verify(dir, NULL).damage, IL_AUDIT_DAMAGE_INSERT);
	}
	{ /* reorder */
		auto_free char *bad = NULL;
		char *a = line_at(text, 4), *b = line_at(text, 5), *c = line_at(text, 6);

		assert_true(asprintf(&bad, "%.*s%.*s%.*s%s", (int)(a - text), text, (int)(c - b), b,
				    (int)(b - a), a, c) > 0);
		write_segment(dir, bad);
		assert_int_equal(verify(dir, NULL).damage, IL_AUDIT_DAMAGE_REORDER);
	}
	{ /* tail truncation */
		auto_free char *bad = strdup(text);

		*line_at(bad, 8) = '\0';
		write_segment(dir, bad);
		assert_int_equal(verify(dir, NULL).damage, IL_AUDIT_DAMAGE_TRUNCATION);
	}
	write_segment(dir, text);
	assert_int_equal(verify(dir, NULL).status, EXIT_VERIFY_INTACT);
}

static void a_whole_new_log_is_found_with_the_kept_key(void **state)
{
	const char *dir = *state;
	auto_free char *key = NULL;
	auto_free char *command = NULL;
	struct il_audit *log = open_log(dir);
	struct il_audit_report report;

	assert_int_equal(il_audit_take_verification_key(log, &key), 0);
	append(log, "what really happened");
	il_audit_close(log);
	assert_true(asprintf(&command, "rm -rf '%s'/*", dir) > 0);
	assert_int_equal(system(command), 0);
	fill(dir, 3);
	assert_int_equal(
		verify(dir, NULL).status, EXIT_VERIFY_INTACT); /* that is why the key is kept */
	report = verify(dir, key);
	assert_int_equal(report.status, EXIT_VERIFY_BROKEN);
	assert_int_equal(report.damage, IL_AUDIT_DAMAGE_REPLACEMENT);
}

static int count_entry(void *ctx, const char *line, size_t n, const struct value *entry)
{
	unsigned *count = ctx;

	(void)line;
	(void)n;
	assert_string_equal(value_get_text(entry, "session"), "s1");
	(*count)++;
	return 0;
}

static void queries_find_what_they_name(void **state)
{
	struct il_audit_query q = { .session = "s1", .event = "ActionProposed" };
	unsigned n = 0;

	fill(*state, 7);
	assert_int_equal(il_audit_read(*state, &q, count_entry, &n), 0);
	assert_int_equal(n, 7);
	q.limit = 3;
	q.newest_first = true;
	n = 0;
	assert_int_equal(il_audit_read(*state, &q, count_entry, &n), 0);
	assert_int_equal(n, 3);
}

static void on_counted_down(void *ctx, int r, const struct il_audit_receipt *receipt)
{
	unsigned *n_left = ctx;

	(void)receipt;
	assert_int_equal(r, 0);
	(void)__atomic_sub_fetch(n_left, 1, __ATOMIC_SEQ_CST);
}

/* A log that is being written is never taken for a damaged one. */
static void a_living_log_verifies_and_reads(void **state)
{
	struct il_audit_options o = {
		.dir = *state, .segment_bytes = 256 * 1024, .checkpoint_every = 100
	};
	struct il_audit_entry entry = { .event = "ActionProposed", .session = "s1" };
	struct il_audit *log = NULL;
	auto_free char *key = NULL;
	unsigned n_left = 0, n_verified = 0;
	struct diag diag;

	assert_int_equal(il_audit_open(&o, &log, &diag), 0);
	assert_int_equal(il_audit_take_verification_key_of(*state, &key), 0);
	while (n_verified < 25) {
		struct il_audit_query q = { .session = "s1", .from_seq = 2, .limit = 5 };
		struct il_audit_report report;
		unsigned n = 0;

		for (int i = 0; i < 300; i++) {
			(void)__atomic_add_fetch(&n_left, 1, __ATOMIC_SEQ_CST);
			assert_int_equal(il_audit_append(log, &entry, on_counted_down, &n_left), 0);
		}
		report = verify(*state, key);
		if (report.status != EXIT_VERIFY_INTACT)
			fail_msg("%s: %s", report.where, report.text);
		n_verified++;
		assert_int_equal(il_audit_read(*state, &q, count_entry, &n), 0);
	}
	il_audit_close(log);
	assert_int_equal(n_left, 0);
	assert_int_equal(verify(*state, key).status, EXIT_VERIFY_INTACT);
}

static void an_unknown_event_is_refused(void **state)
{
	struct il_audit *log = open_log(*state);
	struct il_audit_entry entry = { .event = "Whatever" };

	assert_int_equal(il_audit_append_wait(log, &entry, NULL), -EINVAL);
	il_audit_close(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_log_is_intact_across_openings, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(
			the_verification_key_is_handed_out_once, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(a_second_writer_is_refused, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(
			a_torn_last_line_is_cut_and_recorded, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(damage_is_found_and_named, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(
			a_whole_new_log_is_found_with_the_kept_key, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(queries_find_what_they_name, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(
			a_living_log_verifies_and_reads, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(an_unknown_event_is_refused, make_dir, drop_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
