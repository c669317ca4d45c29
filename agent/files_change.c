#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>

#include "agent/files.h"
#include "base/cleanup.h"

/* ---- checking a whole tree before the first change ---- */

struct check {
	struct files_work *work;
	uint32_t rights;
	const char *source, *destination; /* destination: NULL when nothing is made */
	int r;
};

static int destination_path(
	const struct check *c, const char *relative, char *ret_path, size_t size)
{
	int n = snprintf(ret_path, size, "%s/%s", c->destination, relative);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static enum files_next check_entry(void *ctx, const struct files_entry *e)
{
	struct check *c = ctx;
	char made[FILES_PATH_MAX];

	if (!files_may(c->work, e->path, c->rights)) {
		c->r = files_fail(c->work, -EACCES, "outside the grant", e->path);
		return FILES_STOP;
	}
	if (!c->destination)
		return FILES_ON;
	if (!S_ISDIR(e->st.st_mode) && !S_ISREG(e->st.st_mode) && !S_ISLNK(e->st.st_mode)) {
		c->r = files_fail(c->work, -ENOTSUP, "a device, FIFO or socket", e->path);
		return FILES_STOP;
	}
	c->r = destination_path(c, e->relative, made, sizeof(made));
	if (c->r == 0 && !files_may(c->work, made, GRANT_CREATE))
		c->r = files_fail(c->work, -EACCES, "outside the grant", made);
	return c->r == 0 ? FILES_ON : FILES_STOP;
}

/*
 * A place beneath the tree that is hidden, or gives less, would not be seen by
 * the walk, and would move or vanish with it all the same.
 */
static int check_places(struct files_work *w, const char *tree, uint32_t rights)
{
	const struct grant *g = &w->job->grant;
	size_t n_tree = strlen(tree);

	for (size_t i = 0; i < g->n_paths; i++) {
		char path[2 * FILES_PATH_MAX];
		int n = snprintf(
			path, sizeof(path), "%s/%s", g->roots[g->paths[i].root], g->paths[i].path);

		if (!g->paths[i].hide && (g->paths[i].rights & rights) == rights)
			continue;
		if (n < 0 || (size_t)n >= sizeof(path) ||
			(strncmp(path, tree, n_tree) == 0 && path[n_tree] == '/'))
			return files_fail(w, -EACCES, "holds a place outside the grant", tree);
	}
	return 0;
}

static int check_tree(struct check *c)
{
	int r = check_places(c->work, c->source, c->rights);

	if (r == 0 && !files_may(c->work, c->source, c->rights))
		r = files_fail(c->work, -EACCES, "outside the grant", c->source);
	if (r == 0 && c->destination && !files_may(c->work, c->destination, GRANT_CREATE))
		r = files_fail(c->work, -EACCES, "outside the grant", c->destination);
	if (r == 0)
		r = files_walk(c->work, c->source, check_entry, c);
	if (r == 0)
		r = c->r;
	/* Half a tree, seen in time, is no ground for changing all of it. */
	if (r == 0 && c->work->truncated)
		r = files_fail(c->work, -E2BIG, "too large or too deep", c->source);
	return r;
}

static int check_pair(struct files_work *w, const char **ret_source, const char **ret_destination)
{
	const char *source = value_get_text(w->job->payload, "source");
	const char *destination = value_get_text(w->job->payload, "destination");
	size_t n;

	if (!source || !destination)
		return files_fail(w, -EINVAL, "the job misses", "source or destination");
	n = strlen(source);
	if (strncmp(destination, source, n) == 0 &&
		(destination[n] == '/' || destination[n] == '\0'))
		return files_fail(w, -EINVAL, "lies inside its source", destination);
	*ret_source = source;
	*ret_destination = destination;
	return 0;
}

/* ---- copying ---- */

static int copy_bytes(int from, int to)
{
	for (;;) {
		ssize_t n = copy_file_range(from, NULL, to, NULL, 1u << 30, 0);

		if (n == 0)
			return 0;
		if (n > 0)
			continue;
		if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP &&
			errno != EPERM)
			return -errno;
		break;
	}
	for (;;) {
		ssize_t n = sendfile(to, from, NULL, 1u << 30);

		if (n <= 0)
			return n == 0 ? 0 : -errno;
	}
}

static int copy_file(int from_dir, const char *from, int to_dir, const char *to)
{
	auto_close int in = openat(from_dir, from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	auto_close int out = -1;
	struct timespec times[2];
	struct stat st;
	int r;

	if (in < 0 || fstat(in, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP; /* it was one when the tree was checked */
	out = openat(to_dir, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	r = copy_bytes(in, out);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	/* No set-id bits: the copy is not the original's owner's promise. */
	if (r == 0 && (fchmod(out, st.st_mode & 0777) < 0 || futimens(out, times) < 0))
		r = -errno;
	return r;
}

static int copy_link(int from_dir, const char *from, int to_dir, const char *to)
{
	char target[FILES_PATH_MAX];
	ssize_t n = readlinkat(from_dir, from, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlinkat(target, to_dir, to) < 0 ? -errno : 0;
}

static int copy_one(const struct files_entry *e, const char *made)
{
	auto_close int dirfd = -1;
	const char *name;
	int r = files_open_parent(made, &dirfd, &name);

	if (r != 0)
		return r;
	if (S_ISLNK(e->st.st_mode))
		return copy_link(e->dirfd, e->name, dirfd, name);
	if (S_ISREG(e->st.st_mode))
		return copy_file(e->dirfd, e->name, dirfd, name);
	/* Writable for us while it is being filled. */
	return mkdirat(dirfd, name, (e->st.st_mode & 0777) | 0700) < 0 ? -errno : 0;
}

static enum files_next copy_entry(void *ctx, const struct files_entry *e)
{
	struct check *c = ctx;
	char made[FILES_PATH_MAX];

	c->r = destination_path(c, e->relative, made, sizeof(made));
	/* Looked up again: what the tree holds may have changed since it was checked. */
	if (c->r == 0 && (!files_may(c->work, e->path, c->rights) ||
				 !files_may(c->work, made, GRANT_CREATE)))
		c->r = -EACCES;
	if (c->r == 0)
		c->r = copy_one(e, made);
	if (c->r != 0) {
		(void)files_fail(c->work, c->r, "cannot copy", e->path);
		return FILES_STOP;
	}
	c->work->n_entries++;
	return FILES_ON;
}

static int make_top(struct files_work *w, const char *source, const char *destination)
{
	auto_close int from = -1, dirfd = -1;
	const char *name;
	struct stat st;
	int r = files_open(source, O_PATH | O_DIRECTORY, &from);

	if (r == 0 && fstat(from, &st) < 0)
		r = -errno;
	if (r == 0)
		r = files_open_parent(destination, &dirfd, &name);
	if (r == 0 && mkdirat(dirfd, name, (st.st_mode & 0777) | 0700) < 0)
		r = -errno;
	return r == 0 ? 0 : files_fail(w, r, "cannot make", destination);
}

static int copy_tree(struct files_work *w, const char *source, const char *destination)
{
	struct check c = {
		.work = w, .rights = GRANT_READ, .source = source, .destination = destination
	};
	int r = make_top(w, source, destination);

	if (r == 0)
		r = files_walk(w, source, copy_entry, &c);
	if (r == 0)
		r = c.r;
	if (r == 0 && w->truncated)
		r = files_fail(w, -ETIME, "out of time after a part of", source);
	return r;
}

int files_copy_directory(struct files_work *w)
{
	struct check c = { .work = w, .rights = GRANT_READ };
	int r = check_pair(w, &c.source, &c.destination);

	if (r == 0)
		r = check_tree(&c);
	return r == 0 ? copy_tree(w, c.source, c.destination) : r;
}

/* ---- deleting ---- */

static int delete_tree(struct files_work *w, int dirfd, const char *name, unsigned depth);

static int delete_inside(struct files_work *w, int fd, unsigned depth)
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
		if (!entry)
			return -errno;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = delete_tree(w, dirfd(dir), entry->d_name, depth + 1);
	}
	return r;
}

static int delete_tree(struct files_work *w, int dirfd, const char *name, unsigned depth)
{
	int fd, r;

	if (files_is_late(w))
		return -ETIME;
	if (unlinkat(dirfd, name, 0) == 0) {
		w->n_entries++;
		return 0;
	}
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth > FILES_DEPTH_MAX)
		return -ELOOP;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = delete_inside(w, fd, depth);
	if (r != 0)
		return r;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
		return -errno;
	w->n_entries++;
	return 0;
}

static int delete_path(struct files_work *w, const char *path)
{
	auto_close int dirfd = -1;
	const char *name;
	int r = files_open_parent(path, &dirfd, &name);

	if (r == 0)
		r = delete_tree(w, dirfd, name, 0);
	return r == 0 ? 0 : files_fail(w, r, "cannot delete", path);
}

int files_delete_directory(struct files_work *w)
{
	struct check c = { .work = w, .rights = GRANT_DELETE };
	int r;

	c.source = value_get_text(w->job->payload, "path");
	if (!c.source)
		return files_fail(w, -EINVAL, "the job misses", "path");
	r = check_tree(&c);
	return r == 0 ? delete_path(w, c.source) : r;
}

/* ---- moving ---- */

static int rename_tree(struct files_work *w, const char *source, const char *destination)
{
	auto_close int from = -1, to = -1;
	const char *from_name, *to_name;
	int r = files_open_parent(source, &from, &from_name);

	if (r == 0)
		r = files_open_parent(destination, &to, &to_name);
	if (r == 0 && renameat2(from, from_name, to, to_name, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r == 0)
		w->n_entries++;
	return r;
}

int files_move_directory(struct files_work *w)
{
	struct check c = { .work = w, .rights = GRANT_READ | GRANT_DELETE };
	int r = check_pair(w, &c.source, &c.destination);

	if (r == 0)
		r = check_tree(&c);
	if (r != 0)
		return r;
	r = rename_tree(w, c.source, c.destination);
	/* Another file system, or two trees that the kernel lets nothing be renamed between. */
	if (r != -EXDEV)
		return r == 0 ? 0 : files_fail(w, r, "cannot move to", c.destination);
	r = copy_tree(w, c.source, c.destination);
	return r == 0 ? delete_path(w, c.source) : r;
}
