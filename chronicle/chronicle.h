/*
 * chronicle: every change can be taken back.
 *
 *	il_chronicle_begin(places) → (the action runs) → il_chronicle_seal(outcome)
 *
 * begin records the state of everything the action may change (content, mode,
 * owner, mtime, xattrs, ACLs, link groups, holes, and absence) and returns only
 * when that is on disk. seal records what was changed. A rollback brings back
 * the state before or after a snapshot and is itself a snapshot.
 *
 * Places are descriptors plus relative paths; the library never resolves a
 * string from the root and never leaves a place's directory.
 *
 * All calls block (disk) and may be made from any one thread at a time per
 * chronicle; the engine calls them from a worker thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/value.h"

#define IL_SNAPSHOT_ID_SIZE 33 /* 32 hex digits and NUL; sorts by age */

struct il_chronicle;

struct il_chronicle_options {
	const char *dir;            /* the store, made 0700 if absent */
	const struct clock *clock;  /* NULL: the machine's */
	uint64_t file_bytes_max;    /* a larger file is left out and named; 0: 1 GiB */
	uint64_t store_bytes_max;   /* quota; 0: 10 GiB */
	uint32_t keep_snapshots;    /* 0: 100 */
	uint32_t keep_days;         /* 0: 30 */
	const char *const *exclude; /* names or paths of trees that recursive places leave out
				       (node_modules ...) */
	size_t n_exclude;
	bool read_only; /* list, show, diff, verify: no lock taken */
};

enum il_chronicle_condition {
	IL_CHRONICLE_E_LOCKED = 1, /* another process writes to this store */
	IL_CHRONICLE_E_BROKEN,     /* the store does not verify; reterr_diag names what */
	IL_CHRONICLE_E_QUOTA, /* full of what may not be pruned; mutating actions must be refused */
	IL_CHRONICLE_E_CONFLICT, /* the present state is not what the action left */
	IL_CHRONICLE_E_UNKNOWN,  /* no such snapshot */
	IL_CHRONICLE_E_ERASED,   /* its content was forgotten */
};

IL_API int il_chronicle_open(const struct il_chronicle_options *options,
	struct il_chronicle **ret_chronicle, struct diag *reterr_diag) MUST_CHECK;
IL_API void il_chronicle_close(struct il_chronicle *c);

/* One thing an action may change. */
struct il_chronicle_place {
	int dir_fd; /* borrowed during the call */
	const char
		*root; /* the real path of dir_fd, recorded so that a later rollback can find it */
	const char *path;       /* relative; "" is the directory itself */
	bool recursive;         /* everything beneath it (the writable part of a command's grant) */
	bool may_create;        /* it may not exist yet: record absence */
	bool ignore_exclusions; /* the action deletes it: capture left-out trees after all */
};

struct il_snapshot_info {
	const char *session;        /* or NULL */
	const char *action_type;    /* "write_file" */
	const char *summary;        /* one line, for lists */
	const uint8_t *action_hash; /* or NULL */
};

/*
 * Durable when it returns 0. Refuses (-EFBIG ...) rather than leaving out silently what a
 * non-recursive place names. ret_left_out counts what recursive places left out; the snapshot lists
 * them.
 */
IL_API int il_chronicle_begin(struct il_chronicle *c, const struct il_snapshot_info *info,
	const struct il_chronicle_place *places, size_t n_places,
	char ret_id[static IL_SNAPSHOT_ID_SIZE], uint64_t *ret_left_out, struct diag *reterr_diag)
	MUST_CHECK;

enum il_snapshot_outcome {
	IL_OUTCOME_INTERRUPTED, /* never sealed: the process died in between */
	IL_OUTCOME_DONE,
	IL_OUTCOME_FAILED,
	IL_OUTCOME_CANCELLED,
	IL_OUTCOME_N_
};

enum il_change_kind {
	IL_CHANGE_CREATED,
	IL_CHANGE_MODIFIED,
	IL_CHANGE_DELETED,
	IL_CHANGE_ATTRIBUTES,
	IL_CHANGE_TYPE,
	IL_CHANGE_N_
};
struct il_change {
	enum il_change_kind kind;
	const char *root, *path; /* borrowed for the call */
	uint64_t size_before, size_after;
};
typedef int (*il_change_fn)(void *ctx, const struct il_change *change);

/* The after-scan: records and reports exactly what changed. fn may be NULL. */
IL_API int il_chronicle_seal(struct il_chronicle *c, const char *id,
	enum il_snapshot_outcome outcome, il_change_fn fn, void *ctx) MUST_CHECK;
/* Snapshots that were begun and never sealed, oldest first. */
IL_API int il_chronicle_unsealed(
	struct il_chronicle *c, int (*fn)(void *ctx, const char *id), void *ctx) MUST_CHECK;

struct il_snapshot {
	char id[IL_SNAPSHOT_ID_SIZE];
	int64_t time_ns;
	const char *session, *action_type, *summary;
	enum il_snapshot_outcome outcome;
	bool pruned;
	uint64_t n_objects, n_changes, n_left_out;
	const char *undoes; /* id of the snapshot that this rollback took back, or NULL */
};
typedef int (*il_snapshot_fn)(void *ctx, const struct il_snapshot *snapshot);
IL_API int il_chronicle_list(struct il_chronicle *c, il_snapshot_fn fn, void *ctx) MUST_CHECK;
IL_API int il_chronicle_changes(struct il_chronicle *c, const char *id, il_change_fn fn, void *ctx)
	MUST_CHECK;
/* What recursive places of a snapshot left out, with the reason in words. */
typedef int (*il_left_out_fn)(void *ctx, const char *path, const char *reason);
IL_API int il_chronicle_left_out(
	struct il_chronicle *c, const char *id, il_left_out_fn fn, void *ctx) MUST_CHECK;

enum il_side {
	IL_SIDE_BEFORE,
	IL_SIDE_AFTER
};

struct il_rollback {
	const char *id;
	const char *const *paths; /* relative to the root; none: all that the snapshot changed */
	size_t n_paths;
	enum il_side side;
	bool dry_run;
	bool force; /* though the present state is not what the action left */
};
/*
 * fn gets each change that is (or would be) made, or on IL_CHRONICLE_E_CONFLICT each conflict.
 * ret_id is the rollback's own snapshot, so that undo can be undone.
 */
IL_API int il_chronicle_rollback(struct il_chronicle *c, const struct il_rollback *what,
	il_change_fn fn, void *ctx, char ret_id[static IL_SNAPSHOT_ID_SIZE],
	struct diag *reterr_diag) MUST_CHECK;
/* Writes one object's content to fd. */
IL_API int il_chronicle_cat(struct il_chronicle *c, const char *id, const char *path,
	enum il_side side, int fd) MUST_CHECK;

/* What the store holds on disk. */
IL_API uint64_t il_chronicle_bytes(const struct il_chronicle *c);

struct il_chronicle_report {
	int status; /* EXIT_VERIFY_* */
	uint64_t n_snapshots, n_blobs, n_bytes;
	char text[256];
	char snapshot[IL_SNAPSHOT_ID_SIZE]; /* the first bad one, or "" */
};
IL_API int il_chronicle_verify(struct il_chronicle *c, struct il_chronicle_report *ret_report)
	MUST_CHECK;
IL_API int il_chronicle_prune(struct il_chronicle *c, const char *const *live_sessions,
	size_t n_live_sessions, uint64_t *ret_n_pruned) MUST_CHECK;
IL_API int il_chronicle_forget(struct il_chronicle *c, const char *path, uint64_t *ret_n_erased)
	MUST_CHECK;
