#include "chronicle/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FD_PATH_SIZE 64

static int open_dir(int dir_fd, const char *path, uint64_t resolve, int *ret_fd)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	do {
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd < 0)
		return -errno;
	*ret_fd = (int)fd;
	return 0;
}

/* "a/b/c" → "a/b" and "c"; the parent is the caller's to free. */
static char *split(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');

	*ret_name = slash ? slash + 1 : *path ? path : ".";
	return slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

static int parent(
	int root_fd, const char *path, uint64_t resolve, int *ret_fd, const char **ret_name)
{
	auto_free char *directory = split(path, ret_name);

	if (!directory)
		return -ENOMEM;
	return open_dir(root_fd, directory, resolve, ret_fd);
}

int beneath_parent(int root_fd, const char *path, int *ret_fd, const char **ret_name)
{
#ifdef MUTATION_CHRONICLE_BENEATH
	return parent(root_fd, path, 0, ret_fd, ret_name);
#else
	return parent(root_fd, path, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, ret_fd, ret_name);
#endif
}

int beneath_open_root(const char *root, int *ret_fd)
{
	auto_close int fd = -1;
	int r = open_dir(AT_FDCWD, root, RESOLVE_NO_SYMLINKS, &fd);

	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}

static int fd_real_path(int fd, char ret_path[static PATH_MAX])
{
	char link[FD_PATH_SIZE];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret_path, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	ret_path[n] = '\0';
	return 0;
}

/* path's directory is reached through a link: where does that lead, seen from the root? */
static int follow_links(int root_fd, const char *path, char **ret_path)
{
	char root[PATH_MAX], directory[PATH_MAX];
	auto_close int fd = -1;
	const char *name;
	size_t n;
	int r = parent(root_fd, path, RESOLVE_BENEATH, &fd, &name);

	if (r == 0)
		r = fd_real_path(root_fd, root);
	if (r == 0)
		r = fd_real_path(fd, directory);
	if (r != 0)
		return r;
	n = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(directory, root, n) != 0 || (directory[n] != '/' && directory[n] != '\0'))
		return -EXDEV;
	while (directory[n] == '/')
		n++;
	if (asprintf(ret_path, "%s%s%s", directory + n, directory[n] ? "/" : "", name) < 0)
		return -ENOMEM;
	return 0;
}

int beneath_normalize(int root_fd, const char *path, char **ret_path, bool *ret_topmost)
{
	auto_free char *at = strdup(path);
	bool topmost = false;

	if (!at)
		return -ENOMEM;
	for (;;) {
		auto_close int fd = -1;
		const char *name;
		char *slash;
		int r = beneath_parent(root_fd, at, &fd, &name);

		if (r == -ELOOP) {
			char *followed = NULL;

			r = follow_links(root_fd, at, &followed);
			if (r == 0) {
				free(at);
				at = followed;
				continue;
			}
		}
		if (r == 0)
			break;
		slash = strrchr(at, '/');
		if ((r != -ENOENT && r != -ENOTDIR) || !slash)
			return r;
		*slash = '\0';
		topmost = true;
	}
	*ret_topmost = topmost;
	*ret_path = take_ptr(at);
	return 0;
}
