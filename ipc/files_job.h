/*
 * One job of the program interlock-files: what the engine asks, under which
 * grant, and what comes back.
 *
 *	engine: files_job_encode() → a memfd, the worker's standard input
 *	worker: confines itself to the grant, works, files_answer_encode() → standard output, a pipe
 *	engine: reads the pipe to its end (at most FILES_ANSWER_LIMIT) → files_answer_decode()
 *
 * The worker has no other descriptor but stderr, no network and no child; it exits 0 when
 * it has answered, whatever the answer is, 71 when it could not confine itself
 * and 70 for a job it cannot read. An answer that is cut is no answer.
 *
 * Jobs, by the names of the action table, with its payloads. Every path is
 * absolute and canonical and lies under the grant:
 *
 *	list_directory {path, recursive?}
 *	search_files {path, pattern}
 *	grep_files {pattern, path, include?, exclude?, max_results?, case_sensitive?}
 *	copy_directory, move_directory {source, destination}
 *	delete_directory {path}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/errors.h"
#include "base/grant.h"
#include "base/value.h"

#define FILES_JOB_LIMIT    (1u << 20)
#define FILES_ANSWER_LIMIT (2u << 20)

struct files_job {
	const char *type;
	const struct value *payload; /* a map */
	struct grant grant;
	uint64_t wall_ms;     /* 0: 10,000 */
	uint64_t entries_max; /* results, or entries changed; 0: the action's own */
	uint64_t text_max;    /* bytes of the answer's content; 0: 256 KiB */
};

struct files_answer {
	bool ok;
	const char *content;      /* for the agent; never NULL */
	const char *error;        /* one sentence; NULL when ok */
	int code;                 /* errno of the failure, 0 when ok */
	uint64_t n_entries;       /* found or changed */
	bool truncated;           /* there is more than content shows */
	const struct value *data; /* a map with details, or NULL */
};

/* Appends; 0, -E2BIG, -ENOMEM. */
int files_job_encode(struct buf *b, const struct files_job *job) MUST_CHECK;
/* 0, or -EBADMSG with the reason. Memory is the arena's. */
int files_job_decode(struct arena *a, const void *bytes, size_t n, struct files_job *ret_job,
	struct diag *reterr_diag) MUST_CHECK;
int files_answer_encode(struct buf *b, const struct files_answer *answer) MUST_CHECK;
int files_answer_decode(
	struct arena *a, const void *bytes, size_t n, struct files_answer *ret_answer) MUST_CHECK;
