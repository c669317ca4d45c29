/*
 * What a snapshot costs, each beside its floor measured in the same run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "chronicle/chronicle.h"

#define ROUNDS 9

struct bench {
	char dir[128], tree[160], store[160];
	int tree_fd;
	struct il_chronicle *c;
};

static double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double median(double *times, size_t n)
{
	qsort(times, n, sizeof(*times), by_size);
	return times[n / 2];
}

static void must(int r, const char *what)
{
	if (r == 0)
		return;
	(void)fprintf(stderr, "%s: %d %s\n", what, r, r < 0 ? strerror(-r) : "");
	exit(1);
}

static void run(const char *format, const char *a, const char *b)
{
	char command[800];

	/* NOLINTNEXTLINE: the format is one of ours below */
	(void)snprintf(command, sizeof(command), "%s '%s' '%s'", format, a, b);
	must(system(command) == 0 ? 0 : -EIO, command);
}

static void open_world(struct bench *b)
{
	struct il_chronicle_options options = { .store_bytes_max = UINT64_C(8) << 30 };
	const char *base = getenv("CHRONICLE_BENCH_DIR");

	(void)snprintf(b->dir, sizeof(b->dir), "%s/chronicle-bench-XXXXXX", base ? base : "/tmp");
	must(mkdtemp(b->dir) ? 0 : -errno, "mkdtemp");
	(void)snprintf(b->tree, sizeof(b->tree), "%s/tree", b->dir);
	(void)snprintf(b->store, sizeof(b->store), "%s/store", b->dir);
	must(mkdir(b->tree, 0755), "mkdir");
	b->tree_fd = open(b->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	options.dir = b->store;
	must(il_chronicle_open(&options, &b->c, NULL), "open");
}

static double begin_ms(struct bench *b, const char *path, bool recursive, bool seal)
{
	struct il_snapshot_info info = { .action_type = "bench" };
	struct il_chronicle_place place = { .dir_fd = b->tree_fd,
		.root = b->tree,
		.path = path,
		.recursive = recursive,
		.may_create = true };
	char id[IL_SNAPSHOT_ID_SIZE];
	double start = now_ms(), took;

	must(il_chronicle_begin(b->c, &info, &place, 1, id, NULL, NULL), "begin");
	took = now_ms() - start;
	if (seal)
		must(il_chronicle_seal(b->c, id, IL_OUTCOME_DONE, NULL, NULL), "seal");
	return took;
}

static void fill(int dir_fd, const char *name, size_t n, unsigned seed)
{
	char *bytes = malloc(n + 1);
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245U + 12345U;
		bytes[i] = (char)(seed >> 16);
	}
	must(fd < 0 ? -errno : write_all(fd, bytes, n), name);
	(void)close(fd);
	free(bytes);
}

static void small_file(struct bench *b)
{
	double floor[ROUNDS * 5], ours[ROUNDS * 5];
	char bytes[1024] = { 0 }, name[32];

	for (unsigned i = 0; i < ROUNDS * 5; i++) {
		double start;
		int fd;

		(void)snprintf(name, sizeof(name), "%s", "small");
		fill(b->tree_fd, name, 1024, i + 1);
		start = now_ms();
		fd = openat(b->tree_fd, "floor", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		must(fd < 0 ? -errno : write_all(fd, bytes, sizeof(bytes)), "write");
		must(fsync(fd) < 0 ? -errno : 0, "fsync");
		(void)close(fd);
		floor[i] = now_ms() - start;
		ours[i] = begin_ms(b, name, false, false);
	}
	printf("snapshot of 1 KiB: %.3f ms; write + fsync %.3f ms (budget 1.5x)\n",
		median(ours, ROUNDS * 5), median(floor, ROUNDS * 5));
}

static void unchanged_tree(struct bench *b)
{
	double ours[ROUNDS];
	char name[64];

	must(mkdirat(b->tree_fd, "t", 0755), "mkdir");
	for (unsigned i = 0; i < 10000; i++) {
		if (i % 100 == 0) {
			(void)snprintf(name, sizeof(name), "t/d%u", i / 100);
			must(mkdirat(b->tree_fd, name, 0755), name);
		}
		(void)snprintf(name, sizeof(name), "t/d%u/f%u", i / 100, i);
		fill(b->tree_fd, name, 200, i);
	}
	(void)usleep(50000); /* past the grain of the clock: the files are not racily clean */
	printf("first snapshot of 10,000 files: %.1f ms\n", begin_ms(b, "t", true, true));
	for (unsigned i = 0; i < ROUNDS; i++)
		ours[i] = begin_ms(b, "t", true, false);
	printf("snapshot of 10,000 unchanged files: %.1f ms (budget 50 ms)\n",
		median(ours, ROUNDS));
}

static void changed_files(struct bench *b)
{
	char from[200], to[200], name[64];
	double ours, floor, start;
	uint64_t before;

	must(mkdirat(b->tree_fd, "c", 0755), "mkdir");
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "c/f%u", i);
		fill(b->tree_fd, name, 1024, 77 + i);
	}
	(void)snprintf(from, sizeof(from), "%s/c", b->tree);
	(void)snprintf(to, sizeof(to), "%s/copy", b->dir);
	start = now_ms();
	run("cp -a", from, to);
	floor = now_ms() - start;
	before = il_chronicle_bytes(b->c);
	ours = begin_ms(b, "c", true, false);
	printf("snapshot of 1,000 changed files of 1 KiB: %.1f ms; cp -a %.1f ms (budget 2x)\n",
		ours, floor);
	printf("stored for them: %.3fx their content (budget 1.05x)\n",
		(double)(il_chronicle_bytes(b->c) - before) / (1000.0 * 1024.0));
}

static void large_file(struct bench *b)
{
	char from[200], to[200];
	double ours[3], floor[3], start;

	(void)snprintf(from, sizeof(from), "%s/large", b->tree);
	(void)snprintf(to, sizeof(to), "%s/large-copy", b->dir);
	for (unsigned i = 0; i < 3; i++) {
		fill(b->tree_fd, "large", (size_t)100 << 20, 5 + i);
		run("cp --reflink=never", from, to);
		must(unlink(to), "unlink");
		start = now_ms();
		run("cp --reflink=never", from, to);
		run("sync -d", to, from);
		floor[i] = now_ms() - start;
		must(unlink(to), "unlink");
		ours[i] = begin_ms(b, "large", false, false);
	}
	printf("snapshot of 100 MB: %.0f ms; cp + sync %.0f ms (budget 1.2x)\n", median(ours, 3),
		median(floor, 3));
}

int main(void)
{
	struct bench b = { 0 };

	open_world(&b);
	small_file(&b);
	changed_files(&b);
	unchanged_tree(&b);
	large_file(&b);
	il_chronicle_close(b.c);
	(void)close(b.tree_fd);
	run("rm -rf", b.dir, b.store);
	return 0;
}
