#include "agent/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "net/broker.h"
#include "net/proxy.h"

#define LINKS_MAX   128
#define BUFFER_SIZE ((size_t)64 << 10)

enum link_state {
	LINK_FREE,
	LINK_READING,
	LINK_ASKING,
	LINK_CARRYING
};

/* Bytes on their way from one end to the other. */
struct flow {
	uint8_t bytes[BUFFER_SIZE + PROXY_GROWTH];
	size_t n;
	bool ended, shut; /* nothing more will come; the other end was told so */
};

struct link {
	enum link_state state;
	uint32_t id;
	int client, server;
	bool greeted;
	enum proxy_kind kind;
	struct flow up, down;
};

struct egress {
	int listener, broker;
	uint32_t next_id;
	struct link links[LINKS_MAX];
};

static void link_close(struct link *l)
{
	cleanup_close(&l->client);
	cleanup_close(&l->server);
	l->state = LINK_FREE;
	l->up.n = l->down.n = 0;
}

/* A short answer always fits into the empty buffer of a fresh socket. */
static bool say(int fd, const void *bytes, size_t n)
{
	return send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

static void refuse(struct link *l, int error)
{
	static const char http[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n"
				   "X-Interlock: EgressDenied\r\nConnection: close\r\n\r\n";
	uint8_t socks[10] = { 5, error == EACCES ? 2 : 5, 0, 1 };

	if (l->kind == PROXY_SOCKS)
		(void)say(l->client, socks, sizeof(socks)); /* it is being closed either way */
	else
		(void)say(l->client, http, sizeof(http) - 1);
	link_close(l);
}

static void accept_link(struct egress *e)
{
	int fd = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (size_t i = 0; fd >= 0 && i < LINKS_MAX; i++) {
		struct link *l = &e->links[i];

		if (l->state != LINK_FREE)
			continue;
		l->state = LINK_READING;
		l->id = ++e->next_id;
		l->client = fd;
		l->server = -1;
		l->greeted = false;
		l->kind = PROXY_MORE;
		l->up.n = l->down.n = 0;
		l->up.ended = l->up.shut = l->down.ended = l->down.shut = false;
		return;
	}
	cleanup_close(&fd); /* no room: the client may try again */
}

static void ask(struct egress *e, struct link *l, const struct proxy_request *q)
{
	struct broker_request request = { .id = l->id, .port = q->port };

	memcpy(request.host, q->host, sizeof(request.host));
	if (broker_send_request(e->broker, &request) == 0)
		l->state = LINK_ASKING;
	else
		refuse(l, EIO);
}

static void understand(struct egress *e, struct link *l)
{
	struct proxy_request q;

	for (;;) {
		l->kind = proxy_parse(l->up.bytes, l->up.n, l->greeted, &q);
		if (l->kind == PROXY_MORE && l->up.n < PROXY_REQUEST_MAX)
			return;
		if (l->kind == PROXY_MORE || l->kind == PROXY_REFUSED) {
			refuse(l, EACCES);
			return;
		}
		l->up.n -= q.consumed;
		memmove(l->up.bytes, l->up.bytes + q.consumed, l->up.n);
		if (l->kind == PROXY_HTTP)
			l->up.n = proxy_rewrite(l->up.bytes, l->up.n, &q);
		if (l->kind != PROXY_SOCKS_HELLO) {
			ask(e, l, &q);
			return;
		}
		if (!say(l->client, "\5\0", 2)) {
			link_close(l);
			return;
		}
		l->greeted = true;
	}
}

/* False when the end is broken. */
static bool fill(struct flow *f, int fd)
{
	ssize_t n = recv(fd, f->bytes + f->n, BUFFER_SIZE - f->n, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	f->ended = n == 0;
	f->n += (size_t)n;
	return true;
}

static bool drain(struct flow *f, int fd)
{
	ssize_t n = f->n > 0 ? send(fd, f->bytes, f->n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	f->n -= (size_t)n;
	memmove(f->bytes, f->bytes + n, f->n);
	if (f->ended && f->n == 0 && !f->shut) {
		f->shut = true;
		(void)shutdown(fd, SHUT_WR); /* may be gone already */
	}
	return true;
}

static void answer(struct link *l, const struct broker_reply *reply, int fd)
{
	static const char http[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	static const uint8_t socks[10] = { 5, 0, 0, 1 };
	bool good = true;

	if (reply->error != 0 || fd < 0) {
		refuse(l, reply->error);
		return;
	}
	l->server = fd;
	l->state = LINK_CARRYING;
	if (l->kind == PROXY_CONNECT)
		good = say(l->client, http, sizeof(http) - 1);
	else if (l->kind == PROXY_SOCKS)
		good = say(l->client, socks, sizeof(socks));
	if (!good || !drain(&l->up, l->server))
		link_close(l);
}

static int take_reply(struct egress *e)
{
	struct broker_reply reply;
	int fd = -1;
	int r = broker_receive_reply(e->broker, &reply, &fd);

	if (r == -EAGAIN)
		return 0;
	for (size_t i = 0; r == 0 && i < LINKS_MAX; i++) {
		if (e->links[i].state == LINK_ASKING && e->links[i].id == reply.id) {
			answer(&e->links[i], &reply, fd);
			return 0;
		}
	}
	cleanup_close(&fd); /* the client went away while it was asked for */
	return r;
}

static void carry(struct link *l, short client, short server)
{
	const short in = POLLIN | POLLHUP | POLLERR;
	bool good = true;

	if (client & in && !l->up.ended && l->up.n < BUFFER_SIZE)
		good = fill(&l->up, l->client);
	if (good && server & in && !l->down.ended && l->down.n < BUFFER_SIZE)
		good = fill(&l->down, l->server);
	good = good && drain(&l->up, l->server) && drain(&l->down, l->client);
	if (!good || (l->up.shut && l->down.shut))
		link_close(l);
}

static short wanted(const struct flow *in, const struct flow *out)
{
	return (short)((!in->ended && in->n < BUFFER_SIZE ? POLLIN : 0) |
		       (out->n > 0 ? POLLOUT : 0));
}

static void watch(const struct link *l, struct pollfd *p)
{
	p[0].fd = p[1].fd = -1;
	if (l->state == LINK_READING) {
		p[0] = (struct pollfd){ .fd = l->client, .events = POLLIN };
	} else if (l->state == LINK_CARRYING) {
		p[0] = (struct pollfd){ .fd = l->client, .events = wanted(&l->up, &l->down) };
		p[1] = (struct pollfd){ .fd = l->server, .events = wanted(&l->down, &l->up) };
		/* An end that is done would be reported for ever. */
		p[0].fd = p[0].events ? p[0].fd : -1;
		p[1].fd = p[1].events ? p[1].fd : -1;
	}
}

static void serve(struct egress *e, struct link *l, const struct pollfd *p)
{
	if (l->state == LINK_CARRYING && (p[0].revents || p[1].revents)) {
		carry(l, p[0].revents, p[1].revents);
	} else if (l->state == LINK_READING && p[0].revents) {
		if (!fill(&l->up, l->client) || l->up.ended)
			link_close(l);
		else
			understand(e, l);
	}
}

int egress_run(int listener, int broker)
{
	auto_free struct egress *e = calloc(1, sizeof(*e));
	struct pollfd polls[2 + 2 * LINKS_MAX];
	int r = e ? 0 : -ENOMEM;

	if (r != 0)
		return r;
	e->listener = listener;
	e->broker = broker;
	while (r == 0) {
		polls[0] = (struct pollfd){ .fd = broker, .events = POLLIN };
		polls[1] = (struct pollfd){ .fd = listener, .events = POLLIN };
		for (size_t i = 0; i < LINKS_MAX; i++)
			watch(&e->links[i], &polls[2 + 2 * i]);
		if (poll(polls, N_ELEMENTS(polls), -1) < 0 && errno != EINTR)
			return -errno;
		for (size_t i = 0; i < LINKS_MAX; i++)
			serve(e, &e->links[i], &polls[2 + 2 * i]);
		if (polls[1].revents)
			accept_link(e);
		if (polls[0].revents)
			r = take_reply(e);
	}
	return r == -ECONNRESET ? 0 : r;
}
