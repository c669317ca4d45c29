#include <string.h>

#include "base/cleanup.h"
#include "ipc/connection_private.h"

size_t connection_unsent(const struct connection *c)
{
	return c->out.size - c->out_at;
}

size_t connection_queued(const struct connection *c)
{
	return connection_unsent(c);
}

/* Bytes that may go before a descriptor must come along. */
static size_t before_pass(const struct connection *c)
{
	if (c->pass_fd < 0 || c->out_at >= c->pass_at)
		return connection_unsent(c);
	return c->pass_at - c->out_at;
}

/* 0 when all has left, -EAGAIN when the peer takes no more now, another error when it is gone. */
static int write_out(struct connection *c)
{
	while (connection_unsent(c) > 0) {
		bool passes = c->pass_fd >= 0 && c->out_at == c->pass_at;
		size_t sent;
		int r = peer_send(c->fd, c->out.data + c->out_at, before_pass(c),
			passes ? c->pass_fd : -1, &sent);

		if (r != 0)
			return r;
		if (passes)
			cleanup_close(&c->pass_fd);
		c->out_at += sent;
	}
	return 0;
}

static void forget_written(struct connection *c)
{
	size_t written = c->out_at;

	if (written == 0 || (connection_unsent(c) > 0 && written < c->out.size / 2))
		return;
	buf_consume(&c->out, written);
	c->out_at = 0;
	c->pass_at -= c->pass_fd >= 0 ? written : 0;
	if (c->out.size == 0 && c->out.capacity > 65536)
		buf_done(&c->out); /* a large answer does not pin its memory */
}

static void wake_credit(struct connection *c)
{
	const struct connection_callbacks *back = &c->server->config.callbacks;
	size_t i = 0;

	if (!c->wants_credit || c->state != MESSAGE_STATE_READY ||
		connection_unsent(c) >= c->server->config.quota.queued_soft / 2)
		return;
	c->wants_credit = false;
	while (i < c->streams.n_open &&
		connection_unsent(c) < c->server->config.quota.queued_soft) {
		struct stream *stream = &c->streams.open[i++];

		if (!stream->wants_credit || stream->credit == 0 || !back->on_credit)
			continue;
		stream->wants_credit = false;
		back->on_credit(c->server->config.ctx, c, stream->number);
		i = 0; /* the callback may have changed the table */
	}
}

void connection_flush(struct connection *c)
{
	int r;

	if (uv_is_closing((uv_handle_t *)&c->poll))
		return;
	r = write_out(c);
	forget_written(c);
	if (r != 0 && r != -EAGAIN) {
		buf_clear(&c->out);
		c->out_at = 0;
		connection_close(c);
	}
	if (c->draining && connection_unsent(c) == 0) {
		connection_destroy(c);
		return;
	}
	wake_credit(c);
	connection_wait_events(c);
}

static int queue_limit(struct connection *c)
{
	if (connection_unsent(c) <= c->server->config.quota.queued_hard)
		return 0;
	buf_clear(&c->out);
	c->out_at = 0;
	connection_close(c);
	return -EPIPE;
}

static int queue(
	struct connection *c, enum message_kind kind, uint64_t stream, const struct value *body)
{
	int r = queue_limit(c);

	if (r == 0)
		r = message_encode(&c->out, kind, stream, body, FRAME_LIMIT, NULL);
	if (r > 0)
		return -EINVAL; /* our own body: the tests of the table show which field */
	if (r == 0)
		server_due(c);
	else if (buf_error(&c->out) != 0)
		connection_close(c); /* half a frame may be in it */
	return r;
}

/* Is it ours to send, here and now? */
static int check_place(const struct connection *c, enum message_kind kind, uint64_t number)
{
	const struct message_type *type = &message_types[kind];
	const struct stream *stream;

	if (c->state == MESSAGE_STATE_CLOSED)
		return -EPIPE;
	if (message_right(kind, ROLE_ENGINE, c->state) != MESSAGE_RIGHT_YES)
		return -EINVAL;
	if (type->place == MESSAGE_ON_CONNECTION ||
		(type->place == MESSAGE_ANYWHERE && number == 0))
		return number == 0 ? 0 : -EINVAL;
	stream = streams_find(&c->streams, number);
	return stream && stream_admits(stream, kind) ? 0 : -EINVAL;
}

int connection_send(
	struct connection *c, enum message_kind kind, uint64_t stream, const struct value *body)
{
	const struct message_type *type = &message_types[kind];
	int r = check_place(c, kind, stream);

	if (r == 0)
		r = queue(c, kind, stream, body);
	if (r == 0 && stream != 0 &&
		(type->place == MESSAGE_ENDS || type->place == MESSAGE_ANYWHERE))
		streams_remove(&c->streams, streams_find(&c->streams, stream));
	return r;
}

int connection_open_stream(struct connection *c, enum message_kind kind, const struct value *body,
	uint64_t *ret_stream)
{
	uint64_t number;
	int r;

	if (c->state == MESSAGE_STATE_CLOSED)
		return -EPIPE;
	if (message_types[kind].place != MESSAGE_OPENS ||
		message_right(kind, ROLE_ENGINE, c->state) != MESSAGE_RIGHT_YES)
		return -EINVAL;
	number = streams_next_even(&c->streams);
	r = streams_add(&c->streams, number, kind, CONNECTION_CREDIT);
	if (r != 0)
		return r;
	r = queue(c, kind, number, body);
	if (r != 0) {
		streams_remove(&c->streams, streams_find(&c->streams, number));
		return r;
	}
	*ret_stream = number;
	return 0;
}

int connection_send_fd(struct connection *c, enum message_kind kind, uint64_t stream,
	const struct value *body, int fd)
{
	size_t at = c->out.size;
	int r;

	if (c->role != ROLE_WORKER)
		return -EPERM;
	if (c->pass_fd >= 0)
		return -EBUSY;
	r = connection_send(c, kind, stream, body);
	if (r != 0)
		return r;
	c->pass_fd = fd;
	c->pass_at = at;
	return 0;
}

int connection_error(
	struct connection *c, uint64_t stream, enum message_error error, const char *text)
{
	_Alignas(16) uint8_t memory[2048];
	auto_arena struct arena a = { 0 };
	struct value *body;
	int r;

	arena_init_with(&a, 8192, memory, sizeof(memory));
	body = value_map(&a, 3);
	r = value_put(body, "name",
		value_text(&a, message_error_name(error), strlen(message_error_name(error))));
	if (r == 0)
		r = value_put(body, "message", value_text(&a, text, strnlen(text, 500)));
	if (r == 0 && error == MESSAGE_ERROR_UNAVAILABLE)
		r = value_put(body, "unavailable", value_bool(&a, true));
	if (r == 0)
		r = connection_send(c, MESSAGE_ERROR, stream, body);
	if (r == 0 && stream == 0)
		connection_close(c);
	return r;
}

/* The body with how many are missing before it. */
static const struct value *with_lost(struct arena *a, const struct value *body, uint64_t n_lost)
{
	struct value *copy = value_map(a, body->size + 1);
	int r = copy ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < body->size; i++)
		r = value_put(copy, body->pairs[i].key, body->pairs[i].value);
	if (r == 0)
		r = value_put(copy, "lost", value_int(a, (int64_t)n_lost));
	return r == 0 ? copy : NULL;
}

int connection_event(struct connection *c, uint64_t stream, const struct value *body)
{
	_Alignas(16) uint8_t memory[2048];
	auto_arena struct arena a = { 0 };
	int r;

	if (c->state != MESSAGE_STATE_CLOSED &&
		connection_unsent(c) >= c->server->config.quota.queued_soft) {
		c->n_lost++;
		return CONNECTION_E_SLOW;
	}
	if (c->n_lost == 0)
		return connection_send(c, MESSAGE_EVENT, stream, body);
	arena_init_with(&a, 65536, memory, sizeof(memory));
	body = with_lost(&a, body, c->n_lost);
	r = body ? connection_send(c, MESSAGE_EVENT, stream, body) : -ENOMEM;
	if (r == 0)
		c->n_lost = 0;
	return r;
}

static int send_chunk(struct connection *c, struct stream *stream, const char *channel,
	const void *bytes, size_t n)
{
	_Alignas(16) uint8_t memory[1024];
	struct value data = { .kind = VALUE_BIN, .text = bytes, .size = n };
	auto_arena struct arena a = { 0 };
	struct value *body;
	int r;

	arena_init_with(&a, 4096, memory, sizeof(memory));
	body = value_map(&a, 3);
	r = value_put(body, "channel", value_text(&a, channel, strlen(channel)));
	if (r == 0)
		r = value_put(body, "data", &data);
	if (r == 0)
		r = value_put(body, "at", value_int(&a, (int64_t)stream->sent));
	if (r == 0)
		r = connection_send(c, MESSAGE_CHUNK, stream->number, body);
	if (r == 0) {
		stream->credit -= n;
		stream->sent += n;
	}
	return r;
}

int connection_chunk(struct connection *c, uint64_t stream, const char *channel, const void *bytes,
	size_t n, size_t *ret_sent)
{
	struct stream *open = streams_find(&c->streams, stream);
	size_t sent = 0;

	if (c->state == MESSAGE_STATE_CLOSED)
		return -EPIPE;
	if (!open)
		return -EINVAL;
	while (sent < n && open->credit > 0 &&
		connection_unsent(c) < c->server->config.quota.queued_soft) {
		size_t part = n - sent < 65536 ? n - sent : 65536;
		int r;

		part = part < open->credit ? part : open->credit;
		r = send_chunk(c, open, channel, (const uint8_t *)bytes + sent, part);
		if (r != 0)
			return r;
		sent += part;
	}
	if (sent < n)
		open->wants_credit = c->wants_credit = true;
	if (sent == 0 && n > 0)
		return CONNECTION_E_CREDIT;
	*ret_sent = sent;
	return 0;
}
