/*
 * The work of interlock-files: one job under one grant (ipc/files_job.h).
 *
 * The kernel holds the grant where it can (sandbox profile FILES). Places that
 * a grant hides inside a granted tree are more than a sandbox without mounts can
 * hold: every entry is therefore looked up in the grant too, before it is read,
 * copied or removed. Paths are resolved by the kernel without following links, and
 * walked by descriptors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "ipc/files_job.h"

#define FILES_DEPTH_MAX 64
#define FILES_NAMES_MAX 200000u /* in one directory */
#define FILES_PATH_MAX  4096u

struct files_work {
	const struct files_job *job; /* borrowed */
	const struct clock *clock;
	uint64_t deadline_ms;
	uint64_t entries_max;
	struct buf content;
	uint64_t n_entries;
	bool truncated;
	char error[256]; /* why the job failed; "" */
};

/* Does the job; the answer's content and error are borrowed from w until files_work_done(). */
void files_work_run(struct files_work *w, const struct files_job *job, const struct clock *clock,
	struct files_answer *ret_answer);
void files_work_done(struct files_work *w);

/* ---- between the files of the worker ---- */

/* Says why; returns r. */
int files_fail(struct files_work *w, int r, const char *what, const char *path);
bool files_may(const struct files_work *w, const char *path, uint32_t rights);
bool files_is_late(const struct files_work *w);
/* Opens without following any link, from the root. */
int files_open(const char *path, int flags, int *ret_fd) MUST_CHECK;
/* The directory that holds the last component, which ret_name (inside path) is. */
int files_open_parent(const char *path, int *ret_fd, const char **ret_name) MUST_CHECK;
/* One line of the answer; false when it is full, which is then marked. */
bool files_line(struct files_work *w, const char *format, ...) PRINTF_LIKE(2, 3);

struct files_entry {
	int dirfd;
	const char *name;
	const char *path;     /* absolute */
	const char *relative; /* to where the walk began */
	struct stat st;       /* of the entry itself, links not followed */
};

enum files_next {
	FILES_ON,
	FILES_SKIP, /* do not go into this directory */
	FILES_STOP,
};

/*
 * Visits every entry beneath a directory that the grant lets read, in the order of the names,
 * directories before what is in them. 0 or -errno.
 */
typedef enum files_next (*files_visit_fn)(void *ctx, const struct files_entry *entry);
int files_walk(struct files_work *w, const char *path, files_visit_fn visit, void *ctx) MUST_CHECK;

int files_list(struct files_work *w) MUST_CHECK;
int files_search(struct files_work *w) MUST_CHECK;
int files_grep(struct files_work *w) MUST_CHECK;
int files_copy_directory(struct files_work *w) MUST_CHECK;
int files_move_directory(struct files_work *w) MUST_CHECK;
int files_delete_directory(struct files_work *w) MUST_CHECK;
