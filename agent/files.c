#include "agent/files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

#define WALL_DEFAULT_MS 10000u
#define TEXT_DEFAULT    (256u << 10)

struct files_action {
	const char *type;
	uint64_t entries_default;
	int (*run)(struct files_work *w);
};

static const struct files_action actions[] = {
	{ "list_directory", 500, files_list },
	{ "search_files", 100, files_search },
	{ "grep_files", 50, files_grep },
	{ "copy_directory", 1000000, files_copy_directory },
	{ "move_directory", 1000000, files_move_directory },
	{ "delete_directory", 1000000, files_delete_directory },
};

int files_fail(struct files_work *w, int r, const char *what, const char *path)
{
	if (w->error[0] == '\0')
		(void)snprintf(
			w->error, sizeof(w->error), "%s: %.180s: %s", what, path, strerror(-r));
	return r;
}

bool files_may(const struct files_work *w, const char *path, uint32_t rights)
{
#ifdef MUTATION_FILES_GRANT
	(void)w;
	(void)path;
	(void)rights;
	return true;
#else
	return (grant_rights_on(&w->job->grant, path) & rights) == rights;
#endif
}

bool files_is_late(const struct files_work *w)
{
	return clock_monotonic_ms(w->clock) >= w->deadline_ms;
}

int files_open(const char *path, int flags, int *ret_fd)
{
	/* openat2() refuses flags that O_PATH would ignore. */
	int more = (flags & O_PATH) != 0 ? O_CLOEXEC : O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct open_how how = { .flags = (unsigned)(flags | more),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	long fd;

	if (path[0] != '/')
		return -EINVAL;
	fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	*ret_fd = (int)fd;
	return 0;
}

int files_open_parent(const char *path, int *ret_fd, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[FILES_PATH_MAX];
	int r;

	if (!slash || slash[1] == '\0' || (size_t)(slash - path) >= sizeof(parent))
		return -EINVAL;
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	r = files_open(parent[0] ? parent : "/", O_PATH | O_DIRECTORY, ret_fd);
	if (r == 0)
		*ret_name = slash + 1;
	return r;
}

bool files_line(struct files_work *w, const char *format, ...)
{
	size_t before = w->content.size;
	va_list args;

	if (w->n_entries >= w->entries_max) {
		w->truncated = true;
		return false;
	}
	va_start(args, format);
	buf_vprintf(&w->content, format, args);
	va_end(args);
	buf_byte(&w->content, '\n');
	if (buf_error(&w->content) == 0) {
		w->n_entries++;
		return true;
	}
	if (before > 0)
		w->content.data[before] = '\0'; /* half a line is none */
	w->content.size = before;
	w->content.error = 0;
	w->truncated = true;
	return false;
}

static void mark_truncation(struct files_work *w)
{
	if (!w->truncated)
		return;
	w->content.limit += 128;
	buf_printf(&w->content, "[truncated at %llu entries]\n", (unsigned long long)w->n_entries);
}

static int run(struct files_work *w)
{
	for (size_t i = 0; i < N_ELEMENTS(actions); i++) {
		if (strcmp(actions[i].type, w->job->type) != 0)
			continue;
		w->entries_max =
			w->job->entries_max ? w->job->entries_max : actions[i].entries_default;
		return actions[i].run(w);
	}
	return files_fail(w, -ENOTSUP, "no job of this program", w->job->type);
}

void files_work_run(struct files_work *w, const struct files_job *job, const struct clock *clock,
	struct files_answer *ret_answer)
{
	size_t text_max = job->text_max ? job->text_max : TEXT_DEFAULT;
	int r;

	if (text_max > FILES_ANSWER_LIMIT / 2)
		text_max = FILES_ANSWER_LIMIT / 2;
	*w = (struct files_work){ .job = job, .clock = clock, .content = BUF_INIT(text_max) };
	w->deadline_ms =
		clock_monotonic_ms(clock) + (job->wall_ms ? job->wall_ms : WALL_DEFAULT_MS);
	r = run(w);
	mark_truncation(w);
	if (r != 0)
		(void)files_fail(w, r, "failed", job->type);
	*ret_answer = (struct files_answer){ .ok = r == 0,
		.content = buf_get_text(&w->content),
		.error = r == 0 ? NULL : w->error,
		.code = -r,
		.n_entries = w->n_entries,
		.truncated = w->truncated };
}

void files_work_done(struct files_work *w)
{
	buf_done(&w->content);
}
