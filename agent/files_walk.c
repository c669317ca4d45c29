#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "agent/files.h"
#include "base/cleanup.h"

struct names {
	char **names; /* owned, each */
	size_t n, capacity;
};

static void names_done(struct names *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct names){ 0 };
}

static int names_add(struct names *list, const char *name)
{
	char *copy;

	if (list->n == FILES_NAMES_MAX)
		return -E2BIG;
	if (list->n == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 32;
		char **grown = realloc(list->names, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->names = grown;
		list->capacity = capacity;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	list->names[list->n++] = copy;
	return 0;
}

static int compare_names(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static int names_read(int fd, struct names *list)
{
	auto_closedir DIR *dir = fdopendir(fd);
	int r = 0;

	if (!dir) {
		r = -errno;
		(void)close(fd); /* it was to be the directory's */
		return r;
	}
	while (r == 0) {
		const struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (!entry) {
			r = -errno;
			break;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = names_add(list, entry->d_name);
	}
	if (r == 0 && list->n > 0)
		qsort(list->names, list->n, sizeof(list->names[0]), compare_names);
	return r;
}

struct walk {
	struct files_work *work;
	files_visit_fn visit;
	void *ctx;
	bool stopped;
	size_t n_start; /* bytes of the path where the walk began */
	char path[FILES_PATH_MAX];
};

static int walk_directory(struct walk *walk, int fd, unsigned depth);

static int walk_into(struct walk *walk, int dirfd, const char *name, unsigned depth)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == EACCES || errno == EPERM || errno == ENOENT ? 0 : -errno;
	return walk_directory(walk, fd, depth);
}

static int walk_entry(struct walk *walk, int dirfd, const char *name, unsigned depth)
{
	struct files_entry entry = { .dirfd = dirfd, .name = name, .path = walk->path };

	if (!files_may(walk->work, walk->path, GRANT_READ))
		return 0; /* hidden: it is not there */
	if (fstatat(dirfd, name, &entry.st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	entry.relative = walk->path + walk->n_start + 1;
	switch (walk->visit(walk->ctx, &entry)) {
	case FILES_SKIP:
		return 0;
	case FILES_STOP:
		walk->stopped = true;
		return 0;
	case FILES_ON:
		break;
	}
	if (!S_ISDIR(entry.st.st_mode))
		return 0;
	if (depth == FILES_DEPTH_MAX) {
		walk->work->truncated = true;
		return 0;
	}
	return walk_into(walk, dirfd, name, depth + 1);
}

/* Takes fd. */
static int walk_directory(struct walk *walk, int fd, unsigned depth)
{
	auto_close int dirfd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	size_t n_path = strlen(walk->path);
	struct names list = { 0 };
	int r = dirfd < 0 ? -errno : 0;

	if (r == 0)
		r = names_read(fd, &list);
	else
		(void)close(fd); /* the first error is the one to report */
	for (size_t i = 0; r == 0 && i < list.n && !walk->stopped; i++) {
		int n = snprintf(
			walk->path + n_path, sizeof(walk->path) - n_path, "/%s", list.names[i]);

		if (n < 0 || (size_t)n >= sizeof(walk->path) - n_path)
			walk->work->truncated = true;
		else
			r = walk_entry(walk, dirfd, list.names[i], depth);
		walk->path[n_path] = '\0';
		if (files_is_late(walk->work))
			walk->stopped = walk->work->truncated = true;
	}
	names_done(&list);
	return r;
}

int files_walk(struct files_work *w, const char *path, files_visit_fn visit, void *ctx)
{
	struct walk walk = { .work = w, .visit = visit, .ctx = ctx };
	size_t n = strlen(path);
	int fd, r;

	if (n >= sizeof(walk.path))
		return -ENAMETOOLONG;
	if (!files_may(w, path, GRANT_READ))
		return files_fail(w, -EACCES, "outside the grant", path);
	r = files_open(path, O_RDONLY | O_DIRECTORY, &fd);
	if (r != 0)
		return files_fail(w, r, "cannot open", path);
	memcpy(walk.path, path, n + 1);
	if (n == 1)
		walk.path[n = 0] = '\0'; /* the root: its entries get their slash below */
	walk.n_start = n;
	r = walk_directory(&walk, fd, 0);
	return r == 0 ? 0 : files_fail(w, r, "cannot read", path);
}
