#include "sandbox/runner/armed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arms.h"
#include "base/files.h"
#include "base/value.h"

#define DEPTH_MAX 64

/* Called for each armed name; the directory is open. */
typedef int (*visit_fn)(struct armed *a, int dir, const char *name, const char *path,
	const struct stat *st, void *ctx);

struct walk {
	struct armed *armed;
	visit_fn visit;
	void *ctx;
};

static int walk(const struct walk *w, int dir, const char *path, unsigned depth);

static int visit_entry(
	const struct walk *w, int dir, const char *name, const char *path, unsigned depth)
{
	struct stat st;
	int r = 0;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return arms_match(path, NULL) == ARMS_ITSELF
			       ? w->visit(w->armed, dir, name, path, &st, w->ctx)
			       : 0;
	/* Objects are data, and many. */
	if (strcmp(name, "objects") == 0 && strstr(path, ".git/"))
		return 0;
	r = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	return walk(w, r, path, depth + 1);
}

/* Takes the descriptor. */
static int walk(const struct walk *w, int dir, const char *path, unsigned depth)
{
	auto_closedir DIR *d = fdopendir(dir);
	const struct dirent *entry;
	int r = 0;

	if (!d) {
		r = -errno;
		(void)close(dir);
		return r;
	}
	if (depth > DEPTH_MAX)
		return 0;
	while (r == 0 && (entry = readdir(d))) {
		char child[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((size_t)snprintf(child, sizeof(child), "%s%s%s", path, path[0] ? "/" : "",
			    entry->d_name) >= sizeof(child))
			return -ENAMETOOLONG;
		r = visit_entry(w, dirfd(d), entry->d_name, child, depth);
	}
	return r;
}

static int walk_root(struct armed *a, visit_fn visit, void *ctx)
{
	struct walk w = { .armed = a, .visit = visit, .ctx = ctx };
	int fd = open(a->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : walk(&w, fd, "", 0);
}

/* Content of a file or target of a link; nothing for other kinds. */
static int read_content(
	struct arena *m, int dir, const char *name, const struct stat *st, struct armed_entry *e)
{
	char link[PATH_MAX];
	auto_free char *data = NULL;
	ssize_t n;
	int r;

	if (S_ISLNK(st->st_mode)) {
		n = readlinkat(dir, name, link, sizeof(link) - 1);
		if (n < 0)
			return -errno;
		link[n] = '\0';
		e->content = arena_text(m, link, (size_t)n);
		e->size = (size_t)n;
		return e->content ? 0 : -E2BIG;
	}
	if (!S_ISREG(st->st_mode))
		return 0;
	r = file_read(dir, name, ARMED_BYTES_MAX, &data, &e->size);
	if (r != 0)
		return r == -EACCES ? 0 : r; /* who cannot read it cannot change it unseen either */
	e->content = arena_text(m, data, e->size);
	return e->content ? 0 : -E2BIG;
}

static int keep(struct armed *a, int dir, const char *name, const char *path, const struct stat *st,
	void *ctx)
{
	struct armed_entry e = { .mode = st->st_mode };
	int r;

	(void)ctx;
	if (a->n_entries == ARMED_FILES_MAX)
		return -E2BIG;
	e.path = arena_text(&a->memory, path, strlen(path));
	if (!e.path)
		return -E2BIG;
	r = read_content(&a->memory, dir, name, st, &e);
	if (r == 0)
		a->entries[a->n_entries++] = e;
	return r;
}

int armed_scan(struct armed *a, const char *root)
{
	*a = (struct armed){ 0 };
	arena_init(&a->memory, 2 * ARMED_BYTES_MAX);
	a->root = arena_text(&a->memory, root, strlen(root));
	a->entries = arena_alloc_array(&a->memory, ARMED_FILES_MAX, sizeof(*a->entries));
	if (!a->root || !a->entries)
		return -ENOMEM;
	return walk_root(a, keep, NULL);
}

void armed_done(struct armed *a)
{
	arena_done(&a->memory);
	*a = (struct armed){ 0 };
}

struct restore {
	struct buf *out;
	size_t n;
	struct arena scratch;
};

static void tell(struct restore *s, const char *what, const char *path)
{
	char text[PATH_MAX + 16];
	struct value v = { .kind = VALUE_TEXT, .text = text };

	v.size = (size_t)snprintf(text, sizeof(text), "%s: %s", what, path);
	if (s->n++ > 0)
		buf_byte(s->out, ',');
	value_to_json(s->out, &v);
}

static int put_back(int dir, const char *name, const struct armed_entry *e)
{
	int r;

	(void)unlinkat(dir, name, 0); /* may be gone */
	if (S_ISLNK(e->mode))
		return symlinkat(e->content, dir, name) < 0 ? -errno : 0;
	if (!S_ISREG(e->mode) || !e->content)
		return 0;
	r = file_write_atomic(dir, name, e->content, e->size, e->mode & 07777);
	return r;
}

static struct armed_entry *find(struct armed *a, const char *path)
{
	for (size_t i = 0; i < a->n_entries; i++) {
		if (strcmp(a->entries[i].path, path) == 0)
			return &a->entries[i];
	}
	return NULL;
}

/* Beneath a .git that was not there before: nothing of that repository was known. */
static bool in_new_repository(const struct armed *a, const char *path)
{
	const char *git = strstr(path, ".git/");
	size_t n;

	if (!git || (git != path && git[-1] != '/'))
		return false;
	n = (size_t)(git - path) + 5;
	for (size_t i = 0; i < a->n_entries; i++) {
		if (strncmp(a->entries[i].path, path, n) == 0)
			return false;
	}
	return true;
}

static int compare(struct armed *a, int dir, const char *name, const char *path,
	const struct stat *st, void *ctx)
{
	struct restore *s = ctx;
	struct armed_entry now = { .mode = st->st_mode }, *before = find(a, path);
	int r;

	if (!before && in_new_repository(a, path)) {
		tell(s, "made", path);
		return 0;
	}
	if (!before) {
		tell(s, "removed", path);
		return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	}
	before->seen = true;
	arena_reset(&s->scratch);
	r = read_content(&s->scratch, dir, name, st, &now);
	if (r == 0 && now.mode == before->mode && now.size == before->size &&
		(now.size == 0 || !now.content ||
			memcmp(now.content, before->content, now.size) == 0))
		return 0;
	tell(s, "restored", path);
	return put_back(dir, name, before);
}

/* What is gone, with the directories that it was in. */
static int bring_back(struct armed *a, const struct armed_entry *e)
{
	char path[PATH_MAX];
	char *slash;
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", a->root, e->path) >= sizeof(path))
		return -ENAMETOOLONG;
	slash = strrchr(path, '/');
	*slash = '\0';
	r = make_dirs(path, 0755);
	*slash = '/';
	return r != 0 ? r : put_back(AT_FDCWD, path, e);
}

int armed_restore(struct armed *a, struct buf *out, size_t *ret_n)
{
	struct restore s = { .out = out };
	int r;

	if (!a->root) {
		*ret_n = 0;
		return 0;
	}
	arena_init(&s.scratch, 2 * ARMED_BYTES_MAX);
	r = walk_root(a, compare, &s);
	for (size_t i = 0; r == 0 && i < a->n_entries; i++) {
		if (a->entries[i].seen)
			continue;
		tell(&s, "restored", a->entries[i].path);
		r = bring_back(a, &a->entries[i]);
	}
	arena_done(&s.scratch);
	*ret_n = s.n;
	return r;
}
