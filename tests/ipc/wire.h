/*
 * A server on a loop of its own in a directory of its own, and raw peers that may
 * send whatever bytes they like. All in one thread: settle() lets the loop do all
 * that it can do now.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

#include "base/clock.h"
#include "base/mp.h"
#include "ipc/client.h"
#include "ipc/connection.h"

#define WIRE_SEEN_MAX 64

struct wire {
	uv_loop_t loop;
	char directory[64];
	char engine_path[96], agent_path[96];
	struct token_book book;
	struct connection_server *server;
	struct listener *engine_door, *agent_door;
	char client_token[TOKEN_SIZE], approver_token[TOKEN_SIZE], agent_token[TOKEN_SIZE];

	/* what the callbacks saw */
	struct connection *last;
	enum message_kind seen[WIRE_SEEN_MAX];
	uint64_t seen_stream[WIRE_SEEN_MAX];
	size_t n_seen, n_ready, n_closed, n_cancelled, n_refused, n_credit, n_canary;
	enum message_error refused_error;
	enum message_kind refused_kind;
	bool canary_good, answer;
	bool close_on_message;
	const uint8_t *bulk; /* sent in chunks on the stream of the first message */
	size_t n_bulk, bulk_at;
};

static __attribute__((unused)) void wire_on_ready(void *ctx, struct connection *c)
{
	struct wire *w = ctx;

	w->last = c;
	w->n_ready++;
}

static __attribute__((unused)) bool wire_on_canary(
	void *ctx, struct connection *c, const char *report, size_t n)
{
	struct wire *w = ctx;

	(void)c;
	assert_int_equal(strlen(report), n);
	w->n_canary++;
	return w->canary_good;
}

static __attribute__((unused)) void wire_bulk(struct wire *w, struct connection *c, uint64_t stream)
{
	while (w->bulk && w->bulk_at < w->n_bulk) {
		size_t sent = 0;

		if (connection_chunk(c, stream, "result", w->bulk + w->bulk_at,
			    w->n_bulk - w->bulk_at, &sent) != 0)
			return;
		w->bulk_at += sent;
	}
}

static __attribute__((unused)) void wire_answer(struct connection *c, const struct message *m)
{
	struct arena a;
	struct value *body;

	arena_init(&a, 65536);
	if (m->kind == MESSAGE_HEALTH) {
		assert_int_equal(connection_send(c, MESSAGE_OK, m->stream, NULL), 0);
	} else if (m->kind == MESSAGE_PROPOSE) {
		body = value_map(&a, 2);
		assert_int_equal(value_put(body, "status", value_text(&a, "executed", 8)), 0);
		assert_int_equal(value_put(body, "content", value_text(&a, "done", 4)), 0);
		assert_int_equal(connection_send(c, MESSAGE_RESULT, m->stream, body), 0);
	} else if (message_types[m->kind].place == MESSAGE_OPENS) {
		assert_int_equal(connection_error(c, m->stream, MESSAGE_ERROR_UNAVAILABLE,
					 message_name(m->kind)),
			0);
	}
	arena_done(&a);
}

static __attribute__((unused)) void wire_on_message(
	void *ctx, struct connection *c, const struct message *m)
{
	struct wire *w = ctx;

	if (w->n_seen < WIRE_SEEN_MAX) {
		w->seen[w->n_seen] = m->kind;
		w->seen_stream[w->n_seen] = m->stream;
	}
	w->n_seen++;
	if (w->bulk)
		wire_bulk(w, c, m->stream);
	else if (w->answer)
		wire_answer(c, m);
	if (w->close_on_message)
		connection_close(c);
}

static __attribute__((unused)) void wire_on_cancelled(
	void *ctx, struct connection *c, uint64_t stream)
{
	struct wire *w = ctx;

	(void)c;
	(void)stream;
	w->n_cancelled++;
}

static __attribute__((unused)) void wire_on_credit(void *ctx, struct connection *c, uint64_t stream)
{
	struct wire *w = ctx;

	w->n_credit++;
	wire_bulk(w, c, stream);
}

static __attribute__((unused)) void wire_on_refused(void *ctx, struct connection *c,
	const struct connection_refusal *refusal, uint64_t n_suppressed)
{
	struct wire *w = ctx;

	(void)c;
	(void)n_suppressed;
	w->n_refused++;
	w->refused_error = refusal->error;
	w->refused_kind = refusal->kind;
}

static __attribute__((unused)) void wire_on_closed(void *ctx, struct connection *c)
{
	struct wire *w = ctx;

	if (w->last == c)
		w->last = NULL;
	w->n_closed++;
}

static __attribute__((unused)) void wire_add_token(
	struct wire *w, enum role role, bool single_use, char *ret_token)
{
	struct token_entry what = {
		.role = role, .uid = geteuid(), .tag = (uint64_t)role, .single_use = single_use
	};

	assert_int_equal(token_make(ret_token), 0);
	assert_int_equal(
		token_book_add(&w->book, ret_token, &what, clock_monotonic_ms(&clock_system)), 0);
}

static __attribute__((unused)) void wire_open(struct wire *w, const struct connection_quota *quota)
{
	struct connection_server_config config = {
		.loop = &w->loop,
		.clock = &clock_system,
		.tokens = &w->book,
		.ctx = w,
		.callbacks = { .on_ready = wire_on_ready,
			.on_canary = wire_on_canary,
			.on_message = wire_on_message,
			.on_cancelled = wire_on_cancelled,
			.on_credit = wire_on_credit,
			.on_refused = wire_on_refused,
			.on_closed = wire_on_closed },
	};

	memset(w, 0, sizeof(*w));
	if (quota)
		config.quota = *quota;
	assert_int_equal(uv_loop_init(&w->loop), 0);
	strcpy(w->directory, "/tmp/wire.XXXXXX");
	assert_non_null(mkdtemp(w->directory));
	(void)snprintf(w->engine_path, sizeof(w->engine_path), "%s/engine.sock", w->directory);
	(void)snprintf(w->agent_path, sizeof(w->agent_path), "%s/agent.sock", w->directory);
	assert_int_equal(token_book_init(&w->book), 0);
	assert_int_equal(connection_server_open(&config, &w->server), 0);
	assert_int_equal(listener_open(w->server, w->engine_path,
				 ROLE_BIT(ROLE_CLIENT) | ROLE_BIT(ROLE_APPROVER), &w->engine_door),
		0);
	assert_int_equal(
		listener_open(w->server, w->agent_path, ROLE_BIT(ROLE_AGENT), &w->agent_door), 0);
	wire_add_token(w, ROLE_CLIENT, false, w->client_token);
	wire_add_token(w, ROLE_APPROVER, false, w->approver_token);
	wire_add_token(w, ROLE_AGENT, true, w->agent_token);
	w->answer = true;
}

static __attribute__((unused)) void wire_done(struct wire *w)
{
	connection_server_close(w->server);
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&w->loop), 0); /* every handle was closed */
	token_book_done(&w->book);
	assert_int_equal(rmdir(w->directory), 0); /* the sockets are gone */
}

static __attribute__((unused)) void settle(struct wire *w)
{
	for (unsigned i = 0; i < 50; i++)
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

static __attribute__((unused)) int wire_dial(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	strcpy(address.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static __attribute__((unused)) void wire_put(struct wire *w, int fd, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n > 0) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno != EAGAIN)
			return; /* the server has hung up: the test looks at why */
		if (sent > 0) {
			at += sent;
			n -= (size_t)sent;
		}
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	}
	settle(w);
}

/* A message given as JSON. */
static __attribute__((unused)) void wire_say(
	struct wire *w, int fd, enum message_kind kind, uint64_t stream, const char *json)
{
	struct buf b = BUF_INIT(2 * FRAME_LIMIT);
	struct arena a;
	const struct value *body;
	struct diag diag;
	size_t start;

	arena_init(&a, 16 << 20);
	assert_int_equal(value_from_json(&a, json, strlen(json), &body, &diag), 0);
	start = frame_write_start(&b, message_name(kind), stream);
	mp_write_value(&b, body); /* unchecked: peers may be wrong */
	assert_int_equal(frame_write_end(&b, start, 2 * FRAME_LIMIT), 0);
	wire_put(w, fd, b.data, b.size);
	buf_done(&b);
	arena_done(&a);
}

static __attribute__((unused)) void wire_hello(
	struct wire *w, int fd, const char *role, const char *token)
{
	char json[200];

	(void)snprintf(json, sizeof(json),
		"{\"protocol\":1,\"role\":\"%s\",\"token\":\"%s\",\"program\":\"test\"}", role,
		token);
	wire_say(w, fd, MESSAGE_HELLO, 0, json);
}

/* The next message from the server, or MESSAGE_NONE at the end of the stream. */
static __attribute__((unused)) struct message wire_hear(struct wire *w, struct client *c)
{
	struct message m = { 0 };

	/* The doors may be shut for some milliseconds, after many were refused. */
	for (unsigned i = 0; i < 50; i++) {
		int r;

		settle(w);
		r = client_receive(c, 1, &m);
		if (r == 0)
			return m;
		if (r != CLIENT_E_TIMEOUT)
			break;
	}
	return (struct message){ 0 };
}

static __attribute__((unused)) void wire_client(struct client *c, int fd)
{
	assert_int_equal(client_adopt(c, fd), 0);
}

/* A peer that has said hello with a good token. */
static __attribute__((unused)) void wire_join(struct wire *w, struct client *c, enum role role)
{
	enum message_kind kind = MESSAGE_NONE;
	const char *path = role == ROLE_AGENT ? w->agent_path : w->engine_path;
	const char *token = role == ROLE_AGENT      ? w->agent_token
			    : role == ROLE_APPROVER ? w->approver_token
						    : w->client_token;

	wire_client(c, wire_dial(path));
	wire_hello(w, c->fd, role_name(role), token);
	for (unsigned i = 0; i < 40 && kind == MESSAGE_NONE; i++)
		kind = wire_hear(w, c).kind; /* others may stand before us at the door */
	assert_int_equal(kind, MESSAGE_WELCOME);
}

/* The peer was told this error on stream 0, and then the stream ended. */
static __attribute__((unused)) void assert_refused(
	struct wire *w, struct client *c, enum message_error error)
{
	struct message m = wire_hear(w, c);

	assert_int_equal(m.kind, MESSAGE_ERROR);
	assert_int_equal(m.stream, 0);
	assert_string_equal(message_text(&m, "name"), message_error_name(error));
	assert_int_equal(w->refused_error, error);
	settle(w);
	assert_int_equal(client_receive(c, 1000, &m), CLIENT_E_CLOSED);
}
