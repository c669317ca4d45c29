/*
 * The log's costs beside their floors, measured in the same run: durable entries a second with 64
 * in flight and with one, against bare write + fdatasync; verification against reading and hashing
 * the same bytes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/hash.h"

#define IN_FLIGHT  64
#define N_ENTRIES  200000u /* INTERLOCK_AUDIT_ENTRIES: another number */
#define N_SINGLE   500u
#define ENTRY_SIZE 400

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct flight {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	unsigned in_flight;
	int error;
};

static void on_done(void *ctx, int r, const struct il_audit_receipt *receipt)
{
	struct flight *f = ctx;

	(void)receipt;
	(void)pthread_mutex_lock(&f->mutex);
	f->in_flight--;
	f->error = f->error ? f->error : r;
	(void)pthread_cond_signal(&f->wake);
	(void)pthread_mutex_unlock(&f->mutex);
}

static unsigned entries_wanted(void)
{
	const char *text = getenv("INTERLOCK_AUDIT_ENTRIES");

	return text ? (unsigned)strtoul(text, NULL, 10) : N_ENTRIES;
}

static double append_many(struct il_audit *log, const struct il_audit_entry *entry)
{
	struct flight f = { .mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };
	double start = seconds();

	for (unsigned i = 0; i < entries_wanted(); i++) {
		(void)pthread_mutex_lock(&f.mutex);
		while (f.in_flight >= IN_FLIGHT)
			(void)pthread_cond_wait(&f.wake, &f.mutex);
		f.in_flight++;
		(void)pthread_mutex_unlock(&f.mutex);
		if (il_audit_append(log, entry, on_done, &f) != 0)
			exit(1);
	}
	(void)pthread_mutex_lock(&f.mutex);
	while (f.in_flight > 0)
		(void)pthread_cond_wait(&f.wake, &f.mutex);
	(void)pthread_mutex_unlock(&f.mutex);
	if (f.error != 0)
		exit(1);
	return seconds() - start;
}

static double sync_floor(const char *dir, unsigned n)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	char bytes[ENTRY_SIZE];
	double start;

	memset(bytes, 'x', sizeof(bytes));
	if (asprintf(&path, "%s/floor", dir) < 0)
		exit(1);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20) < 0)
		exit(1);
	start = seconds();
	for (unsigned i = 0; i < n; i++) {
		if (write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) || fdatasync(fd) < 0)
			exit(1);
	}
	return seconds() - start;
}

static double hash_floor(const char *dir, double *ret_bytes)
{
	auto_free char *path = NULL;
	uint8_t hash[SHA256_SIZE];
	double start = seconds();

	*ret_bytes = 0;
	for (unsigned i = 1;; i++) {
		auto_close int fd = -1;

		free(take_ptr(path));
		if (asprintf(&path, "%s/%08u.jsonl", dir, i) < 0)
			exit(1);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return seconds() - start;
		if (sha256_fd(fd, hash) != 0)
			exit(1);
		*ret_bytes += (double)lseek(fd, 0, SEEK_END);
	}
}

int main(void)
{
	char dir[] = "./bench-audit-XXXXXX";
	struct il_audit_options o = { .dir = dir };
	auto_free char *command = NULL;
	auto_arena struct arena a = { 0 };
	struct il_audit_entry entry = {
		.event = "ActionProposed", .session = "bench", .action_type = "read_file"
	};
	struct il_audit_verify_options vo = { .dir = dir };
	struct il_audit_report report;
	struct rusage usage;
	struct il_audit *log;
	struct value *details;
	struct diag diag;
	auto_free char *key = NULL;
	double many, single, floor_s, hashing, verifying, with_key, bytes, start;

	arena_init(&a, 4096);
	details = value_map(&a, 1);
	if (!mkdtemp(dir) || value_put(details, "path",
				     value_text(&a, "/home/user/project/src/main.c", 29)) != 0)
		return 1;
	entry.details = details;
	if (il_audit_open(&o, &log, &diag) != 0)
		return 1;
	if (il_audit_take_verification_key(log, &key) != 0)
		return 1;
	many = append_many(log, &entry);
	start = seconds();
	for (unsigned i = 0; i < N_SINGLE; i++) {
		if (il_audit_append_wait(log, &entry, NULL) != 0)
			return 1;
	}
	single = seconds() - start;
	il_audit_close(log);
	floor_s = sync_floor(dir, N_SINGLE);
	hashing = hash_floor(dir, &bytes);
	start = seconds();
	if (il_audit_verify(&vo, &report) != 0 || report.status != 0)
		return 1;
	verifying = seconds() - start;
	vo.key = key;
	start = seconds();
	if (il_audit_verify(&vo, &report) != 0 || report.status != 0)
		return 1;
	with_key = seconds() - start;
	start = seconds();
	if (il_audit_open(&o, &log, &diag) != 0)
		return 1;
	printf("open                      %8.2f ms\n", (seconds() - start) * 1e3);
	il_audit_close(log);
	printf("append, 64 in flight      %8.0f durable entries/s\n", entries_wanted() / many);
	printf("append, one at a time     %8.1f us, floor write+fdatasync %.1f us, ratio %.2f\n",
		single / N_SINGLE * 1e6, floor_s / N_SINGLE * 1e6, single / floor_s);
	printf("verify                    %8.0f MB/s, floor hashing alone on one core %.0f MB/s\n",
		bytes / verifying / 1e6, bytes / hashing / 1e6);
	printf("verify with the key       %8.0f MB/s\n", bytes / with_key / 1e6);
	(void)getrusage(RUSAGE_SELF, &usage); /* cannot fail with a valid place */
	printf("entries %u, %.0f MB; most memory of the whole run %.1f MiB\n", entries_wanted(),
		bytes / 1e6, (double)usage.ru_maxrss / 1024);
	return asprintf(&command, "rm -rf '%s'", dir) < 0 || system(command) != 0;
}
