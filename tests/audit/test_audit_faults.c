/*
 * What can go wrong around a log, and how it says so: a full disk, a directory that may not be
 * written, a clock that runs backwards, large and badly spelt entries, a lost key, and pruning.
 */
#include "tests/audit/support.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)

static int append_details(struct il_audit *log, const char *text, size_t n)
{
	auto_arena struct arena a = { 0 };
	struct il_audit_entry entry = { .event = "ActionProposed", .session = "s" };
	struct value *details;

	arena_init(&a, 8 * MIB);
	details = value_map(&a, 1);
	assert_int_equal(value_put(details, "text", value_text(&a, text, n)), 0);
	entry.details = details;
	return il_audit_append_wait(log, &entry, NULL);
}

static void limit_file_size(rlim_t most)
{
	struct rlimit limit = { .rlim_cur = most, .rlim_max = RLIM_INFINITY };

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The first failure is final, nothing half written stays, and the next opening goes on. */
static void a_write_error_stops_the_log(void **state)
{
	struct il_audit_options o = { .dir = *state };
	struct il_audit *log = open_with(&o);
	auto_free char *text = calloc(1, 4096);
	struct il_audit_report before, after;
	unsigned n = 0;
	int r;

	memset(text, 'x', 4096);
	limit_file_size(64 * 1024);
	while ((r = append_details(log, text, 4096)) == 0)
		n++;
	assert_true(n > 0);
	assert_int_equal(r, -EFBIG);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(append_details(log, "small", 5), -EFBIG);
	il_audit_close(log);
	before = verify_with(*state, NULL, NULL);
	assert_int_equal(before.status, EXIT_VERIFY_INTACT);
	assert_int_equal(before.n_entries, n + 1);
	il_audit_close(open_with(&o));
	after = verify_with(*state, NULL, NULL);
	assert_int_equal(after.status, EXIT_VERIFY_INTACT);
	assert_true(after.n_entries > before.n_entries);
}

static bool write_text(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write_all(fd, text, strlen(text)) == 0;
}

/* A mount namespace of our own; as an ordinary user in a user namespace where we stay ourselves. */
static bool enter_namespace(void)
{
	char uids[64], gids[64];
	bool is_root = geteuid() == 0;

	put_path(uids, sizeof(uids), "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
	put_path(gids, sizeof(gids), "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
	if (unshare(is_root ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return false;
	return is_root || (write_text("/proc/self/setgroups", "deny") &&
				  write_text("/proc/self/uid_map", uids) &&
				  write_text("/proc/self/gid_map", gids));
}

static int fill_small_disk(const char *dir)
{
	struct il_audit_options o = { .dir = dir };
	struct il_audit_report report;
	auto_free char *text = calloc(1, 4096);
	struct il_audit_verify_options vo = { .dir = dir };
	struct il_audit *log;
	struct diag diag;
	int r = 0;

	memset(text, 'x', 4096);
	if (il_audit_open(&o, &log, &diag) != 0)
		return 1;
	while (r == 0)
		r = append_details(log, text, 4096);
	il_audit_close(log);
	if (r != -ENOSPC || il_audit_verify(&vo, &report) != 0)
		return 2;
	return report.status == EXIT_VERIFY_INTACT ? 0 : 3;
}

static void a_full_disk_stops_the_log(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (!enter_namespace() || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
			mount("tmpfs", *state, "tmpfs", 0, "size=256k") != 0)
			_exit(77);
		_exit(fill_small_disk(*state));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* no small disk to be had here */
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_directory_that_may_not_be_written_is_refused(void **state)
{
	int status;
	pid_t pid;

	assert_int_equal(chmod(*state, 0555), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct il_audit_options o = { .dir = *state };
		struct il_audit *log = NULL;
		struct diag diag;

		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(1);
		_exit(il_audit_open(&o, &log, &diag) == -EACCES && !log ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(*state, 0700), 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct test_clock {
	int64_t wall_ns;
	uint64_t ms;
};

static int64_t test_wall(void *ctx)
{
	return ((struct test_clock *)ctx)->wall_ns;
}

static uint64_t test_ms(void *ctx)
{
	return ((struct test_clock *)ctx)->ms++;
}

#define DAY (INT64_C(86400) * 1000000000)

static void a_clock_that_runs_backwards_harms_nothing(void **state)
{
	struct test_clock now = { .wall_ns = 20500 * DAY };
	struct clock clock = { .wall_ns = test_wall, .monotonic_ms = test_ms, .ctx = &now };
	struct il_audit_options o = { .dir = *state, .clock = &clock };
	struct il_audit *log = open_with(&o);

	for (int i = 0; i < 5; i++) {
		assert_int_equal(append_details(log, "x", 1), 0);
		now.wall_ns -= DAY;
	}
	il_audit_close(log);
	assert_intact(*state, NULL);
	assert_int_equal(run_shell("test ! -e '%s/00000002.jsonl'", (char *)*state), 0);
}

static void large_details_fit_and_larger_ones_are_refused(void **state)
{
	struct il_audit_options o = { .dir = *state };
	struct il_audit *log = open_with(&o);
	auto_free char *text = malloc(3 * MIB);

	memset(text, 'x', 3 * MIB);
	assert_int_equal(append_details(log, text, MIB), 0);
	assert_int_equal(append_details(log, text, 3 * MIB), -E2BIG);
	assert_int_equal(append_details(log, text, 5), 0); /* a refusal stops nothing */
	il_audit_close(log);
	assert_intact(*state, NULL);
}

static void what_is_not_utf8_is_refused(void **state)
{
	struct il_audit_options o = { .dir = *state };
	struct il_audit *log = open_with(&o);
	struct il_audit_entry entry = { .event = "ActionProposed", .session = "\xc0\xaf" };

	assert_int_equal(il_audit_append_wait(log, &entry, NULL), -EILSEQ);
	assert_int_equal(append_details(log, "\xed\xa0\x80", 3), -EILSEQ);
	assert_int_equal(append_details(log, "a\0b", 3), -EILSEQ);
	assert_int_equal(append_details(log, "\xe2\x82\xac", 3), 0);
	il_audit_close(log);
	assert_intact(*state, NULL);
}

static void a_log_without_its_key_is_not_written(void **state)
{
	struct il_audit_options o = { .dir = *state };
	struct il_audit *log = open_with(&o);
	struct diag diag;

	il_audit_close(log);
	assert_int_equal(run_shell("rm '%s/audit.key'", (char *)*state), 0);
	log = NULL;
	assert_int_equal(il_audit_open(&o, &log, &diag), IL_AUDIT_E_NO_KEY);
	assert_null(log);
}

/* Killed while the very first keys were being made. */
static void a_log_that_was_half_made_is_made_again(void **state)
{
	struct il_audit_options o = { .dir = *state };
	struct il_audit *log;
	auto_free char *key = NULL;

	assert_int_equal(
		run_shell("cd '%s' && echo ilv1:old >verification.key && echo 00 >public.key && "
			  ": >audit.key.new",
			(char *)*state),
		0);
	log = open_with(&o);
	assert_int_equal(append_details(log, "x", 1), 0);
	assert_int_equal(il_audit_take_verification_key(log, &key), 0);
	il_audit_close(log);
	assert_intact(*state, key);
}

static void a_damaged_tail_is_not_written_on(void **state)
{
	struct il_audit_options o = { .dir = *state };
	struct il_audit *log = open_with(&o);
	struct diag diag;

	assert_int_equal(append_details(log, "x", 1), 0);
	il_audit_close(log);
	assert_int_equal(run_shell("sed -i '$d' '%s/00000001.jsonl'", (char *)*state), 0);
	log = NULL;
	assert_int_equal(il_audit_open(&o, &log, &diag), IL_AUDIT_E_BROKEN);
	assert_non_null(strstr(diag.text, "entries are missing"));
}

/* Three days, of which the first two are pruned. */
static void what_remains_after_a_prune_verifies(void **state)
{
	struct test_clock now = { .wall_ns = 20500 * DAY };
	struct clock clock = { .wall_ns = test_wall, .monotonic_ms = test_ms, .ctx = &now };
	struct il_audit_options o = { .dir = *state, .clock = &clock };
	struct il_audit *log = open_with(&o);
	auto_free char *key = NULL;
	struct il_audit_report report;
	uint64_t through = 0;
	struct diag diag;

	assert_int_equal(il_audit_take_verification_key(log, &key), 0);
	for (int i = 0; i < 9; i++) {
		assert_int_equal(append_details(log, "x", 1), 0);
		now.wall_ns += DAY / 3;
	}
	il_audit_close(log);
	assert_int_equal(il_audit_prune(*state, 20502 * DAY, &through, &diag), 0);
	assert_true(through > 5);
	report = verify_with(*state, key, NULL);
	if (report.status != EXIT_VERIFY_INTACT)
		fail_msg("%s: %s", report.where, report.text);
	assert_int_equal(report.first_seq, through + 1);
	assert_non_null(strstr(report.text, "pruned"));
	assert_int_equal(run_shell("grep -q LogPruned '%s'/*.jsonl", (char *)*state), 0);
	il_audit_close(open_with(&o));
	assert_intact(*state, key);
	/* A stub of someone else's, or none, is a hole. */
	assert_int_equal(
		run_shell("cd '%s' && cp pruned.json kept && rm pruned.json", (char *)*state), 0);
	assert_int_equal(verify_with(*state, NULL, NULL).damage, IL_AUDIT_DAMAGE_DELETE);
	assert_int_equal(run_shell("cd '%s' && cp head.json pruned.json", (char *)*state), 0);
	assert_int_equal(verify_with(*state, NULL, NULL).status, EXIT_VERIFY_BROKEN);
}

static void a_range_can_be_verified(void **state)
{
	struct il_audit_options o = { .dir = *state, .segment_bytes = 4096 };
	struct il_audit *log = open_with(&o);
	struct il_audit_verify_options vo = { .dir = *state, .from_seq = 20, .to_seq = 30 };
	struct il_audit_report report;

	for (int i = 0; i < 50; i++)
		assert_int_equal(append_details(log, "x", 1), 0);
	il_audit_close(log);
	assert_int_equal(il_audit_verify(&vo, &report), 0);
	if (report.status != EXIT_VERIFY_INTACT)
		fail_msg("%s: %s", report.where, report.text);
	assert_true(report.first_seq > 1 && report.first_seq <= 20);
	assert_int_equal(report.last_seq, 30);
}

/* Made with the reference's own rules: unkeyed, milliseconds, event numbers, < as an escape. */
static void a_log_of_the_reference_verifies(void **state)
{
	static const char *const entries[] = {
		"{\"action_type\":\"write_file\",\"details_json\":\"a \\u003c b \\u0026 "
		"c\",\"event_type\":1,"
		"\"hash\":\"\",\"id\":\"1\",\"otr\":false,\"previous_hash\":\"%s\",\"timestamp\":"
		"1700000000000}",
		"{\"event_type\":5,\"hash\":\"\",\"id\":\"2\",\"otr\":true,\"previous_hash\":\"%"
		"s\","
		"\"timestamp\":1700000000001}",
	};
	auto_buf struct buf log = BUF_INIT(MIB);
	char hex[SHA256_HEX_SIZE] = "", path[256];
	struct il_audit_verify_options vo = { .dir = *state, .reference_format = true };
	struct il_audit_report report;

	for (size_t i = 0; i < N_ELEMENTS(entries); i++) {
		const char *gap = strstr(entries[i], "%s"), *own;
		auto_buf struct buf line = BUF_INIT(MIB);
		uint8_t hash[SHA256_SIZE];

		buf_bytes(&line, entries[i], (size_t)(gap - entries[i]));
		buf_text(&line, hex);
		buf_text(&line, gap + 2);
		sha256_bytes(line.data, line.size, hash);
		hex_encode(hash, sizeof(hash), hex);
		own = strstr(buf_get_text(&line), "\"hash\":\"") + 8;
		buf_bytes(&log, line.data, (size_t)((const uint8_t *)own - line.data));
		buf_text(&log, hex);
		buf_text(&log, own);
		buf_byte(&log, '\n');
	}
	put_path(path, sizeof(path), "%s/audit.jsonl", (char *)*state);
	assert_int_equal(file_write_atomic(AT_FDCWD, path, log.data, log.size, 0600), 0);
	assert_int_equal(il_audit_verify(&vo, &report), 0);
	if (report.status != EXIT_VERIFY_INTACT)
		fail_msg("%s: %s", report.where, report.text);
	assert_int_equal(report.n_entries, 2);
	assert_string_equal(report.text, "consistent, not anchored");
	*strstr((char *)log.data, "write_file") = 'W';
	assert_int_equal(file_write_atomic(AT_FDCWD, path, log.data, log.size, 0600), 0);
	assert_int_equal(il_audit_verify(&vo, &report), 0);
	assert_int_equal(report.damage, IL_AUDIT_DAMAGE_EDIT);
	assert_int_equal(report.bad_seq, 1);
}

/* The anchor's command gets each checkpoint; what it kept verifies the log. */
static void an_anchor_command_gets_the_checkpoints(void **state)
{
	char kept[256], script[512];
	const char *command[] = { "/bin/sh", "-c", script, NULL };
	struct il_audit_options o = { .anchor_command = command };
	char dir[256];
	struct il_audit *log;
	struct il_audit_report report;

	put_path(dir, sizeof(dir), "%s/log", (char *)*state);
	put_path(kept, sizeof(kept), "%s/kept", (char *)*state);
	put_path(script, sizeof(script), "cat >>'%s'", kept);
	o.dir = dir;
	log = open_with(&o);
	assert_int_equal(append_details(log, "x", 1), 0);
	il_audit_close(log);
	report = verify_with(dir, NULL, kept);
	assert_int_equal(report.status, EXIT_VERIFY_INTACT);
	assert_true(report.anchored);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_dir, drop_dir)
	const struct CMUnitTest tests[] = {
		T(a_write_error_stops_the_log),
		T(a_full_disk_stops_the_log),
		T(a_directory_that_may_not_be_written_is_refused),
		T(a_clock_that_runs_backwards_harms_nothing),
		T(large_details_fit_and_larger_ones_are_refused),
		T(what_is_not_utf8_is_refused),
		T(a_log_without_its_key_is_not_written),
		T(a_log_that_was_half_made_is_made_again),
		T(a_damaged_tail_is_not_written_on),
		T(what_remains_after_a_prune_verifies),
		T(a_range_can_be_verified),
		T(a_log_of_the_reference_verifies),
		T(an_anchor_command_gets_the_checkpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
