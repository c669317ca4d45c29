/*
 * The inside of a log that is open for writing.
 *
 *	append (any thread) → queue → the log's thread: one write and one fdatasync for the whole
 *	group → callbacks → [checkpoint: entry, head, key, anchor] → [next segment]
 */
#pragma once

#include <pthread.h>

#include "audit/anchor.h"
#include "audit/audit.h"
#include "audit/head.h"
#include "audit/keys.h"
#include "audit/line.h"
#include "audit/merkle.h"

#define CHECKPOINT_MS 1000u
#define NS_PER_DAY    (INT64_C(86400) * 1000000000)

struct pending {
	struct pending *next;
	struct line_parts parts; /* owned */
	int64_t wall_ns;
	il_audit_done_fn done;
	void *ctx;
	struct il_audit_receipt receipt;
};

struct il_audit {
	int dir_fd, lock_fd, segment_fd; /* owned */
	const struct clock *clock;       /* borrowed; outlives the log */
	uint64_t segment_bytes;
	uint32_t checkpoint_every;

	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct pending *first, **last; /* the queue, under the mutex */
	size_t n_queued, queued_bytes;
	bool closing;
	int error;      /* the first write error, under the mutex */
	bool is_busy;   /* someone has the turn: the thread, or a caller that writes for itself */
	bool is_asleep; /* the thread waits without a limit of time */

	/* Only who has the turn touches what follows. */
	int write_error;         /* of a caller's own write */
	struct line_chain chain; /* of the entry that comes next */
	struct audit_keys keys;
	struct anchor anchor;
	struct merkle merkle;
	uint64_t n_since_checkpoint;
	uint64_t unsealed_ms; /* monotonic time of the first entry since the last checkpoint */
	uint32_t segment;
	uint64_t segment_size;
	uint64_t allocated; /* bytes of the segment that have their place on the disk */
	int64_t segment_day;
};

/* One entry of the log's own; only by the thread, or while there is none. */
int log_write_own(struct il_audit *log, const char *event, const struct value *details) MUST_CHECK;
int log_checkpoint(struct il_audit *log) MUST_CHECK;
int log_start(struct il_audit *log) MUST_CHECK;
/* Gives back what was allocated and never written. */
void log_trim(struct il_audit *log);

/*
 * Follows the log from the last checkpoint on disk to its end, checks every entry on the way, and
 * cuts what a crash left unfinished.
 */
int log_recover(struct il_audit *log, struct diag *reterr_diag) MUST_CHECK;
