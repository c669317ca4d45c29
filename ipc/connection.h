/*
 * A connection is one peer of the engine, from accept() to close(), on a libuv
 * loop.
 *
 *	HELLO ──hello, token ok──> READY                     (agent.sock, engine.sock)
 *	  │         └──> CANARY ──report accepted──> READY   (inherited socketpair)
 *	  └── anything unexpected, EOF, deadline, quota ──> CLOSED ──> (freed by its handles)
 *
 * HELLO   one hello of at most 4 KiB within 2 s, nothing else.
 * CANARY  one canary report of at most 64 KiB within the canary's deadline, nothing else.
 * READY   what the table of message.h gives the role.
 * CLOSED  what was queued may still leave (1 s); nothing is read. on_closed was called.
 *
 * A connection never decides about an action: it hands checked messages up. A
 * refusal is reported once (on_refused), answered with `error` where the peer
 * may know, and closes; other connections do not notice. What is bounded, per
 * connection: frame size, streams, work in flight, messages and bytes a second
 * (reading stops until the bucket refills), and bytes queued to a peer that does not
 * read: above the soft limit we stop reading from it, above the hard limit it is closed.
 * One peer is read at most one buffer a turn of the loop.
 *
 * All callbacks come from the loop. A callback may call anything here, also
 * connection_close() on its own connection, which stays valid until it returns
 * to the loop. Messages and their memory end with the callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/clock.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "ipc/token.h"

struct connection;
struct connection_server;
struct listener;

struct connection_refusal {
	enum message_error error;
	enum message_kind kind; /* of the message refused; NONE when it is not known */
	const char *why;        /* one sentence, ours; holds no bytes of the peer */
};

struct connection_callbacks {
	/* The peer is who it must be, `welcome` is sent. May be NULL. */
	void (*on_ready)(void *ctx, struct connection *c);
	/* The report of a confined peer. True: it is good, the state becomes READY and on_ready
	 * follows. NULL: every report is refused. */
	bool (*on_canary)(void *ctx, struct connection *c, const char *report, size_t n);
	/* A message that the table allows: opening, continuing or ending a stream. */
	void (*on_message)(void *ctx, struct connection *c, const struct message *m);
	/* A stream the peer waits on was withdrawn: by `cancel`, or because the connection ends. */
	void (*on_cancelled)(void *ctx, struct connection *c, uint64_t stream);
	/* Credit came for a stream after connection_chunk() said there was none. May be NULL. */
	void (*on_credit)(void *ctx, struct connection *c, uint64_t stream);
	/* For the audit; the rate limit is in n_suppressed: how many were not reported before this.
	 * May be NULL. */
	void (*on_refused)(void *ctx, struct connection *c,
		const struct connection_refusal *refusal, uint64_t n_suppressed);
	/* The last word about this connection; every open stream was cancelled before. */
	void (*on_closed)(void *ctx, struct connection *c);
	/* Fills what `welcome` says beyond protocol and connection: returns a map with any of its
	 * optional fields, in the arena; or NULL. May be NULL. */
	const struct value *(*welcome)(void *ctx, struct connection *c, struct arena *a);
};

/* Limits of one connection. 0 means "the default" in each. */
struct connection_quota {
	uint32_t streams;                  /* 256 */
	uint32_t work;                     /* 64 */
	uint32_t messages_per_second;      /* clients 0: unlimited; others 500 */
	uint64_t bytes_per_second;         /* 64 MiB of clients, 8 MiB of others */
	uint64_t queued_soft, queued_hard; /* 256 KiB, 2 MiB */
	uint64_t hello_ms, canary_ms;      /* 2,000 and 30,000 */
};

struct connection_server_config {
	uv_loop_t *loop;
	const struct clock *clock;
	struct token_book *tokens; /* borrowed; outlives the server */
	struct connection_callbacks callbacks;
	void *ctx;
	struct connection_quota quota;
	uint32_t connections_max; /* 0: 1,280 */
	uint32_t strangers_max;   /* not yet authenticated, over all; 0: 128. The oldest goes */
};

int connection_server_open(const struct connection_server_config *config,
	struct connection_server **ret_server) MUST_CHECK;
/* Closes all listeners and connections; memory goes when the loop has run their close callbacks. */
void connection_server_close(struct connection_server *s);
size_t connection_server_count(const struct connection_server *s);

/*
 * Listens on a path, 0600, and gives these roles only (of ROLE_BIT()). A socket nobody answers on
 * is replaced, a live one never (-EADDRINUSE). The directory must be the caller's own, 0700.
 */
int listener_open(struct connection_server *s, const char *path, unsigned roles,
	struct listener **ret_listener) MUST_CHECK;
/* A listening socket that was passed to us (socket activation); takes fd. */
int listener_open_fd(struct connection_server *s, int fd, unsigned roles,
	struct listener **ret_listener) MUST_CHECK;
/* Also removes the socket, if the path still is ours. connection_server_close() does it for all. */
void listener_close(struct listener *l);

/*
 * One end of a socketpair whose other end a child will get: set up before the child can send.
 * ret_theirs is close-on-exec; the spawner gives it its number.
 */
int connection_pair(int *ret_ours, int *ret_theirs) MUST_CHECK;
/*
 * The child at the other end: takes fd. Only this role, only from this process (pid by
 * SCM_CREDENTIALS), only with a token of the book that has this role. needs_canary: CANARY comes
 * before READY. pid 0 means "set later" with connection_pid_set(), before the loop turns.
 */
struct connection_child {
	enum role role;
	pid_t pid;
	bool needs_canary;
	void *data;
};
int connection_adopt(struct connection_server *s, int fd, const struct connection_child *child,
	struct connection **ret_connection) MUST_CHECK;
void connection_pid_set(struct connection *c, pid_t pid);

/*
 * Sending. All return 0, -EPIPE when the connection is closed, -ENOMEM, -E2BIG for an oversize
 * frame, -EINVAL for a body the table refuses or a stream that is not open.
 */
enum {
	CONNECTION_E_SLOW = 1, /* event dropped: the peer is over its soft limit */
	CONNECTION_E_CREDIT,   /* nothing sent: no credit; on_credit follows */
};
/* body NULL: empty. A message that ends its stream closes it. */
int connection_send(struct connection *c, enum message_kind kind, uint64_t stream,
	const struct value *body) MUST_CHECK;
/* Opens a stream of ours. */
int connection_open_stream(struct connection *c, enum message_kind kind, const struct value *body,
	uint64_t *ret_stream) MUST_CHECK;
/* A descriptor with the frame, to a worker alone; takes fd on success. Only one is under way at a
 * time (-EBUSY). */
int connection_send_fd(struct connection *c, enum message_kind kind, uint64_t stream,
	const struct value *body, int fd) MUST_CHECK;
/* `error`; on another stream than 0 it ends that stream, on 0 it is followed by the close. */
int connection_error(struct connection *c, uint64_t stream, enum message_error error,
	const char *text) MUST_CHECK;
/* `event`: dropped and counted for a peer over its soft limit; the next one carries `lost`. */
int connection_event(struct connection *c, uint64_t stream, const struct value *body) MUST_CHECK;
/*
 * `chunk` with at most 64 KiB of a large result on a channel ("stdout", "stderr", "result"). A new
 * stream has credit for 256 KiB; `credit` gives more. Sends what the credit covers (*ret_sent).
 */
int connection_chunk(struct connection *c, uint64_t stream, const char *channel, const void *bytes,
	size_t n, size_t *ret_sent) MUST_CHECK;

/* Refuses (reported, answered, closed). why is a literal. */
void connection_refuse(struct connection *c, enum message_error error, const char *why);
/* After what is queued has left, or 1 s. */
void connection_close(struct connection *c);

uint64_t connection_id(const struct connection *c); /* unique in this server's life, from 1 */
enum role connection_role(const struct connection *c);
enum message_state connection_state(const struct connection *c);
uint64_t connection_token_tag(const struct connection *c);
const struct peer *connection_peer(const struct connection *c); /* borrowed */
const char *connection_program(const struct connection *c);     /* as it called itself; "" before */
size_t connection_queued(const struct connection *c);
bool connection_stream_is_open(const struct connection *c, uint64_t stream);
/* The caller's. */
void connection_data_set(struct connection *c, void *data);
void *connection_data(const struct connection *c);
/* Over all connections in READY; a callback may close any of them. */
void connection_each(
	struct connection_server *s, void (*visit)(void *ctx, struct connection *c), void *ctx);
