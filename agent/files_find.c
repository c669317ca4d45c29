#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "agent/files.h"
#include "agent/pattern.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#define LINE_SHOWN_MAX 400u
#define LINE_MAX_BYTES 65536u
#define GREP_MOST      200u

/* ---- list_directory ---- */

static bool flag(const struct value *payload, const char *name)
{
	const struct value *v = value_get(payload, name);

	return v && v->kind == VALUE_BOOL && v->boolean;
}

struct listing {
	struct files_work *work;
	bool recursive;
};

static bool list_link(struct files_work *w, const struct files_entry *e)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(e->dirfd, e->name, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	return files_line(w, "%s -> %s", e->relative, target);
}

static enum files_next list_entry(void *ctx, const struct files_entry *e)
{
	struct listing *l = ctx;
	bool more;

	if (S_ISDIR(e->st.st_mode))
		more = files_line(l->work, "%s/", e->relative);
	else if (S_ISLNK(e->st.st_mode))
		more = list_link(l->work, e);
	else if (S_ISREG(e->st.st_mode))
		more = files_line(
			l->work, "%s (%lld bytes)", e->relative, (long long)e->st.st_size);
	else
		more = files_line(l->work, "%s (special)", e->relative);
	if (!more)
		return FILES_STOP;
	return l->recursive ? FILES_ON : FILES_SKIP;
}

static int path_of(struct files_work *w, const char *field, const char **ret_path)
{
	*ret_path = value_get_text(w->job->payload, field);
	return *ret_path ? 0 : files_fail(w, -EINVAL, "the job misses", field);
}

int files_list(struct files_work *w)
{
	struct listing l = { .work = w, .recursive = flag(w->job->payload, "recursive") };
	const char *path;
	int r = path_of(w, "path", &path);

	return r == 0 ? files_walk(w, path, list_entry, &l) : r;
}

/* ---- search_files ---- */

struct search {
	struct files_work *work;
	const char *pattern;
};

static enum files_next search_entry(void *ctx, const struct files_entry *e)
{
	struct search *s = ctx;
	/* A pattern with a slash is about the path, another about the name. */
	const char *name = strchr(s->pattern, '/') ? e->relative : e->name;

	if (!name_matches(s->pattern, name))
		return FILES_ON;
	return files_line(s->work, S_ISDIR(e->st.st_mode) ? "%s/" : "%s", e->relative) ? FILES_ON
										       : FILES_STOP;
}

int files_search(struct files_work *w)
{
	struct search s = { .work = w };
	const char *path;
	int r = path_of(w, "path", &path);

	if (r == 0)
		r = path_of(w, "pattern", &s.pattern);
	return r == 0 ? files_walk(w, path, search_entry, &s) : r;
}

/* ---- grep_files ---- */

struct grep {
	struct files_work *work;
	struct pattern *pattern; /* owned by files_grep() */
	const char *include, *exclude;
	char *buffer; /* LINE_MAX_BYTES, owned by files_grep() */
};

static bool is_skipped_directory(const char *name)
{
	static const char *const skipped[] = { ".git", "node_modules", "vendor", "__pycache__",
		".svn", ".hg", "dist", "build", ".interlock" };

	for (size_t i = 0; i < N_ELEMENTS(skipped); i++) {
		if (strcmp(name, skipped[i]) == 0)
			return true;
	}
	return false;
}

static bool show_line(
	struct grep *g, const char *relative, unsigned line, const char *text, size_t n)
{
	struct buf shown = BUF_INIT(8192);
	bool more;

	utf8_escape(&shown, text, n, LINE_SHOWN_MAX);
	more = files_line(g->work, "%s:%u: %s", relative, line, buf_get_text(&shown));
	buf_done(&shown);
	return more;
}

/*
 * Lines of one file through one buffer; a line longer than that is matched in
 * pieces. Returns false when the answer is full.
 */
static bool grep_fd(struct grep *g, int fd, const char *relative)
{
	size_t have = 0;
	unsigned line = 1;
	ssize_t n;

	while ((n = read(fd, g->buffer + have, LINE_MAX_BYTES - have)) > 0 || have > 0) {
		size_t at = 0;

		have += n > 0 ? (size_t)n : 0;
		if (line == 1 && memchr(g->buffer, '\0', have < 8192 ? have : 8192))
			return true; /* binary */
		while (at < have) {
			const char *start = g->buffer + at;
			const char *end = memchr(start, '\n', have - at);
			bool cut = !end && n > 0 && (at > 0 || have < LINE_MAX_BYTES);
			size_t size = end ? (size_t)(end - start) : have - at;

			if (cut)
				break; /* the rest of this line is still to be read */
			if (pattern_matches(g->pattern, start, size) &&
				!show_line(g, relative, line, start, size))
				return false;
			line += end != NULL;
			at += size + (end != NULL);
		}
		memmove(g->buffer, g->buffer + at, have - at);
		have -= at;
		if (files_is_late(g->work)) {
			g->work->truncated = true;
			return false;
		}
	}
	return true;
}

static enum files_next grep_entry(void *ctx, const struct files_entry *e)
{
	struct grep *g = ctx;
	auto_close int fd = -1;

	if (S_ISDIR(e->st.st_mode))
		return is_skipped_directory(e->name) ? FILES_SKIP : FILES_ON;
	if (!S_ISREG(e->st.st_mode) || (g->include && !name_matches(g->include, e->name)) ||
		(g->exclude && name_matches(g->exclude, e->name)))
		return FILES_ON;
	fd = openat(e->dirfd, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return FILES_ON; /* not ours to read, or gone */
	return grep_fd(g, fd, e->relative) ? FILES_ON : FILES_STOP;
}

static int grep_path(struct grep *g, const char *path)
{
	struct files_work *w = g->work;
	auto_close int fd = -1;
	struct stat st;
	int r;

	if (!files_may(w, path, GRANT_READ))
		return files_fail(w, -EACCES, "outside the grant", path);
	r = files_open(path, O_RDONLY, &fd);
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r != 0)
		return files_fail(w, r, "cannot open", path);
	if (!S_ISREG(st.st_mode))
		return files_walk(w, path, grep_entry, g);
	(void)grep_fd(g, fd, strrchr(path, '/') + 1); /* full is no failure */
	return 0;
}

int files_grep(struct files_work *w)
{
	const struct value *most = value_get(w->job->payload, "max_results");
	auto_free char *buffer = malloc(LINE_MAX_BYTES);
	auto_pattern struct pattern *pattern = NULL;
	struct grep g = { .work = w, .buffer = buffer };
	struct diag diag = { 0 };
	const char *path, *text;
	int r = buffer ? path_of(w, "path", &path) : -ENOMEM;

	if (r == 0)
		r = path_of(w, "pattern", &text);
	if (r != 0)
		return r;
	r = pattern_compile(text, !flag(w->job->payload, "case_sensitive"), &pattern, &diag);
	if (r != 0) {
		(void)snprintf(w->error, sizeof(w->error), "pattern, column %u: %.200s",
			diag.column, diag.text);
		return r;
	}
	if (most && most->kind == VALUE_INT && most->integer > 0 && most->integer <= GREP_MOST)
		w->entries_max = (uint64_t)most->integer;
	g.pattern = pattern;
	g.include = value_get_text(w->job->payload, "include");
	g.exclude = value_get_text(w->job->payload, "exclude");
	return grep_path(&g, path);
}
