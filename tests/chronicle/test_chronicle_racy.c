/*
 * A clock so coarse that several changes bear one time: each must be seen all the same. The
 * linker leads the library's fstat() and fstatat() through here.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/chronicle/world.h"
#include "tests/support/cmocka.h"

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __real_fstatat(int dir_fd, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int dir_fd, const char *path, struct stat *st, int flags);

static void coarsen(struct stat *st)
{
	st->st_mtim.tv_nsec = 0;
	st->st_ctim.tv_nsec = 0;
}

int __wrap_fstat(int fd, struct stat *st)
{
	int r = __real_fstat(fd, st);

	if (r == 0)
		coarsen(st);
	return r;
}

int __wrap_fstatat(int dir_fd, const char *path, struct stat *st, int flags)
{
	int r = __real_fstatat(dir_fd, path, st, flags);

	if (r == 0)
		coarsen(st);
	return r;
}

static void expect_kept(struct world *w, const char *id, const char *wanted)
{
	char found[16] = { 0 };
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(il_chronicle_cat(w->c, id, "f", IL_SIDE_BEFORE, fds[1]), 0);
	assert_int_equal(read(fds[0], found, sizeof(found) - 1), (ssize_t)strlen(wanted));
	assert_string_equal(found, wanted);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void a_change_within_the_grain_of_the_clock_is_seen(void **state)
{
	static const char *const texts[] = { "aaaa", "bbbb", "cccc" };
	struct world w = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE];

	(void)state;
	world_open(&w);
	for (int i = 0; i < 30; i++) {
		int fd = openat(w.tree_fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		/* In place: neither the inode nor the size tells. */
		assert_int_equal(pwrite(fd, texts[i % 3], 4, 0), 4);
		(void)close(fd);
		begin_at(&w, "", true, id);
		expect_kept(&w, id, texts[i % 3]);
		seal(&w, id);
	}
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_within_the_grain_of_the_clock_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
