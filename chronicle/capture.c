#include "chronicle/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "chronicle/beneath.h"
#include "chronicle/capture_file.h"
#include "chronicle/names.h"
#include "chronicle/xattrs.h"

void capture_init(struct capture *c)
{
	*c = (struct capture){
		.path = BUF_INIT((size_t)1 << 20),
		.content = BUF_INIT((size_t)LARGE_SIZE + 4096),
		.xattrs = BUF_INIT(ENTRY_XATTRS_MAX),
		.extents = BUF_INIT(ENTRY_EXTENTS_MAX),
	};
}

void capture_done(struct capture *c)
{
	free(c->omissions);
	buf_done(&c->path);
	buf_done(&c->content);
	buf_done(&c->xattrs);
	buf_done(&c->extents);
}

static int leave_out(struct capture *c, enum left_out reason)
{
	struct record_omission *o;

	c->n_left_out++;
	if (c->n_omissions == RECORD_OMISSIONS_MAX)
		return 0;
	if (c->n_omissions == c->capacity_omissions) {
		uint32_t capacity = c->capacity_omissions > 0 ? c->capacity_omissions * 2 : 64;
		struct record_omission *grown =
			realloc(c->omissions, capacity * sizeof(*c->omissions));

		if (!grown)
			return -ENOMEM;
		c->omissions = grown;
		c->capacity_omissions = capacity;
	}
	o = &c->omissions[c->n_omissions];
	*o = (struct record_omission){ .place = c->place, .reason = reason };
	o->path = arena_text(c->arena, buf_get_text(&c->path), c->path.size);
	if (!o->path)
		return -ENOMEM;
	c->n_omissions++;
	return 0;
}

static bool is_excluded(const struct capture *c, const char *name)
{
	const char *path = buf_get_text(&c->path);

	for (size_t i = 0; i < c->options->n_exclude; i++) {
		const char *pattern = c->options->exclude[i];

		if (strcmp(strchr(pattern, '/') ? path : name, pattern) == 0)
			return true;
	}
	return false;
}

static int read_target(int dir_fd, const char *name, struct capture *c, struct entry *e)
{
	uint8_t *room;
	ssize_t n;

	buf_clear(&c->content);
	room = buf_reserve(&c->content, ENTRY_TARGET_MAX + 1);
	if (!room)
		return buf_error(&c->content);
	n = readlinkat(dir_fd, name, (char *)room, ENTRY_TARGET_MAX + 1);
	if (n < 0)
		return -errno;
	if (n == 0 || n > ENTRY_TARGET_MAX)
		return -ENAMETOOLONG;
	buf_grew(&c->content, (size_t)n);
	e->size = (uint64_t)n;
	e->target = (struct slice){ c->content.data, (size_t)n };
	return 0;
}

static int walk(struct capture *c, int dir_fd, const char *name, unsigned depth, struct entry *e);

static void attributes_from(const struct stat *st, struct entry *e)
{
	e->mode = st->st_mode;
	e->uid = st->st_uid;
	e->gid = st->st_gid;
	e->mtime_ns = timespec_ns(&st->st_mtim);
}

/* Reads the xattrs unless the index knows that there are none. */
static int read_xattrs(
	struct capture *c, int dir_fd, const char *name, const struct stat *st, struct entry *e)
{
	const struct index_slot *known = index_get(c->index, st);
	int64_t now = clock_wall_ns(c->clock);
	int r;

	buf_clear(&c->xattrs);
	if (known && !known->has_xattrs)
		return 0;
	r = xattrs_get(dir_fd, name, &c->xattrs);
	if (r != 0)
		return r;
	e->xattrs = (struct slice){ c->xattrs.data, c->xattrs.size };
	if (known || S_ISREG(st->st_mode))
		return 0; /* a file is remembered with its hash */
	return index_put(c->index, st, NULL, c->xattrs.size > 0, now);
}

/* One object whose stat is known; a positive result is the reason to leave it out. */
static int look_at(struct capture *c, int dir_fd, const char *name, const struct stat *st,
	unsigned depth, struct entry *e)
{
	int r = 0;

	attributes_from(st, e);
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		e->kind = ENTRY_FILE;
		r = capture_file(c, dir_fd, name, st, e);
		break;
	case S_IFDIR:
		e->kind = ENTRY_DIR;
		if (c->recursive)
			r = walk(c, dir_fd, name, depth, e);
		break;
	case S_IFLNK:
		e->kind = ENTRY_LINK;
		e->size = (uint64_t)st->st_size;
		r = read_target(dir_fd, name, c, e);
		break;
	default:
		e->kind = ENTRY_NODE;
		e->device = st->st_rdev;
		break;
	}
	if (r == 0 && e->kind != ENTRY_FILE)
		r = read_xattrs(c, dir_fd, name, st, e);
	return r == -EACCES || r == -EPERM ? LEFT_OUT_UNREADABLE : r;
}

/* One child of a directory being walked. *ret_gone: it vanished meanwhile. */
static int child(struct capture *c, int dir_fd, const char *name, unsigned depth, struct entry *e,
	bool *ret_gone)
{
	struct stat st;
	int r;

	*ret_gone = false;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		*ret_gone = errno == ENOENT;
		r = errno == ENOENT ? 0 : errno == EACCES ? LEFT_OUT_UNREADABLE : -errno;
	} else if (st.st_dev == c->store_dev && st.st_ino == c->store_ino) {
		r = LEFT_OUT_STORE;
	} else if (!c->ignore_exclusions && is_excluded(c, name)) {
		r = LEFT_OUT_EXCLUDED;
	} else if (S_ISDIR(st.st_mode) && depth >= CAPTURE_DEPTH_MAX) {
		r = LEFT_OUT_TOO_DEEP;
	} else {
		r = look_at(c, dir_fd, name, &st, depth, e);
		*ret_gone = r == -ENOENT;
	}
	if (r > 0) {
		*e = (struct entry){ .kind = ENTRY_LEFT_OUT, .left_out = (enum left_out)r };
		return leave_out(c, (enum left_out)r);
	}
	return *ret_gone ? 0 : r;
}

/* All names of an open directory, as entries in one tree. */
static int walk_names(
	struct capture *c, int fd, const struct names *names, unsigned depth, struct entry *e)
{
	auto_buf struct buf body = BUF_INIT(TREE_BYTES_MAX);
	auto_buf struct buf tree = BUF_INIT(TREE_BYTES_MAX);
	size_t n_path = c->path.size;
	uint32_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->n; i++) {
		const char *name = names->list[i];
		struct entry sub = { 0 };
		bool gone = false;

		if (n_path > 0)
			buf_byte(&c->path, '/');
		buf_text(&c->path, name);
		r = buf_error(&c->path);
		if (r == 0)
			r = child(c, fd, name, depth + 1, &sub, &gone);
		path_cut(&c->path, n_path);
		if (r != 0 || gone)
			continue;
		sub.name = (struct slice){ (const uint8_t *)name, strlen(name) };
		entry_write(&body, &sub);
		r = buf_error(&body);
		c->n_objects++;
		n++;
	}
	if (r != 0)
		return r;
	tree_begin(&tree, n);
	buf_bytes(&tree, body.size > 0 ? (const void *)body.data : "", body.size);
	r = buf_error(&tree);
	return r != 0 ? r : store_put(c->store, FRAME_TREE, tree.data, tree.size, e->hash);
}

static int walk(struct capture *c, int dir_fd, const char *name, unsigned depth, struct entry *e)
{
	auto_close int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(names_done) struct names names = { 0 };
	int r;

	if (fd < 0)
		return -errno;
	r = names_read(fd, &names);
	return r != 0 ? r : walk_names(c, fd, &names, depth, e);
}

static int keep_slice(struct arena *a, struct slice *s)
{
	if (s->n == 0) {
		*s = (struct slice){ 0 };
		return 0;
	}
	s->bytes = arena_copy(a, s->bytes, s->n);
	return s->bytes ? 0 : -ENOMEM;
}

int capture_place(struct capture *c, int root_fd, uint32_t place, const struct record_place *p,
	struct entry *ret_entry)
{
	auto_close int fd = -1;
	struct entry e = { 0 };
	const char *name;
	struct stat st;
	int r = beneath_parent(root_fd, p->path, &fd, &name);

	c->place = place;
	c->recursive = p->recursive;
	c->ignore_exclusions = p->ignore_exclusions;
	buf_clear(&c->path);
	buf_text(&c->path, p->path);
	c->n_objects++;
	if (r == 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0)
		r = look_at(c, fd, name, &st, 0, &e);
	if (r == -ENOENT || r == -ENOTDIR) {
		*ret_entry = (struct entry){ .kind = ENTRY_ABSENT };
		return 0;
	}
	if (r > 0 && c->lenient) {
		*ret_entry = (struct entry){ .kind = ENTRY_LEFT_OUT, .left_out = (enum left_out)r };
		return leave_out(c, (enum left_out)r);
	}
	if (r > 0)
		return diag_set(c->diag,
			r == LEFT_OUT_TOO_LARGE  ? -EFBIG
			: r == LEFT_OUT_UNSTABLE ? -EBUSY
						 : -EACCES,
			0, 0, "\"%s\" cannot be kept: it is %s.", p->path,
			left_out_name((enum left_out)r));
	if (r != 0)
		return diag_set(
			c->diag, r, 0, 0, "\"%s\" cannot be kept: %s.", p->path, strerror(-r));
	if (keep_slice(c->arena, &e.target) != 0 || keep_slice(c->arena, &e.xattrs) != 0 ||
		keep_slice(c->arena, &e.extents) != 0)
		return -ENOMEM;
	*ret_entry = e;
	return 0;
}
