#include "chronicle/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "chronicle/beneath.h"
#include "chronicle/leftovers.h"
#include "chronicle/restore.h"

int apply_add(struct apply *a, const struct op *op)
{
	if (a->n_ops == a->capacity_ops) {
		size_t capacity = a->capacity_ops > 0 ? a->capacity_ops * 2 : 64;
		struct op *grown = realloc(a->ops, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		a->ops = grown;
		a->capacity_ops = capacity;
	}
	a->ops[a->n_ops++] = *op;
	return 0;
}

void apply_done(struct apply *a)
{
	for (uint32_t i = 0; a->root_fds && i < a->record->n_roots; i++)
		cleanup_close(&a->root_fds[i]);
	for (size_t i = 0; i < a->n_touched; i++)
		free(a->touched[i].path);
	free(a->root_fds);
	free(a->touched);
	free(a->ops);
	*a = (struct apply){ 0 };
}

static int open_roots(struct apply *a)
{
	int r = 0;

	a->root_fds = malloc((a->record->n_roots + 1) * sizeof(*a->root_fds));
	if (!a->root_fds)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->record->n_roots; i++)
		a->root_fds[i] = -1;
	for (uint32_t i = 0; r == 0 && i < a->record->n_roots; i++)
		r = beneath_open_root(a->record->roots[i], &a->root_fds[i]);
	return r;
}

static uint32_t root_of(const struct apply *a, const struct op *op)
{
	return a->record->places[op->place].root;
}

static int parent_of(const struct apply *a, const struct op *op, int *ret_fd, const char **ret_name)
{
	return beneath_parent(a->root_fds[root_of(a, op)], op->path, ret_fd, ret_name);
}

/*
 * Whatever is renamed or removed in a directory changes its time, which must not show. The
 * directory is that of the first n_path bytes of the path.
 */
static int touch(struct apply *a, const struct op *op, size_t n_path, int dir_fd)
{
	struct touched *t;
	struct stat st;

	if (fstat(dir_fd, &st) < 0)
		return -errno;
	if (a->n_touched == a->capacity_touched) {
		size_t capacity = a->capacity_touched > 0 ? a->capacity_touched * 2 : 64;
		struct touched *grown = realloc(a->touched, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		a->touched = grown;
		a->capacity_touched = capacity;
	}
	t = &a->touched[a->n_touched];
	*t = (struct touched){ .root = root_of(a, op), .mtime_ns = timespec_ns(&st.st_mtim) };
	while (n_path > 0 && op->path[n_path - 1] != '/')
		n_path--;
	t->path = strndup(op->path, n_path > 0 ? n_path - 1 : 0);
	if (!t->path)
		return -ENOMEM;
	a->n_touched++;
	return 0;
}

/* Troubles with one object are remembered, the others go on. */
static int soften(struct apply *a, const struct op *op, int r)
{
	static const char *const why[] = {
		[RESTORE_E_CANNOT] =
			"cannot be brought back: it was left out, or is a socket or device",
		[RESTORE_E_OWNER] = "is back, but not with its owner or a privileged attribute",
		[RESTORE_E_BROKEN] = "cannot be brought back: its content is gone or damaged",
	};

	if (r <= 0)
		return r;
	if (a->soft == 0) {
		a->soft = r;
		(void)snprintf(a->trouble, sizeof(a->trouble), "\"%.100s\" %s", op->path, why[r]);
	}
	return 0;
}

static bool same_inode(const struct entry *a, const struct entry *b)
{
	return a->link_ino != 0 && a->link_ino == b->link_ino && a->link_dev == b->link_dev;
}

/*
 * The inode is now shared with a name that must not share it: then it cannot be changed in place,
 * nor be joined. Numbers are compared at one time only, since inodes are used again.
 */
static bool is_shared_wrongly(const struct apply *a, const struct entry *target,
	const struct entry *now, const char *path)
{
	if (now->link_ino == 0)
		return false;
	for (size_t i = 0; i < a->todo->n; i++) {
		const struct delta *d = &a->todo->list[i];

		if (same_inode(&d->after, now) && strcmp(d->path, path) != 0 &&
			d->before.kind == ENTRY_FILE && !same_inode(&d->before, target))
			return true;
	}
	for (size_t i = 0; i < a->linked->n; i++) {
		const struct delta *d = &a->linked->list[i];

		if (same_inode(&d->after, now) && !same_inode(&d->before, target))
			return true;
	}
	return false;
}

/*
 * The name whose inode the other names of its link group join: one that is untouched, else the
 * first that has the recorded content and attributes, be it op itself.
 */
static const struct delta *find_leader(const struct apply *a, const struct op *op)
{
	const struct deltas *linked = a->linked;
	const struct delta *best = NULL;

	for (size_t i = 0; i < linked->n; i++) {
		const struct delta *d = &linked->list[i];

		if (!same_inode(&d->before, op->target))
			continue;
		if (entry_equal(&d->before, &d->after))
			return d;
		if (!best && entry_same_content(&d->before, &d->after) &&
			entry_same_attributes(&d->before, &d->after) &&
			!is_shared_wrongly(a, &d->before, &d->after, d->path))
			best = d;
	}
	return best;
}

static int link_from(struct apply *a, uint32_t place, const char *path, int to_fd, const char *to)
{
	auto_close int fd = -1;
	const char *name;
	int r = beneath_parent(a->root_fds[a->record->places[place].root], path, &fd, &name);

	if (r != 0)
		return r;
	return linkat(fd, name, to_fd, to, 0) < 0 ? -errno : 0;
}

/* Another op of the same link group that was staged before this one. */
static const struct op *staged_sibling(const struct apply *a, const struct op *op)
{
	for (const struct op *o = a->ops; o < op; o++) {
		if (o->staged > 0 && o->target->kind == ENTRY_FILE &&
			same_inode(o->target, op->target))
			return o;
	}
	return NULL;
}

static int staging_dir(const struct apply *a, const struct op *op, int *ret_fd)
{
	auto_free char *path = strndup(op->path, op->n_waiting);
	const char *ignored;

	if (!path)
		return -ENOMEM;
	return beneath_parent(a->root_fds[root_of(a, op)], path, ret_fd, &ignored);
}

/* *ret_done: the temporary is a further name of a file that is there. */
static int stage_linked(
	struct apply *a, struct op *op, int dir_fd, const char *temporary, bool *ret_done)
{
	const struct delta *leader;
	const struct op *sibling;
	char name[LEFTOVER_NAME_SIZE];
	auto_close int fd = -1;
	int r = 0;

	*ret_done = false;
	if (op->target->kind != ENTRY_FILE || op->target->link_ino == 0)
		return 0;
	leader = find_leader(a, op);
	sibling = leader ? NULL : staged_sibling(a, op);
	if (leader) {
		r = link_from(a, leader->place, leader->path, dir_fd, temporary);
	} else if (sibling) {
		leftover_name(a->id, sibling->staged, name);
		r = staging_dir(a, sibling, &fd);
		if (r == 0 && linkat(fd, name, dir_fd, temporary, 0) < 0)
			r = -errno;
	}
	*ret_done = r == 0 && (leader || sibling);
	return r;
}

/* The nearest directory that is there: a temporary may wait anywhere on the same file system. */
static int find_staging_dir(const struct apply *a, struct op *op, int *ret_fd)
{
	op->n_waiting = strlen(op->path);
	for (;;) {
		int r = staging_dir(a, op, ret_fd);

		if (r != -ENOENT && r != -ENOTDIR && r != -ELOOP)
			return r;
		while (op->n_waiting > 0 && op->path[op->n_waiting - 1] != '/')
			op->n_waiting--;
		if (op->n_waiting == 0)
			return r;
		op->n_waiting--;
	}
}

static int stage(struct apply *a, struct op *op)
{
	char temporary[LEFTOVER_NAME_SIZE];
	auto_close int fd = -1;
	bool done = false;
	int r = find_staging_dir(a, op, &fd);

	if (r == 0)
		r = touch(a, op, op->n_waiting, fd);
	if (r != 0)
		return r;
	leftover_name(a->id, ++a->n_staged, temporary);
	r = stage_linked(a, op, fd, temporary, &done);
	if (r == 0 && !done)
		r = restore_new(a->c->store, fd, temporary, op->target);
	if (r == 0 || r == RESTORE_E_OWNER)
		op->staged = a->n_staged;
	else
		(void)unlinkat(fd, temporary, 0); /* may not have come into being */
	return soften(a, op, r);
}

static bool is_leaf(const struct entry *e)
{
	return e->kind == ENTRY_FILE || e->kind == ENTRY_LINK || e->kind == ENTRY_NODE;
}

/* The right inode is there already; at most attributes are wrong. */
static bool is_in_place(const struct apply *a, const struct op *op)
{
	const struct delta *leader;

	if (!entry_same_content(op->target, op->now))
		return false;
	if (op->target->kind != ENTRY_FILE)
		return true;
	if (op->target->link_ino == 0)
		return !is_shared_wrongly(a, op->target, op->now, op->path);
	leader = find_leader(a, op);
	return leader && leader->place == op->place && strcmp(leader->path, op->path) == 0;
}

static int stage_all(struct apply *a)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n_ops; i++) {
		struct op *op = &a->ops[i];

		if (op->target->kind == ENTRY_LEFT_OUT) {
			r = soften(a, op, RESTORE_E_CANNOT);
			continue;
		}
		if (!is_leaf(op->target))
			continue;
		op->in_place = is_in_place(a, op);
		if (!op->in_place)
			r = stage(a, op);
	}
	return r;
}

static int sync_roots(const struct apply *a)
{
	for (uint32_t i = 0; i < a->record->n_roots; i++) {
		/* syncfs() wants a descriptor that is open for more than its path. */
		auto_close int fd = openat(a->root_fds[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 || syncfs(fd) < 0)
			return -errno;
	}
	return 0;
}

/* Refuses when the object is not what it was when the rollback looked. */
static int recheck(int dir_fd, const char *name, const struct entry *now)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT ? -errno : now->kind == ENTRY_ABSENT ? 0 : -ESTALE;
	if (now->kind == ENTRY_ABSENT || now->kind == ENTRY_LEFT_OUT)
		return -ESTALE;
	if ((st.st_mode & S_IFMT) != (now->mode & S_IFMT))
		return -ESTALE;
	if (now->kind == ENTRY_FILE &&
		((uint64_t)st.st_size != now->size || timespec_ns(&st.st_mtim) != now->mtime_ns))
		return -ESTALE;
	return 0;
}

static int remove_one(struct apply *a, struct op *op)
{
	auto_close int fd = -1;
	const char *name;
	int r = parent_of(a, op, &fd, &name);

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r == 0 && op->now->kind == ENTRY_LEFT_OUT)
		return soften(a, op, RESTORE_E_CANNOT);
	if (r == 0)
		r = touch(a, op, strlen(op->path), fd);
	if (r == 0 && !a->force)
		r = recheck(fd, name, op->now);
	return r != 0 ? r : restore_remove(fd, name, a->force);
}

static int make_dir(struct apply *a, struct op *op)
{
	auto_close int fd = -1;
	const char *name;
	int r = parent_of(a, op, &fd, &name);

	if (r == 0)
		r = touch(a, op, strlen(op->path), fd);
	if (r != 0)
		return r;
	if (op->now->kind != ENTRY_ABSENT)
		r = restore_remove(fd, name, false);
	return r != 0 ? r : restore_new(a->c->store, fd, name, op->target);
}

static int commit_one(struct apply *a, struct op *op)
{
	char temporary[LEFTOVER_NAME_SIZE];
	auto_close int fd = -1, staging_fd = -1;
	const struct entry gone = { 0 };
	const char *name;
	int r = staging_dir(a, op, &staging_fd);

	if (r == 0)
		r = parent_of(a, op, &fd, &name);
	if (r == 0)
		r = touch(a, op, strlen(op->path), fd);
	/* A directory in its place was removed on the way. */
	if (r == 0 && !a->force)
		r = recheck(fd, name, op->now->kind == ENTRY_DIR ? &gone : op->now);
	if (r != 0)
		return r;
	leftover_name(a->id, op->staged, temporary);
	if (renameat(staging_fd, temporary, fd, name) < 0)
		return -errno;
	/* Two names of one file: rename() does nothing then, and leaves the temporary. */
	(void)unlinkat(staging_fd, temporary, 0);
	return 0;
}

static int finish_one(struct apply *a, struct op *op)
{
	auto_close int fd = -1;
	const char *name;
	int r = parent_of(a, op, &fd, &name);

	return r != 0 ? r : soften(a, op, restore_attributes(fd, name, op->target));
}

/* The first record of a directory is the true one: it goes last. */
static int restore_times(const struct apply *a)
{
	for (size_t i = a->n_touched; i > 0; i--) {
		const struct touched *t = &a->touched[i - 1];
		auto_close int fd = -1;
		const char *name;
		struct stat st;
		int r = beneath_parent(a->root_fds[t->root], t->path, &fd, &name);

		if (r == 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			r = -errno;
		if (r == 0 && S_ISDIR(st.st_mode)) /* else something else took its place */
			r = set_mtime(fd, name, t->mtime_ns);
		if (r != 0 && r != -ENOENT && r != -ENOTDIR && r != -EPERM)
			return r;
	}
	return 0;
}

static int change_names(struct apply *a)
{
	int r = 0;

	for (size_t i = a->n_ops; r == 0 && i > 0; i--) {
		struct op *op = &a->ops[i - 1];

		if (op->now->kind != ENTRY_ABSENT &&
			(op->target->kind == ENTRY_ABSENT ||
				(op->now->kind == ENTRY_DIR && op->staged > 0)))
			r = remove_one(a, op);
	}
	for (size_t i = 0; r == 0 && i < a->n_ops; i++) {
		if (a->ops[i].target->kind == ENTRY_DIR && a->ops[i].now->kind != ENTRY_DIR)
			r = make_dir(a, &a->ops[i]);
	}
	for (size_t i = 0; r == 0 && i < a->n_ops; i++) {
		if (a->ops[i].staged > 0)
			r = commit_one(a, &a->ops[i]);
	}
	return r;
}

int apply_run(struct apply *a)
{
	int r = open_roots(a);

	if (r == 0)
		r = stage_all(a);
	if (r == 0)
		r = sync_roots(a);
	if (r == 0)
		r = change_names(a);
	for (size_t i = 0; r == 0 && i < a->n_ops; i++) {
		if (a->ops[i].in_place)
			r = finish_one(a, &a->ops[i]);
	}
	if (r == 0)
		r = restore_times(a);
	for (size_t i = a->n_ops; r == 0 && i > 0; i--) {
		if (a->ops[i - 1].target->kind == ENTRY_DIR)
			r = finish_one(a, &a->ops[i - 1]);
	}
	return r != 0 ? r : sync_roots(a);
}
