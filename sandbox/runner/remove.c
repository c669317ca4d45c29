#include "sandbox/runner/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define REMOVE_DEPTH 256

static void remove_at(int parent, const char *name, unsigned depth)
{
	auto_closedir DIR *dir = NULL;
	const struct dirent *entry;
	int fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT || depth > REMOVE_DEPTH)
		return;
	/* It is a directory: a link was unlinked above. */
	if (fchmodat(parent, name, 0700, 0) < 0)
		return;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		(void)close(fd);
	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_at(dirfd(dir), entry->d_name, depth + 1);
	}
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

void remove_tree(const char *path)
{
	remove_at(AT_FDCWD, path, 0);
}
