/*
 * Random trees and random changes: all that an action or a command can do to one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/attr.h"
#include "tests/chronicle/world.h"
#include "tests/support/cmocka.h"

#define PATH_SIZE 1024

uint32_t roll(struct world *w, uint32_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 20) % n;
}

/* A path that may or may not exist, one to three deep, from a few names, so that changes meet. */
static void some_path(struct world *w, char ret_path[static PATH_SIZE])
{
	static const char *const names[] = { "a", "b", "c", "a-b", "d e", "\xff\x01", "z.txt" };
	size_t n = 0;
	uint32_t depth = 1 + roll(w, 3);

	for (uint32_t i = 0; i < depth; i++)
		n += (size_t)snprintf(ret_path + n, PATH_SIZE - n, "%s%s", i > 0 ? "/" : "",
			names[roll(w, N_ELEMENTS(names))]);
}

static void write_at_random(struct world *w, int fd)
{
	static const uint32_t sizes[] = { 0, 1, 13, 4096, 5000, 20000 };
	uint8_t bytes[20000];
	uint32_t n = sizes[roll(w, N_ELEMENTS(sizes))];

	for (uint32_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(roll(w, 4) + 'a');
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
}

static void change_file(struct world *w, const char *path, int flags)
{
	int fd = openat(w->tree_fd, path,
		O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0644);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		write_at_random(w, fd);
	(void)close(fd);
}

static void change_holes(struct world *w, const char *path)
{
	int fd = openat(
		w->tree_fd, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		ftruncate(fd, (off_t)roll(w, 300000)) == 0) {
		(void)lseek(fd, (off_t)roll(w, 60) * 4096, SEEK_SET);
		write_at_random(w, fd);
	}
	(void)close(fd);
}

static void remove_any(struct world *w, const char *path)
{
	char command[PATH_SIZE + 400];

	if (unlinkat(w->tree_fd, path, 0) == 0 || errno == ENOENT || errno == ENOTDIR ||
		errno == ELOOP)
		return;
	(void)snprintf(command, sizeof(command), "rm -rf -- '%s/%s'", w->tree, path);
	assert_int_equal(system(command), 0);
}

/* Many a change meets what is not there, or is something else: that is no change then. */
static void attempt(int r)
{
	assert_true(r == 0 || errno != ENOSYS);
}

static void change_attributes(struct world *w, const char *path)
{
	/* Version 2, user rwx, user 12 r--, group r-x, mask rwx, other ---. */
	static const uint8_t acl[] = { 2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 12,
		0, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 0,
		0, 255, 255, 255, 255 };
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = 1000000000 + roll(w, 1000), .tv_nsec = roll(w, 1000000000) } };
	char full[PATH_SIZE + 400];
	uint32_t value = roll(w, 5);

	(void)snprintf(full, sizeof(full), "%s/%s", w->tree, path);
	switch (roll(w, 6)) {
	case 0:
		attempt(fchmodat(w->tree_fd, path, 0700 | roll(w, 0100), 0));
		break;
	case 1:
		if (geteuid() == 0)
			attempt(fchownat(
				w->tree_fd, path, roll(w, 3), roll(w, 3), AT_SYMLINK_NOFOLLOW));
		break;
	case 2:
		(void)utimensat(w->tree_fd, path, times, AT_SYMLINK_NOFOLLOW);
		break;
	case 3:
		(void)lsetxattr(full, "user.note", &value, sizeof(value), 0);
		break;
	case 4:
		(void)lremovexattr(full, "user.note");
		break;
	default:
		(void)setxattr(full, "system.posix_acl_access", acl, sizeof(acl), 0);
		break;
	}
}

static void replace_file(struct world *w, const char *path)
{
	put(w, ".new", "replaced");
	change_file(w, ".new", O_TRUNC);
	if (renameat(w->tree_fd, ".new", w->tree_fd, path) < 0)
		(void)unlinkat(w->tree_fd, ".new", 0);
}

void mutate(struct world *w)
{
	char path[PATH_SIZE], other[PATH_SIZE];

	some_path(w, path);
	some_path(w, other);
	switch (roll(w, 16)) {
	case 0:
	case 1:
		change_file(w, path, O_TRUNC);
		break;
	case 2:
		change_file(w, path, 0);
		break;
	case 3:
		change_file(w, path, O_APPEND);
		break;
	case 4:
		remove_any(w, path);
		break;
	case 5:
	case 6:
	case 7:
		attempt(mkdirat(w->tree_fd, path, 0755));
		break;
	case 8:
		attempt(renameat(w->tree_fd, path, w->tree_fd, other));
		break;
	case 9:
		attempt(symlinkat(other, w->tree_fd, path));
		break;
	case 10:
		attempt(linkat(w->tree_fd, other, w->tree_fd, path, 0));
		break;
	case 11:
		change_holes(w, path);
		break;
	case 12:
		replace_file(w, path);
		break;
	case 13:
		remove_any(w, path);
		change_file(w, path, O_EXCL);
		break;
	case 14:
		attempt(mkfifoat(w->tree_fd, path, 0600));
		break;
	default:
		change_attributes(w, path);
		break;
	}
}

void plant(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		mutate(w);
}
