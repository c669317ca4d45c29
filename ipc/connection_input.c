#include <string.h>

#include "base/utf8.h"
#include "ipc/connection_private.h"

#define ARENA_KEPT (256u << 10)

static void refuse(
	struct connection *c, enum message_kind kind, enum message_error error, const char *why)
{
	c->refused_kind = kind;
	connection_refuse(c, error, why);
}

/* ---- hello and canary ---- */

static bool child_is_the_one(const struct connection *c)
{
#ifdef MUTATION_PEER_PID
	return c->is_child;
#else
	return c->child_pid > 0 && c->peer.pid == c->child_pid && c->peer.uid == geteuid();
#endif
}

static int send_welcome(struct connection *c)
{
	const struct connection_callbacks *back = &c->server->config.callbacks;
	_Alignas(16) uint8_t memory[2048];
	auto_arena struct arena a = { 0 };
	const struct value *more;
	struct value *body;
	int r;

	arena_init_with(&a, 65536, memory, sizeof(memory));
	more = back->welcome ? back->welcome(c->server->config.ctx, c, &a) : NULL;
	body = value_map(&a, 2 + (more ? more->size : 0));
	r = value_put(body, "protocol", value_int(&a, MESSAGE_PROTOCOL));
	if (r == 0)
		r = value_put(body, "connection", value_int(&a, (int64_t)c->id));
	for (size_t i = 0; r == 0 && more && i < more->size; i++)
		r = value_put(body, more->pairs[i].key, more->pairs[i].value);
	return r == 0 ? connection_send(c, MESSAGE_WELCOME, 0, body) : r;
}

static void welcome(struct connection *c, enum role role)
{
	c->role = role;
	if (send_welcome(c) != 0) {
		refuse(c, MESSAGE_HELLO, MESSAGE_ERROR_INTERNAL, "the welcome could not be sent");
		return;
	}
	if (!c->needs_canary) {
		connection_ready(c);
		return;
	}
	c->server->n_strangers--;
	c->state = MESSAGE_STATE_CANARY;
	frame_decoder_limit_set(&c->decoder, FRAME_LIMIT_CANARY);
	(void)uv_timer_start(&c->timer, c->timer.timer_cb, c->server->config.quota.canary_ms, 0);
}

static void on_hello(struct connection *c, const struct message *m)
{
	const char *program = message_text(m, "program");
	enum role role = ROLE_NONE;
	bool known = role_parse(message_text(m, "role"), &role) == 0 &&
		     (c->roles & ROLE_BIT(role)) != 0 && peer_is_alive(&c->peer) &&
		     (!c->is_child || child_is_the_one(c));

	if (message_int(m, "protocol", 0) != MESSAGE_PROTOCOL) {
		refuse(c, MESSAGE_HELLO, MESSAGE_ERROR_PROTOCOL, "this engine speaks protocol 1");
		return;
	}
	/* A token shown at the wrong place is not used up by it. */
	if (!known || token_book_check(c->server->config.tokens, message_text(m, "token"), role,
			      c->peer.uid, server_now(c->server), &c->token_tag) != 0) {
		refuse(c, MESSAGE_HELLO, MESSAGE_ERROR_UNAUTHORIZED, "this peer may not join");
		return;
	}
	if (program)
		(void)stpncpy(c->program, program, sizeof(c->program) - 1);
	welcome(c, role);
}

static void on_canary(struct connection *c, const struct message *m)
{
	const struct connection_callbacks *back = &c->server->config.callbacks;
	const struct value *report = message_value(m, "report");

	if (!back->on_canary ||
		!back->on_canary(c->server->config.ctx, c, report->text, report->size)) {
		refuse(c, MESSAGE_CANARY, MESSAGE_ERROR_UNAUTHORIZED,
			"the canary report was not accepted");
		return;
	}
	if (c->state == MESSAGE_STATE_CANARY)
		connection_ready(c);
}

/* ---- within the table ---- */

/* 0, or why this kind comes too often. */
static bool is_too_often(struct connection *c, enum message_kind kind)
{
	const struct message_type *type = &message_types[kind];
	struct bucket *b = &c->kinds[kind];

	if (type->per_second == 0)
		return false;
	if (b->per_second == 0)
		bucket_init(b, type->per_second, server_now(c->server));
	return !bucket_try(b, server_now(c->server));
}

/* Nothing of it reaches the engine; the stream is over with this answer. */
static void answer_quota(struct connection *c, uint64_t stream, const char *why)
{
	if (streams_add(&c->streams, stream, MESSAGE_HEALTH, 0) != 0 ||
		connection_error(c, stream, MESSAGE_ERROR_QUOTA, why) != 0)
		connection_close(c);
}

/* True: the message may be decoded. */
static bool admit_opening(struct connection *c, enum message_kind kind, uint64_t stream)
{
	const struct connection_quota *q = &c->server->config.quota;

	if (!is_peers_stream(stream) || streams_claim(&c->streams, stream) != 0) {
		refuse(c, kind, MESSAGE_ERROR_OUT_OF_TURN,
			"a new stream needs an odd number above the last");
		return false;
	}
	if (c->streams.n_open >= q->streams) {
		refuse(c, kind, MESSAGE_ERROR_QUOTA, "too many streams are open");
		return false;
	}
	if (message_types[kind].is_work && c->streams.n_work >= q->work) {
		answer_quota(c, stream, "too many actions are in flight");
		return false;
	}
	if (is_too_often(c, kind)) {
		answer_quota(c, stream, "this message comes too often");
		return false;
	}
	if (streams_add(&c->streams, stream, kind, CONNECTION_CREDIT) != 0) {
		connection_close(c);
		return false;
	}
	return true;
}

static bool admit_within(struct connection *c, enum message_kind kind, uint64_t number)
{
	const struct stream *stream = streams_find(&c->streams, number);

	if (!stream && streams_has_ended(&c->streams, number))
		return false; /* late, not wrong: our end and theirs have crossed */
	if (!stream || !stream_admits(stream, kind)) {
		refuse(c, kind, MESSAGE_ERROR_OUT_OF_TURN, "not in this stream");
		return false;
	}
	if (is_too_often(c, kind)) {
		refuse(c, kind, MESSAGE_ERROR_QUOTA, "this message comes too often");
		return false;
	}
	return true;
}

static bool admit(struct connection *c, enum message_kind kind, uint64_t stream)
{
	const struct message_type *type = &message_types[kind];
	enum message_right right =
		c->state == MESSAGE_STATE_HELLO
			? (kind == MESSAGE_HELLO ? MESSAGE_RIGHT_YES : MESSAGE_RIGHT_NO_STATE)
			: message_right(kind, c->role, c->state);

#ifndef MUTATION_ROLE_TABLE
	if (right == MESSAGE_RIGHT_NO_ROLE) {
		refuse(c, kind, MESSAGE_ERROR_FORBIDDEN, "this role never sends this message");
		return false;
	}
#endif
	if (right == MESSAGE_RIGHT_NO_STATE || (type->most > 0 && c->n_once[kind] >= type->most)) {
		refuse(c, kind, MESSAGE_ERROR_OUT_OF_TURN, "not at this point");
		return false;
	}
	if (type->most > 0)
		c->n_once[kind]++;
	switch (type->place) {
	case MESSAGE_ON_CONNECTION:
		if (stream == 0)
			return true;
		refuse(c, kind, MESSAGE_ERROR_OUT_OF_TURN, "this message belongs to stream 0");
		return false;
	case MESSAGE_OPENS:
		return admit_opening(c, kind, stream);
	case MESSAGE_CONTINUES:
	case MESSAGE_ENDS:
	case MESSAGE_ANYWHERE:
		break;
	}
	return admit_within(c, kind, stream);
}

static void on_credit(struct connection *c, const struct message *m)
{
	struct stream *stream = streams_find(&c->streams, m->stream);
	uint64_t bytes = (uint64_t)message_int(m, "bytes", 0);

	if (stream->credit + bytes > UINT64_C(64) << 20) {
		refuse(c, MESSAGE_CREDIT, MESSAGE_ERROR_QUOTA, "too much credit");
		return;
	}
	stream->credit += bytes;
	c->wants_credit |= stream->wants_credit;
}

static void dispatch(struct connection *c, const struct message *m)
{
	const struct connection_callbacks *back = &c->server->config.callbacks;

	switch ((int)m->kind) {
	case MESSAGE_HELLO:
		on_hello(c, m);
		return;
	case MESSAGE_CANARY:
		on_canary(c, m);
		return;
	case MESSAGE_CREDIT:
		on_credit(c, m);
		return;
	case MESSAGE_CANCEL:
		if (back->on_cancelled)
			back->on_cancelled(c->server->config.ctx, c, m->stream);
		return;
	default:
		break;
	}
	if (message_types[m->kind].place == MESSAGE_ENDS)
		streams_remove(&c->streams, streams_find(&c->streams, m->stream));
	back->on_message(c->server->config.ctx, c, m);
}

static void take_payload(struct connection *c, const uint8_t *payload, size_t size)
{
	struct frame frame;
	struct message m;
	struct diag fault = { 0 };
	enum message_kind kind;

	if (frame_parse(payload, size, &frame) != 0) {
		refuse(c, MESSAGE_NONE, MESSAGE_ERROR_MALFORMED, "this is no frame");
		return;
	}
	kind = message_kind_find(frame.kind, frame.n_kind);
	if (kind == MESSAGE_NONE) {
		refuse(c, kind, MESSAGE_ERROR_UNKNOWN_MESSAGE, "there is no such message");
		return;
	}
	if (!admit(c, kind, frame.stream))
		return;
	switch (message_decode_body(&c->server->arena, kind, &frame, &m, &fault)) {
	case 0:
		dispatch(c, &m);
		break;
	case MESSAGE_E_FIELD:
		refuse(c, kind, MESSAGE_ERROR_BAD_FIELD, fault.text);
		break;
	default:
		refuse(c, kind, MESSAGE_ERROR_MALFORMED, "the body is not strict msgpack");
		break;
	}
	/* One wide message does not pin its memory. */
	if (c->server->arena.used > ARENA_KEPT)
		arena_done(&c->server->arena);
	else
		arena_reset(&c->server->arena);
}

/* ---- bytes ---- */

static void charge(struct connection *c, uint64_t n_messages, uint64_t n_bytes)
{
	uint64_t now = server_now(c->server);
	uint64_t wait, wait_bytes;

	if (c->state != MESSAGE_STATE_READY)
		return;
	wait = bucket_take(&c->messages, n_messages, now);
	wait_bytes = bucket_take(&c->bytes, n_bytes, now);
	wait = wait > wait_bytes ? wait : wait_bytes;
	if (wait == 0)
		return;
	c->throttled = true;
	(void)uv_timer_start(&c->timer, c->timer.timer_cb, wait, 0);
}

static void take_bytes(struct connection *c, const uint8_t *in, size_t n_in)
{
	size_t n_bytes = n_in, n_messages = 0;

	while (c->state != MESSAGE_STATE_CLOSED) {
		const uint8_t *payload;
		size_t size;

		switch (frame_decoder_push(&c->decoder, &in, &n_in, &payload, &size)) {
		case 0:
			n_messages++;
			take_payload(c, payload, size);
			break;
		case FRAME_E_MORE:
			charge(c, n_messages, n_bytes);
			return;
		case FRAME_E_OVERSIZE:
			refuse(c, MESSAGE_NONE, MESSAGE_ERROR_OVERSIZE,
				"a frame is empty or over its limit");
			return;
		default:
			connection_close(c); /* out of memory */
			return;
		}
	}
}

/*
 * Small steps while messages are small, and the smaller the more peers send, so
 * that a turn of the loop is short for all; large ones inside a large frame, which
 * only are copied.
 */
static size_t turn_size(const struct connection *c)
{
	size_t missing = c->decoder.size - c->decoder.payload.size;
	unsigned n = c->server->n_read_last;
	size_t turn = n <= 1 ? CONNECTION_TURN_ALONE : CONNECTION_TURN_ALL / n;

	if (turn < CONNECTION_TURN_LEAST)
		turn = CONNECTION_TURN_LEAST;
	if (c->decoder.size == 0 || missing <= turn)
		return turn;
	return missing < CONNECTION_INPUT_SIZE ? missing : CONNECTION_INPUT_SIZE;
}

void connection_read(struct connection *c)
{
	struct connection_server *s = c->server;
	struct peer_bytes got;
	int r = peer_receive(c->fd, s->input, turn_size(c), false, &got);

	s->n_reading++;
	if (r == -EAGAIN)
		return;
	if (r == -EBADMSG) {
		refuse(c, MESSAGE_NONE, MESSAGE_ERROR_FORBIDDEN, "descriptors are not taken here");
		return;
	}
	if (r != 0 || got.n == 0) {
		connection_close(c);
		return;
	}
	if (c->is_child && c->state == MESSAGE_STATE_HELLO && got.has_sender) {
		c->peer.pid = got.pid;
		c->peer.uid = got.uid;
	}
	take_bytes(c, s->input, (size_t)got.n);
	connection_wait_events(c);
}
