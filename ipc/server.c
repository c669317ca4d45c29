#include <stdlib.h>

#include "ipc/connection_private.h"

#define REFUSALS_PER_SECOND 20u

uint64_t server_now(const struct connection_server *s)
{
	return clock_monotonic_ms(s->config.clock);
}

void server_due(struct connection *c)
{
	if (c->is_due)
		return;
	c->is_due = true;
	c->due_next = c->server->due;
	c->server->due = c;
}

static void on_prepare(uv_prepare_t *handle)
{
	struct connection_server *s = handle->data;

	s->n_read_last = s->n_reading;
	s->n_reading = 0;
	/* A callback may make others due, or the same again: until there are none. */
	while (s->due) {
		struct connection *c = s->due;

		s->due = c->due_next;
		c->is_due = false;
		if (c->ending)
			connection_end(c);
		connection_flush(c);
	}
}

static void on_breathed(uv_timer_t *timer)
{
	struct connection_server *s = timer->data;

	s->is_breathing = false;
	listeners_resume(s);
}

/*
 * Peers that come, are refused and come again cost more than those that are in:
 * then the doors open only every few milliseconds, and all who wait take their turn.
 */
void server_breathe(struct connection_server *s)
{
	if (s->is_breathing || s->closing)
		return;
	s->is_breathing = true;
	listeners_pause(s);
	(void)uv_timer_start(&s->breather, on_breathed, CONNECTION_BREATHE_MS, 0);
}

static void quota_defaults(struct connection_server_config *config)
{
	struct connection_quota *q = &config->quota;

	q->streams = q->streams ? q->streams : 256;
	q->work = q->work ? q->work : 64;
	q->queued_soft = q->queued_soft ? q->queued_soft : UINT64_C(256) << 10;
	q->queued_hard = q->queued_hard ? q->queued_hard : UINT64_C(2) << 20;
	q->hello_ms = q->hello_ms ? q->hello_ms : 2000;
	q->canary_ms = q->canary_ms ? q->canary_ms : 30000;
	config->connections_max = config->connections_max ? config->connections_max : 1280;
	config->strangers_max = config->strangers_max ? config->strangers_max : 128;
}

int connection_server_open(
	const struct connection_server_config *config, struct connection_server **ret_server)
{
	struct connection_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->config = *config;
	quota_defaults(&s->config);
	arena_init(&s->arena, MESSAGE_ARENA_LIMIT);
	bucket_init(&s->refusals, REFUSALS_PER_SECOND, server_now(s));
	r = uv_prepare_init(config->loop, &s->prepare);
	if (r != 0) {
		free(s);
		return r;
	}
	s->prepare.data = s;
	(void)uv_prepare_start(&s->prepare, on_prepare); /* fails only without a callback */
	uv_unref((uv_handle_t *)&s->prepare);            /* alone it keeps no loop alive */
	(void)uv_timer_init(config->loop, &s->breather); /* cannot fail */
	s->breather.data = s;
	s->n_handles = 2;
	*ret_server = s;
	return 0;
}

/* Called once for each handle of the server's that has closed; the last one frees. */
void server_handle_closed(struct connection_server *s)
{
	if (!s->closing || s->n_handles > 0 || s->n_connections > 0 || s->n_listeners > 0)
		return;
	arena_done(&s->arena);
	free(s);
}

static void on_own_closed(uv_handle_t *handle)
{
	struct connection_server *s = handle->data;

	s->n_handles--;
	server_handle_closed(s);
}

void connection_server_close(struct connection_server *s)
{
	struct connection *next;

	if (!s || s->closing)
		return;
	s->closing = true;
	for (struct listener *l = s->listeners; l; l = l->next)
		listener_close(l);
	for (struct connection *c = s->connections; c; c = next) {
		next = c->next;
		connection_close(c);
		if (c->ending)
			connection_end(c);
		connection_flush(c); /* one try: what the socket takes now still leaves */
		connection_destroy(c);
	}
	s->due = NULL;
	uv_close((uv_handle_t *)&s->prepare, on_own_closed);
	uv_close((uv_handle_t *)&s->breather, on_own_closed);
}

size_t connection_server_count(const struct connection_server *s)
{
	return s->n_connections;
}

/* The oldest that has not said who it is makes room for a new one. */
static void drop_oldest_stranger(struct connection_server *s)
{
	struct connection *oldest = NULL;

	for (struct connection *c = s->connections; c; c = c->next) {
		if (c->state == MESSAGE_STATE_HELLO && !c->is_child)
			oldest = c; /* newest first, so the last one found */
	}
	if (oldest)
		connection_refuse(
			oldest, MESSAGE_ERROR_QUOTA, "too many peers that have not said hello");
}

int server_accept(
	struct connection_server *s, int fd, unsigned roles, struct connection **ret_connection)
{
	struct connection *c = NULL;
	struct peer peer;
	int r = peer_of_socket(fd, &peer);

	if (r != 0)
		return r;
	if (s->n_connections >= s->config.connections_max || s->closing)
		r = -EMFILE;
	if (r == 0 && s->n_strangers >= s->config.strangers_max)
		drop_oldest_stranger(s);
	if (r == 0)
		r = connection_new(s, fd, &c);
	if (r != 0) {
		peer_done(&peer);
		return r;
	}
	c->peer = peer;
	c->roles = roles;
	*ret_connection = c;
	return 0;
}

void connection_each(
	struct connection_server *s, void (*visit)(void *ctx, struct connection *c), void *ctx)
{
	struct connection *next;

	/* Nothing is freed before the loop turns, so next stays good whatever visit does. */
	for (struct connection *c = s->connections; c; c = next) {
		next = c->next;
		if (c->state == MESSAGE_STATE_READY)
			visit(ctx, c);
	}
}
