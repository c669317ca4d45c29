/*
 * The other end: a small blocking client, for commands and for the agent.
 *
 *	client_connect() or client_adopt() → client_hello() → client_call() / client_open() and
 *	client_receive() → client_done()
 *
 * One thread, one connection. Everything that arrives is checked by the same
 * table, as sent by the engine. Time-outs are in milliseconds; 0 waits for ever.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/errors.h"
#include "ipc/frame.h"
#include "ipc/message.h"
#include "ipc/token.h"

struct client {
	int fd;        /* owned; -1: none */
	int passed_fd; /* owned: came with the last message; -1: none */
	enum role role;
	uint64_t next_stream;
	uint64_t connection; /* the engine's number for us */
	struct frame_decoder decoder;
	struct arena arena; /* of the last message */
	struct buf out;
	uint8_t *input;
	size_t input_at, input_n;
	struct diag error; /* why the last call failed, for people */
};

#define CLIENT_NONE ((struct client){ .fd = -1, .passed_fd = -1 })

enum {
	CLIENT_E_REFUSED = 1, /* the engine answered `error`: *ret_message is it */
	CLIENT_E_TIMEOUT,
	CLIENT_E_CLOSED,
};

int client_connect(struct client *c, const char *path) MUST_CHECK;
int client_adopt(struct client *c, int fd) MUST_CHECK; /* takes fd */
void client_done(struct client *c);
#define auto_client CLEANUP(client_done)

/* Sends hello and waits for welcome, which ret_welcome (may be NULL) shows. */
int client_hello(struct client *c, enum role role, const char *token, const char *program,
	struct message *ret_welcome) MUST_CHECK;
/*
 * The usual beginning of a command: connects to engine.sock of this state directory with its
 * client.token, or approver.token for ROLE_APPROVER. `socket_path` comes from state_socket_path().
 */
int client_connect_state(struct client *c, const char *socket_path, int state_dirfd, enum role role,
	const char *program) MUST_CHECK;

int client_send(struct client *c, enum message_kind kind, uint64_t stream, const struct value *body)
	MUST_CHECK;
/* On a new stream of ours. */
int client_open(struct client *c, enum message_kind kind, const struct value *body,
	uint64_t *ret_stream) MUST_CHECK;
/* The next message, whatever it is; valid until the next call. */
int client_receive(struct client *c, uint64_t timeout_ms, struct message *ret_message) MUST_CHECK;
/*
 * A question and its answer: opens a stream and waits for what ends it, giving each event or chunk
 * before it to on_part (may be NULL). CLIENT_E_REFUSED when the end is an `error`.
 */
typedef void (*client_part_fn)(void *ctx, const struct message *m);
int client_call(struct client *c, enum message_kind kind, const struct value *body,
	client_part_fn on_part, void *ctx, struct message *ret_message) MUST_CHECK;
/* A descriptor that came with the last message; -1 when none did. */
int client_take_fd(struct client *c);
