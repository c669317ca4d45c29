/*
 * What connection.c, connection_input.c, connection_output.c, server.c and
 * listener.c know of each other. Nobody else includes this.
 *
 * A callback of the engine never runs inside a call of the engine: what a call
 * causes (the end of a connection, writing) is done by the server's prepare
 * handle, just before the loop would wait. `due` lists the connections that want
 * that.
 */
#pragma once

#include "ipc/bucket.h"
#include "ipc/connection.h"
#include "ipc/frame.h"
#include "ipc/streams.h"

#define CONNECTION_INPUT_SIZE 65536u
#define CONNECTION_TURN_ALONE 8192u /* read in one turn by the only peer that sends */
#define CONNECTION_TURN_ALL   4096u /* by all peers together, when several send */
#define CONNECTION_TURN_LEAST 512u
#define CONNECTION_CREDIT     (256u * 1024)
#define CONNECTION_BREATHE_MS 5u
#define CONNECTION_LINGER_MS  1000u

struct connection_server {
	struct connection_server_config config;
	uv_prepare_t prepare;
	struct connection *connections; /* all, newest first */
	struct connection *due;
	struct listener *listeners;
	size_t n_connections, n_listeners, n_strangers;
	uint64_t last_id;
	struct bucket refusals;
	uint64_t n_suppressed;
	struct arena arena; /* of the message under way */
	bool closing;
	unsigned n_handles;  /* of our own, open */
	uv_timer_t breather; /* while it runs nobody is let in: many were refused just now */
	bool is_breathing;
	unsigned n_reading,
		n_read_last; /* peers that were read in this turn of the loop, in the last */
	uint8_t input[CONNECTION_INPUT_SIZE];
};

struct listener {
	struct connection_server *server; /* borrowed */
	struct listener *next, **link;
	uv_poll_t poll;
	int fd;
	unsigned roles;
	bool closing, paused;
	char *path; /* owned; NULL: the socket was passed to us */
	dev_t device;
	ino_t inode;
};

struct connection {
	struct connection_server *server; /* borrowed */
	struct connection *next, **link;
	struct connection *due_next;
	uv_poll_t poll;
	uv_timer_t
		timer; /* HELLO, CANARY: the deadline; READY: reading goes on; CLOSED: lingering */
	int fd;
	unsigned n_handles;
	int events; /* what poll waits for */
	enum message_state state;
	uint64_t id;

	/* who */
	unsigned roles; /* that the place of arrival gives */
	enum role role;
	bool is_child, needs_canary;
	pid_t child_pid;
	struct peer peer;
	uint64_t token_tag;
	char program[65];
	void *data;

	/* input */
	struct frame_decoder decoder;
	struct streams streams;
	struct bucket messages, bytes;
	struct bucket kinds[MESSAGE_N_]; /* of those with a rate; begun with the first use */
	uint8_t n_once[MESSAGE_N_];
	bool throttled;
	enum message_kind refused_kind; /* what was under way when it was refused */

	/* output */
	struct buf out;
	size_t out_at; /* written of it */
	int pass_fd;   /* owned; goes out with the byte at pass_at */
	size_t pass_at;
	uint64_t n_lost; /* events dropped since the last one sent */
	bool is_due, wants_credit;
	bool ending;   /* CLOSED; on_closed not called yet */
	bool draining; /* on_closed called; what is queued may leave */
};

/* server.c */
uint64_t server_now(const struct connection_server *s);
void server_due(struct connection *c);
void server_breathe(struct connection_server *s);
int server_accept(struct connection_server *s, int fd, unsigned roles,
	struct connection **ret_connection) MUST_CHECK;
void server_handle_closed(struct connection_server *s);

/* listener.c */
void listeners_pause(struct connection_server *s);
void listeners_resume(struct connection_server *s);

/* connection.c */
int connection_new(struct connection_server *s, int fd, struct connection **ret_connection)
	MUST_CHECK;
void connection_wait_events(struct connection *c); /* what poll waits for, from the state */
void connection_ready(struct connection *c);
void connection_end(struct connection *c); /* cancels its streams, on_closed; then drains */
void connection_destroy(struct connection *c);

/* connection_input.c */
void connection_read(struct connection *c);

/* connection_output.c */
void connection_flush(struct connection *c);
size_t connection_unsent(const struct connection *c);
