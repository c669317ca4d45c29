#include "tests/chronicle/world.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "tests/support/cmocka.h"

void world_open_with(struct world *w, const struct il_chronicle_options *options)
{
	const char *base = getenv("CHRONICLE_TEST_DIR");
	char path[sizeof(w->dir) + 16];
	struct diag diag = { 0 };
	char *real;
	int r;

	(void)snprintf(w->dir, sizeof(w->dir), "%s/chronicle-test-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(path, sizeof(path), "%s/tree", w->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	real = realpath(path, NULL);
	assert_non_null(real);
	assert_true(strlen(real) < sizeof(w->tree));
	strcpy(w->tree, real);
	free(real);
	w->tree_fd = open(w->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->tree_fd >= 0);
	(void)snprintf(w->store, sizeof(w->store), "%s/store", w->dir);
	w->options = *options;
	w->options.dir = w->store;
	r = il_chronicle_open(&w->options, &w->c, &diag);
	if (r != 0)
		print_error("%s\n", diag.text);
	assert_int_equal(r, 0);
	if (w->random == 0)
		w->random = UINT64_C(0x123456789abcdef1);
}

void world_open(struct world *w)
{
	struct il_chronicle_options none = { 0 };

	world_open_with(w, &none);
}

void world_reopen(struct world *w)
{
	struct diag diag = { 0 };

	il_chronicle_close(w->c);
	w->c = NULL;
	if (il_chronicle_open(&w->options, &w->c, &diag) != 0)
		fail_msg("%s", diag.text);
}

void world_close(struct world *w)
{
	char command[400];

	il_chronicle_close(w->c);
	(void)close(w->tree_fd);
	(void)snprintf(
		command, sizeof(command), "chmod -R u+rwx '%s' && rm -rf '%s'", w->dir, w->dir);
	assert_int_equal(system(command), 0);
}

void put(struct world *w, const char *path, const char *text)
{
	int fd = openat(w->tree_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	assert_int_equal(close(fd), 0);
}

char *get(struct world *w, const char *path)
{
	char *text = NULL;
	size_t n;

	return file_read(w->tree_fd, path, (size_t)1 << 30, &text, &n) == 0 ? text : NULL;
}

void begin_at(
	struct world *w, const char *path, bool recursive, char ret_id[static IL_SNAPSHOT_ID_SIZE])
{
	struct il_snapshot_info info = {
		.session = "s1", .action_type = "test", .summary = "a test changes something"
	};
	struct il_chronicle_place place = { .dir_fd = w->tree_fd,
		.root = w->tree,
		.path = path,
		.recursive = recursive,
		.may_create = true };
	struct diag diag = { 0 };
	int r = il_chronicle_begin(w->c, &info, &place, 1, ret_id, NULL, &diag);

	if (r != 0)
		print_error("begin: %s\n", diag.text);
	assert_int_equal(r, 0);
}

void seal(struct world *w, const char *id)
{
	assert_int_equal(il_chronicle_seal(w->c, id, IL_OUTCOME_DONE, NULL, NULL), 0);
}

static int tell(void *ctx, const struct il_change *change)
{
	(void)ctx;
	print_error("change %d at \"%s\": %llu → %llu bytes\n", (int)change->kind, change->path,
		(unsigned long long)change->size_before, (unsigned long long)change->size_after);
	return 0;
}

int roll_back(struct world *w, const char *id, const char *path, bool force)
{
	struct il_rollback what = {
		.id = id, .paths = &path, .n_paths = path ? 1 : 0, .force = force
	};
	char own[IL_SNAPSHOT_ID_SIZE];
	struct diag diag = { 0 };
	int r = il_chronicle_rollback(w->c, &what, NULL, NULL, own, &diag);

	if (r < 0)
		print_error("rollback: %s (%d)\n", diag.text, r);
	if (r == IL_CHRONICLE_E_CONFLICT && w->talkative) {
		what.dry_run = true;
		r = il_chronicle_rollback(w->c, &what, tell, NULL, own, NULL);
	}
	return r;
}

static void describe_extents(struct buf *b, int fd, off_t size)
{
	for (off_t at = 0; at < size;) {
		off_t start = lseek(fd, at, SEEK_DATA);
		off_t end = start < 0 ? size : lseek(fd, start, SEEK_HOLE);

		if (start < 0 || start >= size)
			break;
		buf_printf(b, " %lld+%lld", (long long)start, (long long)(end - start));
		at = end;
	}
}

static void describe_content(struct buf *b, int dir_fd, const char *name, const struct stat *st)
{
	char target[4096] = { 0 };
	uint8_t hash[SHA256_SIZE];
	int fd;

	if (S_ISLNK(st->st_mode)) {
		assert_true(readlinkat(dir_fd, name, target, sizeof(target) - 1) > 0);
		buf_printf(b, " -> %s", target);
	}
	if (!S_ISREG(st->st_mode))
		return;
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOATIME);
	assert_true(fd >= 0);
	assert_int_equal(sha256_fd(fd, hash), 0);
	buf_byte(b, ' ');
	buf_hex(b, hash, 8);
	if (st->st_blocks * 512 < st->st_size)
		describe_extents(b, fd, st->st_size);
	(void)close(fd);
}

static void describe_xattrs(struct buf *b, int dir_fd, const char *name)
{
	static const char *const known[] = { "user.note", "system.posix_acl_access" };
	char path[400], names[2048], value[2048];
	int n_listed = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name);
	n = llistxattr(path, names, sizeof(names));
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1)
		/* XFS shows an ACL under its own name too. */
		n_listed += strncmp(names + at, "trusted.SGI_ACL_", 16) != 0;
	/* By name, since the order of the list is the file system's. */
	for (size_t i = 0; i < N_ELEMENTS(known); i++) {
		ssize_t n_value = lgetxattr(path, known[i], value, sizeof(value));

		if (n_value < 0)
			continue;
		buf_printf(b, " {%s=", known[i]);
		buf_hex(b, (const uint8_t *)value, (size_t)n_value);
		buf_byte(b, '}');
		n_listed--;
	}
	assert_int_equal(n_listed, 0);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

struct group {
	ino_t ino;
	unsigned number;
};
struct description {
	struct buf out;
	struct group groups[4096];
	unsigned n_groups;
};

static unsigned group_of(struct description *d, ino_t ino)
{
	for (unsigned i = 0; i < d->n_groups; i++) {
		if (d->groups[i].ino == ino)
			return d->groups[i].number;
	}
	assert_true(d->n_groups < N_ELEMENTS(d->groups));
	d->groups[d->n_groups] = (struct group){ ino, d->n_groups + 1 };
	return ++d->n_groups;
}

static void describe_one(struct description *d, int dir_fd, const char *name, const char *path);

static void describe_dir(struct description *d, int dir_fd, const char *path)
{
	DIR *dir = fdopendir(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	char *names[1024];
	const struct dirent *e;
	size_t n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			names[n++] = strdup(e->d_name);
		assert_true(n < N_ELEMENTS(names));
	}
	(void)closedir(dir);
	if (n > 0)
		qsort(names, n, sizeof(*names), by_text);
	for (size_t i = 0; i < n; i++) {
		char sub[4096];

		(void)snprintf(sub, sizeof(sub), "%.3800s/%s", path, names[i]);
		describe_one(d, dir_fd, names[i], sub);
		free(names[i]);
	}
}

static void describe_one(struct description *d, int dir_fd, const char *name, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	buf_printf(&d->out, "%s %o %u:%u %lld.%09ld", path, st.st_mode, st.st_uid, st.st_gid,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	if (!S_ISDIR(st.st_mode))
		buf_printf(&d->out, " %lld", (long long)st.st_size);
	if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		buf_printf(&d->out, " group %u", group_of(d, st.st_ino));
	describe_content(&d->out, dir_fd, name, &st);
	describe_xattrs(&d->out, dir_fd, name);
	buf_byte(&d->out, '\n');
	if (S_ISDIR(st.st_mode)) {
		int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

		assert_true(fd >= 0);
		describe_dir(d, fd, path);
		(void)close(fd);
	}
}

char *describe(struct world *w)
{
	struct description *d = calloc(1, sizeof(*d));
	char *text = NULL;

	assert_non_null(d);
	d->out = BUF_INIT((size_t)64 << 20);
	describe_one(d, w->tree_fd, ".", ".");
	assert_int_equal(buf_take_text(&d->out, &text), 0);
	free(d);
	return text;
}
