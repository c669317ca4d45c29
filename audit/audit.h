/*
 * audit: a tamper-evident, durable record.
 *
 * A log is a directory of segments (*.jsonl), one canonical JSON object a line,
 * chained by SHA-256 and authenticated by a forward-secure MAC and signed
 * checkpoints. docs/audit.md has the format. An append is complete only when
 * its bytes are on disk; appends that arrive together share one write and one
 * fdatasync (group commit) on the log's own thread.
 *
 *	il_audit_open → il_audit_append* → il_audit_close
 *
 * Thread rules: il_audit_append() may be called from any thread and waits for nothing;
 * il_audit_append_wait() waits for the disk, and may do the writing itself. Completion callbacks
 * run on the log's thread; they must only hand over (e.g. uv_async_send()) and
 * return. After the first write error every append fails with that error
 * ("a write error stops execution, not the log"): the owner must stop acting.
 *
 * The library knows no engine: an entry is an event name, ordered text keys and
 * JSON values that the caller made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/value.h"

#define IL_AUDIT_ENTRY_MAX (2u << 20) /* bytes of one line; -E2BIG beyond */
#define IL_AUDIT_ID_SIZE   37         /* a UUID as text, and NUL */

struct il_audit;

struct il_audit_options {
	const char *dir;                   /* made 0700 if absent */
	uint64_t segment_bytes;            /* 0: 64 MiB */
	uint32_t checkpoint_every;         /* entries; 0: 1024 */
	const struct clock *clock;         /* NULL: the machine's */
	const char *const *anchor_command; /* argv that gets each checkpoint on stdin, or NULL */
	bool anchor_syslog;
};

/*
 * What one append records. Texts are copied before il_audit_append() returns; NULL
 * means the key is absent. `details` is any value tree (payload with secrets
 * already replaced); it is written in canonical JSON.
 */
struct il_audit_entry {
	const char *event; /* "ActionProposed" ...; must be one of il_audit_event_name() */
	const char *session;
	const char *origin; /* connection or role that caused it */
	const char *action_type;
	const uint8_t *action_hash; /* SHA256_SIZE bytes or NULL */
	const struct value *details;
	const char *verdict; /* "allow", "ask", "deny" */
	const uint8_t *grant_hash;
	const char *snapshot; /* id of a chronicle snapshot */
	const struct value *attestation;
	bool otr; /* off the record: details and attestation are dropped, hashes stay */
};

struct il_audit_receipt {
	uint64_t seq;
	char id[IL_AUDIT_ID_SIZE];
	uint8_t hash[SHA256_SIZE];
};

/* r: 0 when durable, else -errno and the entry must be taken as not recorded. Runs on the log's
 * thread. */
typedef void (*il_audit_done_fn)(void *ctx, int r, const struct il_audit_receipt *receipt);

enum il_audit_condition {
	IL_AUDIT_E_LOCKED = 1, /* another writer has this log */
	IL_AUDIT_E_BROKEN, /* the tail does not continue what the head file says; reterr_diag has it
			    */
	IL_AUDIT_E_NO_KEY, /* the key file is missing though entries exist */
};

/*
 * Opens or makes a log for writing: takes the lock, reads only the tail, cuts a torn last line
 * (recorded as a LogRecovered entry). 0, -errno or a condition above.
 */
IL_API int il_audit_open(const struct il_audit_options *options, struct il_audit **ret_log,
	struct diag *reterr_diag) MUST_CHECK;
/* Waits for what is queued, writes a signed checkpoint, releases the lock. NULL is fine. */
IL_API void il_audit_close(struct il_audit *log);

/* Queues one entry. Returns 0 and later calls done exactly once, or <0 and never calls it. */
IL_API int il_audit_append(struct il_audit *log, const struct il_audit_entry *entry,
	il_audit_done_fn done, void *ctx) MUST_CHECK;
/* The same, waiting for the disk. */
IL_API int il_audit_append_wait(struct il_audit *log, const struct il_audit_entry *entry,
	struct il_audit_receipt *ret_receipt) MUST_CHECK;

/*
 * The verification key as text ("ilv1:..."), to be kept elsewhere by the user: with it a rewrite
 * by someone who has everything on this machine today is found. Handed out once: after that
 * -ENOENT.
 */
IL_API int il_audit_take_verification_key(struct il_audit *log, char **ret_key) MUST_CHECK;
/* The same beside a running writer. */
IL_API int il_audit_take_verification_key_of(const char *dir, char **ret_key) MUST_CHECK;

/*
 * Removes the segments whose entries are all older, oldest first, and leaves a signed stub in their
 * place so that the rest verifies; recorded as LogPruned. The log must be intact and have no other
 * writer. ret_through: the last entry that is gone; 0: nothing was old enough. 0, -errno or a
 * condition of il_audit_open().
 */
IL_API int il_audit_prune(const char *dir, int64_t before_ns, uint64_t *ret_through,
	struct diag *reterr_diag) MUST_CHECK;

/* ---- reading, without a lock, also while a writer runs ---- */

enum il_audit_damage {
	IL_AUDIT_DAMAGE_NONE,
	IL_AUDIT_DAMAGE_EDIT,
	IL_AUDIT_DAMAGE_REORDER,
	IL_AUDIT_DAMAGE_INSERT,
	IL_AUDIT_DAMAGE_DELETE,
	IL_AUDIT_DAMAGE_TRUNCATION,
	IL_AUDIT_DAMAGE_REPLACEMENT,
	IL_AUDIT_DAMAGE_REWRITE,
	IL_AUDIT_DAMAGE_FORK,
	IL_AUDIT_DAMAGE_SECOND_WRITER,
	IL_AUDIT_DAMAGE_UNREADABLE,
	IL_AUDIT_DAMAGE_N_
};
IL_API const char *il_audit_damage_name(enum il_audit_damage damage);

struct il_audit_verify_options {
	const char *dir;
	const char *key;         /* text of the verification key, or NULL */
	const char *anchor_file; /* checkpoints that an anchor command kept, or NULL */
	uint64_t from_seq;       /* 0: from the first */
	uint64_t to_seq;         /* 0: to the last */
	unsigned threads;        /* 0: all cores */
	bool reference_format;   /* a log of the reference system; dir may be the file itself */
};

struct il_audit_report {
	int status;    /* EXIT_VERIFY_*: 0 intact, 1 broken, 2 cannot tell */
	bool anchored; /* a key or an anchor was checked, not only consistency */
	uint64_t n_entries;
	uint64_t first_seq;
	uint64_t last_seq;
	enum il_audit_damage damage;
	uint64_t bad_seq;              /* first bad entry; 0: none */
	char where[256];               /* "0003.jsonl:17", "head" ... */
	char text[256];                /* one sentence */
	int64_t unratcheted_window_ms; /* what a stolen machine could rewrite, at most; 0 behind a
					  checkpoint */
};
IL_API int il_audit_verify(const struct il_audit_verify_options *options,
	struct il_audit_report *ret_report) MUST_CHECK;

struct il_audit_query {
	const char *session, *event, *action_type, *verdict, *origin; /* NULL: any */
	int64_t since_ns, until_ns;                                   /* 0: open */
	uint64_t from_seq;
	uint64_t limit; /* 0: all */
	bool newest_first;
};
/* One entry as its line and as a tree; both are borrowed for the call. Return non-zero to stop. */
typedef int (*il_audit_entry_fn)(void *ctx, const char *line, size_t n, const struct value *entry);
IL_API int il_audit_read(const char *dir, const struct il_audit_query *query, il_audit_entry_fn fn,
	void *ctx) MUST_CHECK;

/* ---- event names ---- */

/* The reference's 29 events with their ids (1-29), ours from 100. NULL / 0 when unknown. */
IL_API const char *il_audit_event_name(unsigned id);
IL_API unsigned il_audit_event_id(const char *name);
