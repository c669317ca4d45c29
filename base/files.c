#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int write_all(int fd, const void *data, size_t n)
{
	const uint8_t *at = data;

	while (n > 0) {
		ssize_t written = write(fd, at, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		at += written;
		n -= (size_t)written;
	}
	return 0;
}

int file_read(int dirfd, const char *path, size_t limit, char **ret_data, size_t *ret_size)
{
	auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	auto_free char *data = NULL;
	size_t size = 0, capacity = 4096;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > 0 && (size_t)st.st_size <= limit)
		capacity = (size_t)st.st_size + 1;
	for (;;) {
		char *grown;
		ssize_t n;

		if (!data || size + 1 >= capacity) {
			if (data)
				capacity *= 2;
			grown = realloc(data, capacity + 1);
			if (!grown)
				return -ENOMEM;
			data = grown;
		}
		n = read(fd, data + size, capacity - size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > limit)
			return -EFBIG;
	}
	data[size] = '\0';
	*ret_size = size;
	*ret_data = take_ptr(data);
	return 0;
}

static int sync_parent(int dirfd, const char *path)
{
	const char *slash = strrchr(path, '/');
	auto_free char *parent =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	auto_close int fd = -1;

	if (!parent)
		return -ENOMEM;
	fd = openat(dirfd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

int file_write_atomic(int dirfd, const char *path, const void *data, size_t n, mode_t mode)
{
	auto_free char *temporary = NULL;
	auto_close int fd = -1;
	int r;

	if (asprintf(&temporary, "%s.%ld.tmp", path, (long)getpid()) < 0)
		return -ENOMEM;
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = write_all(fd, data, n);
	if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		r = -errno;
	if (r == 0 && renameat(dirfd, temporary, dirfd, path) < 0)
		r = -errno;
	if (r != 0) {
		(void)unlinkat(
			dirfd, temporary, 0); /* ours; the first error is the one to report */
		return r;
	}
	return sync_parent(dirfd, path);
}

int make_dirs(const char *path, mode_t mode)
{
	auto_free char *copy = strdup(path);
	struct stat st;

	if (!copy)
		return -ENOMEM;
	for (char *at = copy + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	if (mkdir(copy, mode) < 0 && errno != EEXIST)
		return -errno;
	if (stat(copy, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}
