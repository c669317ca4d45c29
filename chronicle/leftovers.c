#include "chronicle/leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "chronicle/beneath.h"
#include "chronicle/capture.h"
#include "chronicle/names.h"

void leftover_name(const char *id, uint64_t number, char ret_name[static LEFTOVER_NAME_SIZE])
{
	(void)snprintf(ret_name, LEFTOVER_NAME_SIZE, LEFTOVER_PREFIX "%s-%" PRIu64, id, number);
}

static bool is_leftover(const char *name, const char *id)
{
	size_t n = sizeof(LEFTOVER_PREFIX) - 1;

	return strncmp(name, LEFTOVER_PREFIX, n) == 0 && strncmp(name + n, id, ID_LENGTH) == 0 &&
	       name[n + ID_LENGTH] == '-';
}

static int sweep(int dir_fd, const char *id, bool recursive, unsigned depth)
{
	CLEANUP(names_done) struct names names = { 0 };
	int r = names_read(dir_fd, &names);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		auto_close int fd = -1;

		if (is_leftover(names.list[i], id)) {
			if (unlinkat(dir_fd, names.list[i], 0) < 0 && errno != ENOENT)
				r = -errno;
			continue;
		}
		if (!recursive || depth >= CAPTURE_DEPTH_MAX)
			continue;
		fd = openat(dir_fd, names.list[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0)
			r = sweep(fd, id, true, depth + 1);
	}
	return r;
}

static int sweep_place(int root_fd, const struct record_place *p, const char *id)
{
	auto_close int parent_fd = -1, fd = -1, inner_fd = -1;
	const char *name;
	int r = beneath_parent(root_fd, p->path, &parent_fd, &name);

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r != 0)
		return r;
	fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno; /* nothing was written there either */
	r = sweep(fd, id, false, 0);
	if (r != 0 || !p->recursive)
		return r;
	inner_fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return inner_fd < 0 ? 0 : sweep(inner_fd, id, true, 0);
}

int leftovers_remove(const struct record *begin)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < begin->n_places; i++) {
		auto_close int fd = -1;

		r = beneath_open_root(begin->roots[begin->places[i].root], &fd);
		if (r == -ENOENT || r == -ENOTDIR)
			r = 0;
		else if (r == 0)
			r = sweep_place(fd, &begin->places[i], begin->id);
	}
	return r;
}
