/*
 * Messages: the body of a frame, checked field by field against one table.
 *
 * The table (message_table.c) is the one place that says which messages there
 * are, which fields they have with which types and limits, who may send them in
 * which state, where in a stream they stand, and how often. docs/protocol.md
 * has each with a test vector.
 *
 *	payload → message_decode() → struct message → message_text(m, "path") ...
 *	body (a map) → message_encode() → frame
 *
 * Decoding and encoding use the same check, so that we never send what we
 * would refuse. Memory of a decoded message is the arena's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/errors.h"
#include "base/value.h"
#include "ipc/role.h"

#define MESSAGE_PROTOCOL    1 /* the version spoken here; agreed in hello */
#define MESSAGE_FIELDS_MAX  16
#define MESSAGE_ARENA_LIMIT (16u << 20) /* any frame of 1 MiB that is not made to be wide */

/* Every message. The names on the wire are the lower-case words. */
enum message_kind {
	MESSAGE_NONE,
	/* the connection */
	MESSAGE_HELLO,
	MESSAGE_WELCOME,
	MESSAGE_CANARY,
	MESSAGE_ERROR,
	MESSAGE_OK,
	MESSAGE_CHUNK,
	MESSAGE_CREDIT,
	MESSAGE_CANCEL,
	/* actions */
	MESSAGE_PROPOSE,
	MESSAGE_EVALUATE,
	MESSAGE_EVENT,
	MESSAGE_RESULT,
	MESSAGE_VERDICT,
	/* agent: what the engine tells it */
	MESSAGE_PROCESS,
	MESSAGE_TOOL_RESULT,
	MESSAGE_TOOL_DEFS,
	MESSAGE_SHUTDOWN, /* also from a client to the engine */
	/* agent: what it tells the engine */
	MESSAGE_LLM_TOKEN,
	MESSAGE_TOOL_PROPOSAL,
	MESSAGE_TOOL_DEFS_REQUEST,
	MESSAGE_MEMORY_FLUSH,
	MESSAGE_RESPONSE_COMPLETE,
	MESSAGE_AGENT_ERROR,
	MESSAGE_MODEL_CALL,
	MESSAGE_MODEL_END,
	/* sub-agent and judge */
	MESSAGE_TASK,
	MESSAGE_TASK_MESSAGE,
	MESSAGE_TASK_COMPLETE,
	MESSAGE_TASK_FAILED,
	MESSAGE_JUDGE,
	MESSAGE_JUDGEMENT,
	/* clients */
	MESSAGE_SEND_MESSAGE,
	MESSAGE_REPLAY,
	MESSAGE_SUBSCRIBE,
	MESSAGE_STATUS,
	MESSAGE_STATUS_INFO,
	MESSAGE_HEALTH,
	MESSAGE_SHIELD_STATUS,
	MESSAGE_SHIELD_INFO,
	MESSAGE_SESSIONS,
	MESSAGE_SESSION_LIST,
	MESSAGE_SESSION_NEW,
	MESSAGE_SESSION_INFO,
	MESSAGE_SESSION_DELETE,
	MESSAGE_HISTORY,
	MESSAGE_HISTORY_PAGE,
	MESSAGE_APPROVALS,
	MESSAGE_APPROVAL_LIST,
	MESSAGE_APPROVAL_ANSWER,
	MESSAGE_WHY,
	MESSAGE_WHY_INFO,
	MESSAGE_AUDIT_QUERY,
	MESSAGE_AUDIT_PAGE,
	MESSAGE_AUDIT_VERIFY,
	MESSAGE_AUDIT_STATE,
	MESSAGE_CHRONICLE_LIST,
	MESSAGE_CHRONICLE_PAGE,
	MESSAGE_CHRONICLE_DIFF,
	MESSAGE_CHRONICLE_CHANGES,
	MESSAGE_CHRONICLE_ROLLBACK,
	MESSAGE_CHRONICLE_VERIFY,
	MESSAGE_CHRONICLE_STATE,
	MESSAGE_COMMANDS,
	MESSAGE_COMMAND_LIST,
	MESSAGE_COMMAND_LOGS,
	MESSAGE_COMMAND_OUTPUT,
	MESSAGE_COMMAND_KILL,
	MESSAGE_TOKEN_CREATE,
	MESSAGE_TOKEN,
	MESSAGE_PAUSE,
	MESSAGE_RESUME,
	MESSAGE_PANIC,
	MESSAGE_RESTART,
	MESSAGE_RELOAD,
	/* workers: one connected descriptor comes with `connected` */
	MESSAGE_CONNECT,
	MESSAGE_CONNECTED,
	MESSAGE_FETCH,
	MESSAGE_FETCH_HEAD,
	MESSAGE_FETCH_END,
	MESSAGE_N_
};

enum message_field_type {
	MESSAGE_FIELD_TEXT, /* max: bytes */
	MESSAGE_FIELD_WORD, /* text, one of `words` */
	MESSAGE_FIELD_UINT, /* 0..max */
	MESSAGE_FIELD_INT,  /* any */
	MESSAGE_FIELD_BOOL,
	MESSAGE_FIELD_BYTES, /* max: bytes */
	MESSAGE_FIELD_MAP,   /* any map; max: keys at the top */
	MESSAGE_FIELD_ARRAY, /* any items; max: items */
	MESSAGE_FIELD_TEXTS, /* array of text; max: items, 4 KiB each */
	MESSAGE_FIELD_MAPS,  /* array of maps; max: items */
	MESSAGE_FIELD_ANY,
	MESSAGE_FIELD_N_
};

struct message_field {
	const char *name; /* NULL ends the list */
	enum message_field_type type;
	bool required;
	uint64_t max;
	const char *words; /* MESSAGE_FIELD_WORD: separated by one blank */
};

/* States of a connection as the sender's right depends on it; connection.h has the story. */
enum message_state {
	MESSAGE_STATE_CLOSED, /* 0: nothing is right any more */
	MESSAGE_STATE_HELLO,  /* nobody yet */
	MESSAGE_STATE_CANARY, /* known, but not proved to be confined */
	MESSAGE_STATE_READY,
	MESSAGE_STATE_N_
};

/* Where in a stream a message stands. */
enum message_place {
	MESSAGE_ON_CONNECTION, /* stream 0 */
	MESSAGE_OPENS,         /* a new stream, numbered by its sender */
	MESSAGE_CONTINUES,     /* within an open stream */
	MESSAGE_ENDS,          /* within an open stream, as its last message */
	MESSAGE_ANYWHERE,      /* `error`: on stream 0 before the close; ends any other stream */
};

/* One row: a message from these senders. */
struct message_type {
	const char *name;
	unsigned senders; /* of ROLE_BIT() */
	enum message_state state;
	enum message_place place;
	/* MESSAGE_CONTINUES, _ENDS: the kinds of message that opened the stream; NONE ends the list
	 */
	const enum message_kind *within;
	uint32_t most;       /* times a connection; 0: any number */
	uint32_t per_second; /* sustained, with a burst of as much again; 0: the connection's quota
				alone */
	bool is_work;        /* counts among the proposals in flight while its stream is open */
	const struct message_field *fields;
};

extern const struct message_type message_types[MESSAGE_N_];

const char *message_name(enum message_kind kind);
/* MESSAGE_NONE when unknown. */
enum message_kind message_kind_find(const char *name, size_t n);

/*
 * May this role send this, in this state? One of the three answers is for the
 * peer, all are for the log.
 */
enum message_right {
	MESSAGE_RIGHT_NO_ROLE, /* 0: this role never */
	MESSAGE_RIGHT_NO_STATE,
	MESSAGE_RIGHT_YES,
};
enum message_right message_right(
	enum message_kind kind, enum role sender, enum message_state state);

struct message {
	enum message_kind kind;
	uint64_t stream;
	const struct value *body; /* a map that passed the table */
};

enum {
	MESSAGE_E_UNKNOWN = 1, /* no such kind */
	MESSAGE_E_MALFORMED,   /* no frame, or no strict msgpack to the last byte */
	MESSAGE_E_FIELD, /* a field is unknown, missing, of the wrong type or over its limit */
};

/*
 * Decodes the body of a frame already parsed, whose kind is known. reterr_field (may be NULL) is
 * filled on MESSAGE_E_FIELD with the field's name and what is wrong.
 */
struct frame;
int message_decode_body(struct arena *a, enum message_kind kind, const struct frame *frame,
	struct message *ret_message, struct diag *reterr_field) MUST_CHECK;
/* Frame and body in one: clients, tests, fuzzers. */
int message_decode(struct arena *a, const uint8_t *payload, size_t size,
	struct message *ret_message, struct diag *reterr_field) MUST_CHECK;
/*
 * Appends a whole frame to b. 0, MESSAGE_E_FIELD (our own bug, named in reterr_field), -E2BIG over
 * limit (b is then unchanged), -ENOMEM. A NULL body is the empty map.
 */
int message_encode(struct buf *b, enum message_kind kind, uint64_t stream, const struct value *body,
	uint32_t limit, struct diag *reterr_field) MUST_CHECK;
/* Only the check. */
int message_check(enum message_kind kind, const struct value *body, struct diag *reterr_field)
	MUST_CHECK;

/* Fields of a checked message: the fallback where an optional one is absent. */
const char *message_text(const struct message *m, const char *field); /* NULL when absent */
bool message_bool(const struct message *m, const char *field, bool fallback);
int64_t message_int(const struct message *m, const char *field, int64_t fallback);
const struct value *message_value(const struct message *m, const char *field);

/*
 * Names of errors, in `error`. `unavailable` is true where the message is known
 * and its feature is not there.
 */
enum message_error {
	MESSAGE_ERROR_INTERNAL,
	MESSAGE_ERROR_MALFORMED,
	MESSAGE_ERROR_OVERSIZE,
	MESSAGE_ERROR_UNAUTHORIZED, /* wrong token, user or process: never which */
	MESSAGE_ERROR_FORBIDDEN,    /* this role never sends this */
	MESSAGE_ERROR_OUT_OF_TURN,  /* not in this state, or not in this stream */
	MESSAGE_ERROR_BAD_FIELD,
	MESSAGE_ERROR_UNKNOWN_MESSAGE,
	MESSAGE_ERROR_UNAVAILABLE,
	MESSAGE_ERROR_QUOTA,
	MESSAGE_ERROR_TIMEOUT,
	MESSAGE_ERROR_NOT_FOUND,
	MESSAGE_ERROR_CONFLICT,
	MESSAGE_ERROR_STOPPING,
	MESSAGE_ERROR_PROTOCOL, /* no common version */
	MESSAGE_ERROR_N_
};
const char *message_error_name(enum message_error error);

/*
 * The 13 kinds of event that are about actions and answers, and ours. Their fields are
 * in docs/protocol.md; `data` of an `event` holds them.
 */
enum event_kind {
	EVENT_LLM_TOKEN,
	EVENT_ACTION_STARTED,
	EVENT_SHIELD_VERDICT,
	EVENT_ACTION_COMPLETED,
	EVENT_RESPONSE_COMPLETE,
	EVENT_OTR_BLOCKED,
	EVENT_ERROR,
	EVENT_APPROVAL_REQUIRED,
	EVENT_SUB_AGENT_SPAWNED,
	EVENT_SUB_AGENT_PROGRESS,
	EVENT_SUB_AGENT_COMPLETED,
	EVENT_SUB_AGENT_FAILED,
	EVENT_SUB_AGENT_CANCELLED,
	/* not among the reference's */
	EVENT_ACTION_PROPOSED,
	EVENT_SNAPSHOT_TAKEN,
	EVENT_APPROVAL_SETTLED,
	EVENT_LOG_ENTRY,
	EVENT_SESSION_CREATED,
	EVENT_ENGINE_STATE,
	EVENT_N_
};
const char *event_name(enum event_kind kind);
