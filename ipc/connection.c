#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ipc/connection_private.h"

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct connection *c = poll->data;

	if (status != 0) {
		connection_close(c);
		return;
	}
	if ((events & (UV_READABLE | UV_DISCONNECT)) != 0 && c->state != MESSAGE_STATE_CLOSED)
		connection_read(c);
	server_due(c);
}

/* Above the soft limit nothing more is read: who does not take answers asks no more questions. */
void connection_wait_events(struct connection *c)
{
	int events = 0;

	if (uv_is_closing((uv_handle_t *)&c->poll))
		return;
	if (c->state != MESSAGE_STATE_CLOSED && !c->throttled &&
		connection_unsent(c) < c->server->config.quota.queued_soft)
		events |= UV_READABLE;
	if (connection_unsent(c) > 0)
		events |= UV_WRITABLE;
	if (events == c->events)
		return;
	c->events = events;
	if (events == 0)
		(void)uv_poll_stop(&c->poll); /* fails only on a closing handle */
	else if (uv_poll_start(&c->poll, events, on_poll) != 0)
		connection_close(c);
}

static void on_timer(uv_timer_t *timer)
{
	struct connection *c = timer->data;

	switch (c->state) {
	case MESSAGE_STATE_HELLO:
		connection_refuse(c, MESSAGE_ERROR_TIMEOUT, "no hello in time");
		break;
	case MESSAGE_STATE_CANARY:
		connection_refuse(c, MESSAGE_ERROR_TIMEOUT, "no canary report in time");
		break;
	case MESSAGE_STATE_READY:
		c->throttled = false;
		connection_wait_events(c);
		break;
	case MESSAGE_STATE_CLOSED:
		connection_destroy(c); /* the peer does not take its last words */
		break;
	case MESSAGE_STATE_N_:
		break;
	}
}

static void connection_link(struct connection_server *s, struct connection *c)
{
	c->next = s->connections;
	c->link = &s->connections;
	if (c->next)
		c->next->link = &c->next;
	s->connections = c;
	s->n_connections++;
	s->n_strangers++;
}

static void stop_being_stranger(struct connection *c)
{
	if (c->state == MESSAGE_STATE_HELLO)
		c->server->n_strangers--;
}

int connection_new(struct connection_server *s, int fd, struct connection **ret_connection)
{
	struct connection *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	r = uv_poll_init(s->config.loop, &c->poll, fd);
	if (r != 0) {
		free(c);
		return r;
	}
	(void)uv_timer_init(s->config.loop, &c->timer); /* cannot fail */
	c->poll.data = c->timer.data = c;
	c->n_handles = 2;
	c->server = s;
	c->fd = fd;
	c->pass_fd = -1;
	c->peer = PEER_NONE;
	c->id = ++s->last_id;
	c->state = MESSAGE_STATE_HELLO;
	c->out = BUF_INIT(s->config.quota.queued_hard + FRAME_LIMIT);
	frame_decoder_init(&c->decoder, FRAME_LIMIT_HELLO);
	connection_link(s, c);
	(void)uv_timer_start(&c->timer, on_timer, s->config.quota.hello_ms, 0);
	connection_wait_events(c);
	*ret_connection = c;
	return 0;
}

int connection_pair(int *ret_ours, int *ret_theirs)
{
	auto_close int ours = -1, theirs = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	r = peer_ask_credentials(ours);
	if (r == 0 && fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r != 0)
		return r;
	*ret_ours = take_fd(ours);
	*ret_theirs = take_fd(theirs);
	return 0;
}

int connection_adopt(struct connection_server *s, int fd, const struct connection_child *child,
	struct connection **ret_connection)
{
	struct connection *c = NULL;
	int r = s->closing ? -ECANCELED : peer_ask_credentials(fd);

	if (r == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = connection_new(s, fd, &c);
	if (r != 0)
		return r;
	c->is_child = true;
	c->roles = ROLE_BIT(child->role);
	c->child_pid = child->pid;
	c->needs_canary = child->needs_canary;
	c->data = child->data;
	*ret_connection = c;
	return 0;
}

void connection_pid_set(struct connection *c, pid_t pid)
{
	c->child_pid = pid;
}

/* The peer is who it must be; what its role may do begins here. */
void connection_ready(struct connection *c)
{
	const struct connection_quota *q = &c->server->config.quota;
	bool is_client = c->role == ROLE_CLIENT || c->role == ROLE_APPROVER;
	uint64_t now = server_now(c->server);

	stop_being_stranger(c);
	c->state = MESSAGE_STATE_READY;
	(void)uv_timer_stop(&c->timer); /* cannot fail */
	frame_decoder_limit_set(&c->decoder, FRAME_LIMIT);
	bucket_init(&c->messages,
		q->messages_per_second ? q->messages_per_second : (is_client ? 0 : 500), now);
	bucket_init(&c->bytes,
		q->bytes_per_second ? q->bytes_per_second : (is_client ? 64u << 20 : 8u << 20),
		now);
	if (c->server->config.callbacks.on_ready)
		c->server->config.callbacks.on_ready(c->server->config.ctx, c);
}

static void report_refusal(struct connection *c, const struct connection_refusal *refusal)
{
	struct connection_server *s = c->server;
	uint64_t n_suppressed = s->n_suppressed;

	if (!bucket_try(&s->refusals, server_now(s))) {
		s->n_suppressed++;
		server_breathe(s);
		return;
	}
	if (!s->config.callbacks.on_refused)
		return;
	s->n_suppressed = 0;
	s->config.callbacks.on_refused(s->config.ctx, c, refusal, n_suppressed);
}

void connection_refuse(struct connection *c, enum message_error error, const char *why)
{
	struct connection_refusal refusal = { .error = error, .kind = c->refused_kind, .why = why };

	if (c->state == MESSAGE_STATE_CLOSED)
		return;
	c->refused_kind = MESSAGE_NONE;
	report_refusal(c, &refusal);
	if (connection_error(c, 0, error, why) != 0)
		connection_close(c); /* it is not told, then */
}

void connection_close(struct connection *c)
{
	if (c->state == MESSAGE_STATE_CLOSED)
		return;
	stop_being_stranger(c);
	c->state = MESSAGE_STATE_CLOSED;
	c->ending = true;
	(void)uv_timer_start(&c->timer, on_timer, CONNECTION_LINGER_MS, 0);
	server_due(c);
}

void connection_end(struct connection *c)
{
	const struct connection_callbacks *back = &c->server->config.callbacks;
	void *ctx = c->server->config.ctx;

	c->ending = false;
	while (c->streams.n_open > 0) {
		uint64_t number = c->streams.open[0].number;

		streams_remove(&c->streams, &c->streams.open[0]);
		if (back->on_cancelled)
			back->on_cancelled(ctx, c, number);
	}
	if (back->on_closed)
		back->on_closed(ctx, c);
	c->draining = true;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct connection *c = handle->data;
	struct connection_server *s = c->server;

	if (--c->n_handles > 0)
		return;
	(void)close(c->fd); /* nothing to do about a failure here */
	cleanup_close(&c->pass_fd);
	peer_done(&c->peer);
	frame_decoder_done(&c->decoder);
	streams_done(&c->streams);
	buf_done(&c->out);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	free(c);
	s->n_connections--;
	if (!s->closing)
		listeners_resume(s);
	server_handle_closed(s);
}

void connection_destroy(struct connection *c)
{
	if (uv_is_closing((uv_handle_t *)&c->poll))
		return;
	uv_close((uv_handle_t *)&c->poll, on_handle_closed);
	uv_close((uv_handle_t *)&c->timer, on_handle_closed);
}

uint64_t connection_id(const struct connection *c)
{
	return c->id;
}

enum role connection_role(const struct connection *c)
{
	return c->role;
}

enum message_state connection_state(const struct connection *c)
{
	return c->state;
}

uint64_t connection_token_tag(const struct connection *c)
{
	return c->token_tag;
}

const struct peer *connection_peer(const struct connection *c)
{
	return &c->peer;
}

const char *connection_program(const struct connection *c)
{
	return c->program;
}

bool connection_stream_is_open(const struct connection *c, uint64_t stream)
{
	return streams_find(&c->streams, stream) != NULL;
}

void connection_data_set(struct connection *c, void *data)
{
	c->data = data;
}

void *connection_data(const struct connection *c)
{
	return c->data;
}
