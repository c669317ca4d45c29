/*
 * Crashes: a writer killed at a random moment under 64 appenders, and a cut of the power in every
 * place of a group. The log opens, verifies with the kept key, and holds every acknowledged entry.
 * INTERLOCK_AUDIT_KILLS is the number of kills.
 */
#include "tests/audit/support.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define N_APPENDERS  64
#define SEGMENT_SIZE (32 * 1024)

static unsigned n_kills_wanted(void)
{
	const char *text = getenv("INTERLOCK_AUDIT_KILLS");

	return text ? (unsigned)atoi(text) : 20;
}

static void *append_for_ever(void *arg)
{
	struct il_audit *log = arg;
	struct il_audit_entry entry = { .event = "ActionProposed", .session = "crash" };
	struct il_audit_receipt receipt;

	while (il_audit_append_wait(log, &entry, &receipt) == 0) {
		/* One write below PIPE_BUF: whole or not at all. */
		if (write(STDOUT_FILENO, &receipt, sizeof(receipt)) != (ssize_t)sizeof(receipt))
			break;
	}
	return NULL;
}

static void write_until_killed(const char *dir, int out)
{
	struct il_audit_options o = {
		.dir = dir, .segment_bytes = SEGMENT_SIZE, .checkpoint_every = 50
	};
	pthread_t threads[N_APPENDERS];
	struct il_audit *log;
	struct diag diag;

	if (dup2(out, STDOUT_FILENO) < 0 || il_audit_open(&o, &log, &diag) != 0)
		_exit(1);
	for (int i = 0; i < N_APPENDERS; i++) {
		if (pthread_create(&threads[i], NULL, append_for_ever, log) != 0)
			_exit(1);
	}
	for (;;)
		pause();
}

struct acknowledged {
	struct il_audit_receipt *receipts;
	size_t n, capacity;
	size_t n_found;
};

static void read_receipts(int in, struct acknowledged *a)
{
	struct il_audit_receipt receipt;

	while (read(in, &receipt, sizeof(receipt)) == (ssize_t)sizeof(receipt)) {
		if (a->n == a->capacity) {
			a->capacity = a->capacity ? 2 * a->capacity : 1024;
			a->receipts = realloc(a->receipts, a->capacity * sizeof(*a->receipts));
			assert_non_null(a->receipts);
		}
		a->receipts[a->n++] = receipt;
	}
}

static int compare_receipts(const void *x, const void *y)
{
	const struct il_audit_receipt *a = x, *b = y;

	return (a->seq > b->seq) - (a->seq < b->seq);
}

static int on_entry(void *ctx, const char *line, size_t n, const struct value *entry)
{
	struct acknowledged *a = ctx;
	struct il_audit_receipt wanted = { .seq = (uint64_t)value_get(entry, "seq")->integer };
	const struct il_audit_receipt *found =
		bsearch(&wanted, a->receipts, a->n, sizeof(wanted), compare_receipts);
	char hex[SHA256_HEX_SIZE];

	(void)line;
	(void)n;
	if (!found)
		return 0;
	hex_encode(found->hash, SHA256_SIZE, hex);
	assert_string_equal(value_get_text(entry, "hash"), hex);
	assert_string_equal(value_get_text(entry, "id"), found->id);
	a->n_found++;
	return 0;
}

static void assert_holds(const char *dir, struct acknowledged *a)
{
	struct il_audit_query q = { .session = "crash" };

	if (a->n == 0)
		return;
	qsort(a->receipts, a->n, sizeof(*a->receipts), compare_receipts);
	q.from_seq = a->receipts[0].seq;
	a->n_found = 0;
	assert_int_equal(il_audit_read(dir, &q, on_entry, a), 0);
	assert_int_equal(a->n_found, a->n);
}

static void kill_at_random(const char *dir, unsigned seed, struct acknowledged *a)
{
	struct timespec delay = { .tv_nsec = 1000000L + (long)(seed * 2654435761u % 30000000u) };
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ends[0]);
		write_until_killed(dir, ends[1]);
	}
	(void)close(ends[1]);
	/* The pipe must not fill up: read on while waiting. */
	assert_true(fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) > 0);
	(void)nanosleep(&delay, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	read_receipts(ends[0], a);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	(void)close(ends[0]);
}

static void a_killed_writer_loses_nothing_acknowledged(void **state)
{
	struct il_audit_options o = { .dir = *state, .segment_bytes = SEGMENT_SIZE };
	struct il_audit *log = open_with(&o);
	auto_free char *key = NULL;
	size_t n_acknowledged = 0;

	assert_int_equal(il_audit_take_verification_key(log, &key), 0);
	il_audit_close(log);
	for (unsigned i = 0; i < n_kills_wanted(); i++) {
		struct acknowledged a = { 0 };

		kill_at_random(*state, i + (unsigned)getpid(), &a);
		assert_intact(*state, key); /* as it was left */
		il_audit_close(open_with(&o));
		assert_intact(*state, key); /* after recovery */
		assert_holds(*state, &a);
		n_acknowledged += a.n;
		free(a.receipts);
		if (i % 50 == 49) /* a new log now and then, so that a round stays short */
			assert_int_equal(run_shell("rm -rf '%s'/*", (char *)*state), 0);
		if (i % 50 == 49) {
			log = open_with(&o);
			free(take_ptr(key));
			assert_int_equal(il_audit_take_verification_key(log, &key), 0);
			il_audit_close(log);
		}
	}
	assert_true(n_acknowledged > 0);
	print_message("%u kills, %zu acknowledged entries\n", n_kills_wanted(), n_acknowledged);
}

static void on_done(void *ctx, int r, const struct il_audit_receipt *receipt)
{
	unsigned *n_left = ctx;

	(void)receipt;
	assert_int_equal(r, 0);
	(void)__atomic_sub_fetch(n_left, 1, __ATOMIC_SEQ_CST);
}

static void append_group(struct il_audit *log, unsigned n)
{
	struct il_audit_entry entry = { .event = "ActionProposed", .session = "power" };
	unsigned n_left = n;

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(il_audit_append(log, &entry, on_done, &n_left), 0);
	while (__atomic_load_n(&n_left, __ATOMIC_SEQ_CST) > 0)
		(void)usleep(200);
}

static off_t size_of(const char *dir)
{
	char path[256];
	struct stat st;

	put_path(path, sizeof(path), "%s/00000001.jsonl", dir);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* Where the last group begins: what is before it was on disk before its first byte was written. */
static off_t last_group(const char *dir, off_t from)
{
	auto_free char *text = NULL;
	char path[256], epoch[32] = "";
	off_t start = from;
	size_t n;

	put_path(path, sizeof(path), "%s/00000001.jsonl", dir);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 24, &text, &n), 0);
	for (char *line = text + from; *line; line = strchr(line, '\n') + 1) {
		char *at = strstr(line, "\"epoch\":");
		size_t size = strcspn(at, ",");

		if (strlen(epoch) != size || strncmp(at, epoch, size) != 0)
			start = line - text;
		put_path(epoch, sizeof(epoch), "%.*s", (int)size, at);
	}
	return start;
}

struct power {
	char before[128], after[128], trial[128];
	off_t from, to;
	char *key;
};

/* The files as they were before a group, with as much of the group as reached the disk. */
static void power_cut(struct power *p, off_t keep, off_t hole, size_t n_hole)
{
	static const char zeros[512] = { 0 };
	struct il_audit_options o = { .dir = p->trial };
	char path[256];
	int fd;

	assert_int_equal(run_shell("rm -rf '%s'", p->trial), 0);
	assert_int_equal(run_shell("cp -r '%s' '%s'", p->before, p->trial), 0);
	assert_int_equal(
		run_shell("cp '%s/00000001.jsonl' '%s/00000001.jsonl'", p->after, p->trial), 0);
	put_path(path, sizeof(path), "%s/00000001.jsonl", p->trial);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, keep), 0);
	if (n_hole > 0)
		assert_int_equal(pwrite(fd, zeros, n_hole, hole), (ssize_t)n_hole);
	(void)close(fd);
	assert_intact(p->trial, p->key);
	il_audit_close(open_with(&o));
	assert_intact(p->trial, p->key);
	assert_true(size_of(p->trial) >= p->from);
}

static void a_cut_of_the_power_loses_only_what_nobody_was_told(void **state)
{
	struct power p = { 0 };
	struct il_audit_options o = { .dir = p.trial };
	struct il_audit *log;

	put_path(p.before, sizeof(p.before), "%s/before", (char *)*state);
	put_path(p.after, sizeof(p.after), "%s/after", (char *)*state);
	put_path(p.trial, sizeof(p.trial), "%s/live", (char *)*state);
	log = open_with(&o);
	assert_int_equal(il_audit_take_verification_key(log, &p.key), 0);
	append_group(log, 5);
	assert_int_equal(run_shell("cp -r '%s' '%s'", p.trial, p.before), 0);
	append_group(log, 12);
	assert_int_equal(run_shell("cp -r '%s' '%s'", p.trial, p.after), 0);
	il_audit_close(log);
	p.from = size_of(p.before);
	p.to = size_of(p.after);
	assert_true(p.to > p.from);
	put_path(p.trial, sizeof(p.trial), "%s/trial", (char *)*state);
	for (off_t keep = p.from; keep <= p.to; keep += 37)
		power_cut(&p, keep, 0, 0);
	for (off_t hole = last_group(p.after, p.from); hole + 512 <= p.to; hole += 211)
		power_cut(&p, p.to, hole, 512);
	free(p.key);
}

/* The same hole with a later group behind it: that was acknowledged, so it is damage. */
static void what_was_acknowledged_is_never_cut(void **state)
{
	static const char zeros[16] = { 0 };
	struct il_audit_entry entry = { .event = "ActionProposed", .session = "power" };
	struct il_audit_options o = { .checkpoint_every = 1000 };
	char live[256], copy[256], path[280];
	struct il_audit *log, *again = NULL;
	struct diag diag = { 0 };
	off_t hole;
	int fd;

	put_path(live, sizeof(live), "%s/live", (char *)*state);
	put_path(copy, sizeof(copy), "%s/copy", (char *)*state);
	put_path(path, sizeof(path), "%s/00000001.jsonl", copy);
	o.dir = live;
	log = open_with(&o);
	hole = size_of(live) + 20;
	for (int i = 0; i < 3; i++)
		assert_int_equal(il_audit_append_wait(log, &entry, NULL), 0);
	assert_int_equal(run_shell("cp -r '%s' '%s'", live, copy), 0);
	il_audit_close(log);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, zeros, sizeof(zeros), hole), (ssize_t)sizeof(zeros));
	(void)close(fd);
	assert_int_equal(verify_with(copy, NULL, NULL).status, EXIT_VERIFY_BROKEN);
	o.dir = copy;
	assert_int_equal(il_audit_open(&o, &again, &diag), IL_AUDIT_E_BROKEN);
	assert_null(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_killed_writer_loses_nothing_acknowledged, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(
			a_cut_of_the_power_loses_only_what_nobody_was_told, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(
			what_was_acknowledged_is_never_cut, make_dir, drop_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
