#include "engine/exec_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "engine/engine.h"
#include "engine/execute.h"
#include "engine/fill.h"
#include "engine/reach.h"
#include "engine/write_file.h"

#define ENTRIES_MAX   500
#define COPY_PIECE    (1u << 20)
#define EOL_LOOK      65536
#define MUTATE_RIGHTS (GRANT_WRITE | GRANT_CREATE)

static void fail(struct proposal *p, int r, const char *path)
{
	const char *why = r == -ELOOP ? "it is or goes through a symbolic link; name the real path"
			  : r == -ESTALE ? "it is not the file that was judged any more"
			  : r == -EINVAL ? "it is no regular file or directory"
			  : r == -EXDEV  ? "it leads out of what the grant covers"
			  : r == -EACCES ? "the grant does not cover it, or its mode forbids it"
					 : strerror(-r);

	proposal_fail(p, STATUS_FAILED, "%s: %s", path ? path : "?", why);
}

static void say(struct proposal *p, const char *verb, const char *path)
{
	buf_printf(&p->content, "%s %s", verb, path);
	p->status = STATUS_EXECUTED;
}

/* ---- reading ---- */

static int read_piece(struct proposal *p, int fd, uint64_t at, uint64_t limit)
{
	while (limit > 0) {
		size_t want = limit < COPY_PIECE ? (size_t)limit : COPY_PIECE;
		uint8_t *to = buf_reserve(&p->content, want);
		ssize_t n;

		if (!to)
			return -ENOMEM;
		n = pread(fd, to, want, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		buf_grew(&p->content, (size_t)n);
		at += (uint64_t)n;
		limit -= (uint64_t)n;
	}
	return 0;
}

void exec_read_file(struct proposal *p)
{
	const char *path = proposal_path(p, "path", NULL);
	uint64_t at = (uint64_t)proposal_int(p, "offset", 0);
	uint64_t most = p->engine->config.result_bytes;
	uint64_t limit = (uint64_t)proposal_int(p, "limit", (int64_t)most);
	auto_close int fd = -1;
	struct stat st = { 0 };
	struct fill f;
	int r = path ? reach_open(p, path, GRANT_READ, O_RDONLY, &fd) : -ENOMEM;

	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0 && S_ISDIR(st.st_mode))
		r = -EISDIR;
	if (r == 0)
		r = read_piece(p, fd, at, limit < most ? limit : most);
	if (r != 0) {
		fail(p, r, path);
		return;
	}
	if (at + p->content.size < (uint64_t)st.st_size) {
		p->truncated = true;
		p->truncated_at = at + p->content.size;
		buf_printf(&p->content, "\n[truncated at byte %llu of %llu]",
			(unsigned long long)p->truncated_at, (unsigned long long)st.st_size);
	}
	f = fill_start(&p->arena, 2);
	fill_int(&f, "size", st.st_size);
	p->data = fill_end(&f);
	p->status = STATUS_EXECUTED;
}

static int compare_names(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static void list_entry(struct proposal *p, int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* gone since */
	if (S_ISDIR(st.st_mode))
		buf_printf(&p->content, "%s/\n", name);
	else if (S_ISREG(st.st_mode))
		buf_printf(&p->content, "%s\t%lld\n", name, (long long)st.st_size);
	else
		buf_printf(&p->content, "%s%s\n", name, S_ISLNK(st.st_mode) ? "@" : "?");
}

static int list_names(struct proposal *p, DIR *dir)
{
	const char **names = arena_alloc_array(&p->arena, ENTRIES_MAX, sizeof(*names));
	const struct dirent *entry;
	size_t n = 0;

	if (!names)
		return -ENOMEM;
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (n == ENTRIES_MAX) {
			p->truncated = true;
			p->truncated_at = n;
			break;
		}
		names[n] = arena_text(&p->arena, entry->d_name, strlen(entry->d_name));
		if (!names[n++])
			return -ENOMEM;
	}
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n; i++)
		list_entry(p, dirfd(dir), names[i]);
	if (p->truncated)
		buf_printf(&p->content, "[truncated at %zu entries]\n", n);
	return 0;
}

void exec_list_directory(struct proposal *p)
{
	const char *path = proposal_path(p, "path", p->engine->workspace);
	auto_closedir DIR *dir = NULL;
	auto_close int fd = -1;
	int r = path ? reach_open(p, path, GRANT_READ, O_RDONLY | O_DIRECTORY, &fd) : -ENOMEM;

	if (r == 0) {
		dir = fdopendir(fd);
		if (dir)
			fd = -1;
		r = dir ? list_names(p, dir) : -errno;
	}
	if (r != 0)
		fail(p, r, path);
	else
		p->status = STATUS_EXECUTED;
}

/* ---- writing ---- */

/* True when every line of the beginning of the file ends in CR LF. */
static bool has_crlf(int fd)
{
	auto_free char *text = malloc(EOL_LOOK);
	ssize_t n = text ? pread(fd, text, EOL_LOOK, 0) : 0;
	size_t lines = 0;

	for (ssize_t i = 0; i < n; i++) {
		if (text[i] != '\n')
			continue;
		if (i == 0 || text[i - 1] != '\r')
			return false;
		lines++;
	}
	return lines > 0;
}

static int write_text(int fd, const char *text, size_t n, bool crlf)
{
	if (!crlf || memchr(text, '\r', n))
		return write_all(fd, text, n);
	while (n > 0) {
		const char *eol = memchr(text, '\n', n);
		size_t line = eol ? (size_t)(eol - text) : n;
		int r = write_all(fd, text, line);

		if (r == 0 && eol)
			r = write_all(fd, "\r\n", 2);
		if (r != 0)
			return r;
		text += line + (eol ? 1 : 0);
		n -= line + (eol ? 1 : 0);
	}
	return 0;
}

static int copy_bytes(int from, int to)
{
	off_t at = 0;

	for (;;) {
		ssize_t n = copy_file_range(from, &at, to, NULL, COPY_PIECE, 0);

		if (n == 0)
			return 0;
		if (n > 0 || errno == EINTR)
			continue;
		break;
	}
	/* Another file system, or one without the call: from where it stopped. */
	{
		auto_free char *piece = malloc(COPY_PIECE);
		ssize_t n;
		int r = 0;

		if (!piece)
			return -ENOMEM;
		while (r == 0 && (n = pread(from, piece, COPY_PIECE, at)) != 0) {
			if (n < 0)
				return -errno;
			r = write_all(to, piece, (size_t)n);
			at += n;
		}
		return r;
	}
}

static int write_content(struct replacement *w, const char *text, size_t n, bool append)
{
	bool crlf = w->old_fd >= 0 && has_crlf(w->old_fd);
	int r = append && w->old_fd >= 0 ? copy_bytes(w->old_fd, w->fd) : 0;

	return r == 0 ? write_text(w->fd, text, n, crlf) : r;
}

/* Existing, it must be the very file that was judged, and writable by its mode. */
static int check_old(struct proposal *p, const char *path, const struct replacement *w)
{
	const struct il_fact *fact = proposal_fact(p, path);
	struct stat st;

	if (w->old_fd < 0)
		return fact && fact->known && fact->type != IL_FILE_ABSENT ? -ESTALE : 0;
	if (fstat(w->old_fd, &st) < 0)
		return -errno;
	if (fact && fact->known && (fact->device != st.st_dev || fact->inode != st.st_ino))
		return -ESTALE;
	/* Renaming needs only the directory's right; a file made read-only stays so. */
	return faccessat(w->dirfd, w->name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0 ? -errno
											: 0;
}

void exec_write_file(struct proposal *p)
{
	const char *path = proposal_path(p, "path", NULL);
	const struct value *content = value_get(p->analysis.payload, "content");
	auto_replacement struct replacement w = { .old_fd = -1, .fd = -1 };
	auto_close int dir = -1;
	const char *name;
	int r = path && content ? reach_parent_make(p, path, MUTATE_RIGHTS, &dir, &name) : -ENOMEM;

	if (r == 0)
		r = replacement_start(&w, dir, name);
	if (r == 0)
		r = check_old(p, path, &w);
	if (r == 0)
		r = write_content(&w, content->text, content->size, proposal_bool(p, "append"));
	if (r == 0)
		r = replacement_commit(&w, false);
	if (r != 0)
		fail(p, r, path);
	else
		say(p, "wrote", path);
}

void exec_copy_file(struct proposal *p)
{
	const char *source = proposal_path(p, "source", NULL);
	const char *path = proposal_path(p, "destination", NULL);
	auto_replacement struct replacement w = { .old_fd = -1, .fd = -1 };
	auto_close int from = -1;
	auto_close int dir = -1;
	const char *name;
	struct stat st = { 0 };
	int r = source && path ? reach_open(p, source, GRANT_READ, O_RDONLY, &from) : -ENOMEM;

	if (r == 0 && fstat(from, &st) < 0)
		r = -errno;
	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EISDIR;
	if (r != 0) {
		fail(p, r, source);
		return;
	}
	r = reach_parent_make(p, path, MUTATE_RIGHTS, &dir, &name);
	if (r == 0)
		r = replacement_start(&w, dir, name);
	if (r == 0)
		r = check_old(p, path, &w);
	if (r == 0)
		r = copy_bytes(from, w.fd);
	if (r == 0 && w.old_fd < 0 && fchmod(w.fd, st.st_mode & 0777) < 0)
		r = -errno;
	if (r == 0)
		r = replacement_commit(&w, false);
	if (r != 0)
		fail(p, r, path);
	else
		say(p, "copied to", path);
}

/* ---- names ---- */

static int check_named(
	struct proposal *p, int dir, const char *name, const char *path, struct stat *st)
{
	const struct il_fact *fact = proposal_fact(p, path);

	if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (fact && fact->known && fact->type != IL_FILE_SYMLINK &&
		(fact->device != st->st_dev || fact->inode != st->st_ino))
		return -ESTALE;
	return 0;
}

void exec_delete_file(struct proposal *p)
{
	const char *path = proposal_path(p, "path", NULL);
	auto_close int dir = -1;
	const char *name;
	struct stat st;
	int r = path ? reach_parent(p, path, GRANT_DELETE, &dir, &name) : -ENOMEM;

	if (r == 0)
		r = check_named(p, dir, name, path, &st);
	if (r == 0 && unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0)
		r = -errno;
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	if (r != 0)
		fail(p, r, path);
	else
		say(p, "deleted", path);
}

void exec_move_file(struct proposal *p)
{
	const char *source = proposal_path(p, "source", NULL);
	const char *path = proposal_path(p, "destination", NULL);
	auto_close int from = -1;
	auto_close int to = -1;
	const char *old_name, *name;
	struct stat st;
	int r = source && path ? reach_parent(p, source, GRANT_DELETE, &from, &old_name) : -ENOMEM;

	if (r == 0)
		r = check_named(p, from, old_name, source, &st);
	if (r != 0) {
		fail(p, r, source);
		return;
	}
	r = reach_parent_make(p, path, GRANT_CREATE, &to, &name);
	/* An existing destination is no move: the agent deletes it first, and that is judged by
	 * itself. */
	if (r == 0 && renameat2(from, old_name, to, name, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r == 0 && (fsync(to) < 0 || fsync(from) < 0))
		r = -errno;
	if (r != 0)
		fail(p, r, path);
	else
		say(p, "moved to", path);
}

void exec_create_directory(struct proposal *p)
{
	const char *path = proposal_path(p, "path", NULL);
	auto_close int dir = -1;
	const char *name;
	struct stat st;
	int r = path ? reach_parent_make(p, path, GRANT_CREATE, &dir, &name) : -ENOMEM;

	if (r == 0 && mkdirat(dir, name, 0777) < 0) {
		r = -errno;
		if (r == -EEXIST && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISDIR(st.st_mode))
			r = 0;
	}
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	if (r != 0)
		fail(p, r, path);
	else
		say(p, "made", path);
}
