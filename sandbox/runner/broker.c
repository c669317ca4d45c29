#include "sandbox/runner/broker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/value.h"
#include "net/broker.h"
#include "net/connect.h"

#define CONNECT_MS  15000
#define PENDING_MAX 128
#define LOG_SIZE    ((size_t)256 << 10)

struct run_broker {
	uv_poll_t poll;
	int fd;
	struct arena memory;
	struct grant_host *hosts;
	size_t n_hosts, n_pending, n_logged;
	bool closing, closed;
	struct buf log;
	void (*on_closed)(void *ctx);
	void *ctx;
};

struct connecting {
	uv_work_t work;
	struct run_broker *broker;
	struct broker_request request;
	int result, fd;
	struct diag diag;
};

static void maybe_free(struct run_broker *b)
{
	void (*on_closed)(void *) = b->on_closed;
	void *ctx = b->ctx;

	if (!b->closed || b->n_pending > 0)
		return;
	(void)close(b->fd);
	on_closed(ctx); /* the log is still there */
	buf_done(&b->log);
	arena_done(&b->memory);
	free(b);
}

static void log_decision(struct run_broker *b, const struct connecting *c)
{
	struct value host = {
		.kind = VALUE_TEXT, .text = c->request.host, .size = strlen(c->request.host)
	};
	struct value text = {
		.kind = VALUE_TEXT, .text = c->diag.text, .size = strlen(c->diag.text)
	};

	if (b->log.size > LOG_SIZE - 2048) /* counted on; the first ones are kept */
		return;
	buf_text(&b->log, b->n_logged++ > 0 ? ",{\"host\":" : "{\"host\":");
	value_to_json(&b->log, &host);
	buf_printf(&b->log, ",\"port\":%u,\"allowed\":%s,\"why\":", (unsigned)c->request.port,
		c->result == 0 ? "true" : "false");
	value_to_json(&b->log, &text);
	buf_byte(&b->log, '}');
}

static void do_connect(uv_work_t *work)
{
	struct connecting *c = work->data;

	c->result = net_connect(c->broker->hosts, c->broker->n_hosts, c->request.host,
		c->request.port, CONNECT_MS, &c->fd, &c->diag);
}

static void on_connected(uv_work_t *work, int status)
{
	struct connecting *c = work->data;
	struct run_broker *b = c->broker;
	struct broker_reply reply = { .id = c->request.id };

	b->n_pending--;
	if (status != 0)
		c->result = -ECANCELED;
	reply.error = c->result == 0 ? 0
		      : c->result == NET_E_UNREACHABLE || c->result == NET_E_UNRESOLVED
			      ? EHOSTUNREACH
			      : EACCES;
	log_decision(b, c);
	/* When it cannot be told any more, the command is over. */
	if (!b->closing && broker_send_reply(b->fd, &reply, c->result == 0 ? c->fd : -1) != 0)
		(void)uv_poll_stop(&b->poll);
	if (c->fd >= 0)
		(void)close(c->fd);
	free(c);
	maybe_free(b);
}

static int start_connecting(struct run_broker *b, const struct broker_request *request)
{
	struct connecting *c = b->n_pending < PENDING_MAX ? calloc(1, sizeof(*c)) : NULL;
	struct broker_reply busy = { .id = request->id, .error = EAGAIN };

	if (!c)
		return broker_send_reply(b->fd, &busy, -1);
	c->work.data = c;
	c->broker = b;
	c->request = *request;
	c->fd = -1;
	b->n_pending++;
	return uv_queue_work(b->poll.loop, &c->work, do_connect, on_connected);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct run_broker *b = poll->data;
	struct broker_request request;
	int r = status;

	(void)events;
	while (r == 0) {
		r = broker_receive_request(b->fd, &request);
		if (r == 0)
			r = start_connecting(b, &request);
	}
	/* Malformed packets end the way out: whoever sends them is not our program any more. */
	if (r != -EAGAIN)
		(void)uv_poll_stop(poll);
}

static int copy_hosts(struct run_broker *b, const struct grant_host *hosts, size_t n)
{
	b->hosts = arena_alloc_array(&b->memory, n + 1, sizeof(*b->hosts));
	if (!b->hosts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		b->hosts[i] = hosts[i];
		b->hosts[i].host = arena_text(&b->memory, hosts[i].host, strlen(hosts[i].host));
		if (!b->hosts[i].host)
			return -ENOMEM;
	}
	b->n_hosts = n;
	return 0;
}

int run_broker_open(uv_loop_t *loop, int fd, const struct grant_host *hosts, size_t n_hosts,
	struct run_broker **ret_broker)
{
	struct run_broker *b = calloc(1, sizeof(*b));
	int r;

	if (!b) {
		(void)close(fd);
		return -ENOMEM;
	}
	arena_init(&b->memory, (size_t)1 << 20);
	b->fd = fd;
	b->log = BUF_INIT(LOG_SIZE);
	r = copy_hosts(b, hosts, n_hosts);
	if (r == 0)
		r = uv_poll_init(loop, &b->poll, fd);
	if (r != 0) {
		(void)close(fd);
		arena_done(&b->memory);
		free(b);
		return r;
	}
	b->poll.data = b;
	*ret_broker = b;
	return uv_poll_start(&b->poll, UV_READABLE, on_readable); /* fails never after init */
}

static void on_poll_closed(uv_handle_t *handle)
{
	struct run_broker *b = handle->data;

	b->closed = true;
	maybe_free(b);
}

void run_broker_close(struct run_broker *b, void (*on_closed)(void *ctx), void *ctx)
{
	b->closing = true;
	b->on_closed = on_closed;
	b->ctx = ctx;
	uv_close((uv_handle_t *)&b->poll, on_poll_closed);
}

const char *run_broker_log(const struct run_broker *b)
{
	return buf_get_text(&b->log);
}
