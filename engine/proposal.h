/*
 * A proposal is one action on its way from decoding to reply. It is the one thing
 * the pipeline's steps work on; each step reads what earlier ones left here and adds
 * its own.
 *
 *	proposal_new() → pipeline_run() ... → reply sent → proposal_free()
 *
 * The connection may go away at any time: `connection` is then NULL, `cancelled` is
 * set, and the proposal still ends properly (sealed, recorded), only without a reply.
 * Everything it owns is in its arena, but for the result's content.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "base/arena.h"
#include "base/buf.h"
#include "chronicle/chronicle.h"
#include "ipc/connection.h"
#include "shield/shield.h"

struct engine;
struct command;
struct files_run;
struct files_run;

#define PROPOSAL_ARENA_LIMIT (24u << 20)

enum proposal_kind {
	PROPOSAL_EVALUATE,
	PROPOSAL_PROPOSE,
	PROPOSAL_TOOL
};

/* In the order of the wire's words. */
enum proposal_status {
	STATUS_EXECUTED,
	STATUS_DENIED,
	STATUS_NEEDS_APPROVAL,
	STATUS_FAILED,
	STATUS_CANCELLED,
	STATUS_INTERRUPTED,
	STATUS_N_
};
const char *proposal_status_name(enum proposal_status status);

/* One writable thing of the verdict, as the chronicle and the queue of writers need it. */
struct place {
	const char *root, *path; /* absolute; relative */
	bool recursive, may_create, deletes;
	int fd; /* of root while the chronicle works; else -1 */
};

struct proposal {
	struct proposal *next; /* in engine.proposals */
	struct engine *engine;
	struct arena arena;
	struct connection *connection; /* NULL once closed, and for the engine's own */
	uint64_t stream, connection_id;
	enum role role;
	enum proposal_kind kind;
	uint64_t number;  /* of the action; rises over all runs of the engine */
	uint64_t process; /* PROPOSAL_TOOL: the engine's stream it works for */
	const char *call; /* PROPOSAL_TOOL */
	const char *session;
	bool otr, wait, cancelled, explain;
	bool approved; /* by a person; approval has which */
	const char *approval;

	struct il_action action;
	struct il_analysis analysis;
	struct il_fact *facts;
	size_t n_facts;
	struct il_verdict verdict;
	const struct value *redacted; /* payload for records */

	struct place *places;
	size_t n_places;
	bool holds_places; /* counts among the running writers */
	bool waits_turn;   /* writers_leave() resumes it */

	/* the record */
	unsigned n_pending; /* asynchronous parts of the present step */
	int record_error;
	const char *record_failed; /* "audit" or "chronicle" */
	bool intended;             /* the intent is durable */
	bool begun;                /* snapshot is open */
	char snapshot[IL_SNAPSHOT_ID_SIZE];
	const struct value *changes; /* what the after-scan found */
	uint64_t n_changes;

	/* the result */
	enum proposal_status status;
	struct buf content; /* owned */
	const char *error;
	bool truncated, has_exit_status;
	uint64_t truncated_at;
	int exit_status;
	const struct value *data;
	const struct value *attestation;
	struct command *command; /* borrowed: while one runs */
	struct files_run *files; /* borrowed: while the files program runs */

	size_t step;  /* of pipeline.c's list */
	bool running; /* pipeline_run() is on the stack */
	bool resumed;
};

struct proposal *proposal_new(struct engine *e, enum proposal_kind kind) MUST_CHECK;
struct proposal *proposal_free(struct proposal *p);
/* Ends it with this status and sentence; the first one stays. */
void proposal_fail(struct proposal *p, enum proposal_status status, const char *format, ...)
	PRINTF_LIKE(3, 4);
const struct il_fact *proposal_fact(const struct proposal *p, const char *path);
const char *proposal_text(const struct proposal *p, const char *field); /* of the payload; NULL */
int64_t proposal_int(const struct proposal *p, const char *field, int64_t fallback);
bool proposal_bool(const struct proposal *p, const char *field);
/* Absolute and canonical: the payload's path against cwd; `fallback` when it is absent. NULL: no
 * memory. */
const char *proposal_path(struct proposal *p, const char *field, const char *fallback);
