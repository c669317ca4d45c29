/*
 * The wire alone, without the engine behind it: `evaluate` over a real socket
 * beside a bare ping-pong of the same bytes; pipelined; one honest client beside
 * 20 hostile peers, and beside the same 20 sending the same bytes elsewhere; memory of a
 * server with 1,000 connections.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ipc/client.h"
#include "ipc/connection.h"
#include "ipc/peer.h"

#define ROUNDS    20000
#define PIPELINED 400000
#define WINDOW    128
#define HOSTILE   20
#define TOKEN     "00112233445566778899aabbccddeeff"

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "bench_ipc: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void on_message(void *ctx, struct connection *c, const struct message *m)
{
	static const struct value decision = { .kind = VALUE_TEXT, .text = "allow", .size = 5 };
	static const struct value tier = { .kind = VALUE_INT };
	static const struct value reason = { .kind = VALUE_TEXT, .text = "rule", .size = 4 };
	static const struct value_pair pairs[] = { { "decision", 8, &decision },
		{ "tier", 4, &tier }, { "reason", 6, &reason } };
	static const struct value body = { .kind = VALUE_MAP, .size = 3, .pairs = pairs };

	int r;

	(void)ctx;
	if (m->kind == MESSAGE_EVALUATE)
		r = connection_send(c, MESSAGE_VERDICT, m->stream, &body);
	else
		r = connection_error(c, m->stream, MESSAGE_ERROR_UNAVAILABLE, "bench");
	must(r == 0 || r == -EPIPE, "answer"); /* who has gone needs none */
}

static void on_cancelled(void *ctx, struct connection *c, uint64_t stream)
{
	(void)ctx;
	(void)c;
	(void)stream;
}

static void serve(const char *path)
{
	static struct token_book book;
	struct token_entry what = { .role = ROLE_CLIENT, .uid = geteuid() };
	struct connection_server_config config = { .clock = &clock_system,
		.tokens = &book,
		.callbacks = { .on_message = on_message, .on_cancelled = on_cancelled } };
	struct connection_server *server;
	struct listener *door;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	config.loop = uv_default_loop();
	must(token_book_init(&book) == 0 && token_book_add(&book, TOKEN, &what, 0) == 0, "token");
	must(connection_server_open(&config, &server) == 0, "server");
	must(listener_open(server, path, ROLE_BIT(ROLE_CLIENT), &door) == 0, "listen");
	(void)uv_run(config.loop, UV_RUN_DEFAULT);
	_exit(0);
}

/* Takes connections and bytes, and does nothing with them. */
static void sink(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct pollfd fds[HOSTILE * 4];
	static char bytes[65536];
	size_t n = 1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	fds[0] = (struct pollfd){ .fd = socket(AF_UNIX, SOCK_STREAM, 0), .events = POLLIN };
	must(bind(fds[0].fd, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	must(listen(fds[0].fd, 128) == 0, "listen");
	while (poll(fds, n, -1) > 0) {
		for (size_t i = n - 1; i > 0; i--) {
			if (fds[i].revents != 0 && read(fds[i].fd, bytes, sizeof(bytes)) <= 0) {
				(void)close(fds[i].fd);
				fds[i] = fds[--n];
			}
		}
		if (fds[0].revents != 0 && n < N_ELEMENTS(fds))
			fds[n++] = (struct pollfd){ .fd = accept(fds[0].fd, NULL, NULL),
				.events = POLLIN };
	}
	_exit(0);
}

static pid_t start(void (*job)(const char *path), const char *path)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid == 0)
		job(path);
	for (unsigned i = 0; i < 1000 && access(path, F_OK) != 0; i++)
		(void)usleep(1000);
	return pid;
}

static void stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void join_server(struct client *c, const char *path)
{
	must(client_connect(c, path) == 0, "connect");
	must(client_hello(c, ROLE_CLIENT, TOKEN, "bench", NULL) == 0, "hello");
}

static const struct value *question(struct arena *a)
{
	struct value *payload = value_map(a, 1), *body = value_map(a, 2);

	must(value_put(payload, "path", value_text(a, "src/main.c", 10)) == 0 &&
			value_put(body, "type", value_text(a, "read_file", 9)) == 0 &&
			value_put(body, "payload", payload) == 0,
		"question");
	return body;
}

static int compare(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

struct times {
	uint64_t p50, p99;
};

static struct times measure(struct client *c, size_t rounds)
{
	uint64_t *each = calloc(rounds, sizeof(*each));
	struct arena a;
	const struct value *body;
	struct times t;

	must(each != NULL, "memory");
	arena_init(&a, 65536);
	body = question(&a);
	for (size_t i = 0; i < rounds; i++) {
		uint64_t began = now_ns();
		struct message m;

		must(client_call(c, MESSAGE_EVALUATE, body, NULL, NULL, &m) == 0, "evaluate");
		each[i] = now_ns() - began;
	}
	qsort(each, rounds, sizeof(*each), compare);
	t = (struct times){ each[rounds / 2], each[rounds * 99 / 100] };
	free(each);
	arena_done(&a);
	return t;
}

/* The floor: as many bytes there and back between two blocking processes. */
static uint64_t bare_ping_pong(void)
{
	uint64_t each[ROUNDS];
	char bytes[64] = { 0 };
	int pair[2];
	pid_t pid;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		while (read(pair[1], bytes, sizeof(bytes)) > 0)
			(void)!write(pair[1], bytes, sizeof(bytes));
		_exit(0);
	}
	for (size_t i = 0; i < ROUNDS; i++) {
		uint64_t began = now_ns();

		must(write(pair[0], bytes, sizeof(bytes)) > 0 &&
				read(pair[0], bytes, sizeof(bytes)) > 0,
			"ping");
		each[i] = now_ns() - began;
	}
	stop(pid);
	qsort(each, ROUNDS, sizeof(each[0]), compare);
	return each[ROUNDS / 2];
}

static double pipelined(struct client *c)
{
	struct arena a;
	const struct value *body;
	uint64_t began, stream;
	size_t n_sent = 0, n_answered = 0;

	arena_init(&a, 65536);
	body = question(&a);
	began = now_ns();
	while (n_answered < PIPELINED) {
		struct message m;

		/* A whole window at a time, as a client that has much to ask does. */
		if (n_sent - n_answered <= WINDOW / 2) {
			struct buf b = BUF_INIT(1 << 20);
			size_t at = 0, sent;

			while (n_sent < PIPELINED && n_sent - n_answered < WINDOW) {
				stream = c->next_stream;
				c->next_stream += 2;
				must(message_encode(&b, MESSAGE_EVALUATE, stream, body, FRAME_LIMIT,
					     NULL) == 0,
					"encode");
				n_sent++;
			}
			while (at < b.size) {
				must(peer_send(c->fd, b.data + at, b.size - at, -1, &sent) == 0,
					"send");
				at += sent;
			}
			buf_done(&b);
		}
		must(client_receive(c, 0, &m) == 0 && m.kind == MESSAGE_VERDICT, "receive");
		n_answered++;
	}
	arena_done(&a);
	return (double)PIPELINED * 1e9 / (double)(now_ns() - began);
}

static int dial(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* What one hostile peer sends on each connection. */
static void hostile_bytes(struct buf *b, unsigned kind)
{
	struct arena a;
	struct value *body;

	arena_init(&a, 65536);
	body = value_map(&a, 3);
	must(value_put(body, "protocol", value_int(&a, 1)) == 0 &&
			value_put(body, "role", value_text(&a, "client", 6)) == 0 &&
			value_put(body, "token",
				value_text(&a,
					kind == 1 ? "ffffffffffffffffffffffffffffffff" : TOKEN,
					32)) == 0,
		"hello");
	if (kind == 0) {
		for (size_t i = 0; i < 4096; i++)
			buf_byte(b, (uint8_t)(i * 37));
	} else {
		must(message_encode(b, MESSAGE_HELLO, 0, body, FRAME_LIMIT, NULL) == 0, "hello");
	}
	if (kind == 2) /* half a frame */
		buf_bytes(b, "\0\x0f\xff\xff\x93", 5);
	if (kind == 3) /* role abuse */
		must(message_encode(b, MESSAGE_OK, 1, NULL, FRAME_LIMIT, NULL) == 0, "abuse");
	if (kind == 4) { /* a flood of questions, whose answers nobody reads */
		const struct value *ask = question(&a);

		for (uint64_t i = 0; i < 4000; i++)
			must(message_encode(
				     b, MESSAGE_EVALUATE, 2 * i + 1, ask, FRAME_LIMIT, NULL) == 0,
				"flood");
	}
	arena_done(&a);
}

static void be_hostile(const char *path, unsigned kind)
{
	struct buf b = BUF_INIT(4 << 20);
	uint64_t deadline;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	hostile_bytes(&b, kind);
	for (;;) {
		int fd = dial(path);

		for (size_t at = 0; fd >= 0 && at < b.size;) {
			ssize_t n = send(fd, b.data + at, b.size - at, MSG_NOSIGNAL | MSG_DONTWAIT);

			if (n < 0)
				break; /* refused, or held back */
			at += (size_t)n;
		}
		deadline = now_ns() + (kind == 2 || kind == 4 ? 50000000u : 2000000u);
		while (now_ns() < deadline)
			(void)usleep(500);
		if (fd >= 0)
			(void)close(fd);
	}
}

static struct times beside_hostile(struct client *honest, const char *path)
{
	pid_t pids[HOSTILE];
	struct times t;

	for (unsigned i = 0; i < HOSTILE; i++) {
		pids[i] = fork();
		must(pids[i] >= 0, "fork");
		if (pids[i] == 0)
			be_hostile(path, i % 5);
	}
	(void)usleep(100000);
	t = measure(honest, ROUNDS);
	for (unsigned i = 0; i < HOSTILE; i++)
		stop(pids[i]);
	return t;
}

static long resident_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = atol(line + 6);
	}
	if (f)
		(void)fclose(f);
	return kib;
}

static void many_connections(const char *path, pid_t server)
{
	static struct client clients[1000];
	long before = resident_kib(server);

	for (size_t i = 0; i < N_ELEMENTS(clients); i++)
		join_server(&clients[i], path);
	(void)printf("1,000 connections          server %ld KiB resident (before: %ld)\n",
		resident_kib(server), before);
	for (size_t i = 0; i < N_ELEMENTS(clients); i++)
		client_done(&clients[i]);
}

int main(void)
{
	char directory[] = "/tmp/bench.XXXXXX", path[64], elsewhere[64];
	struct times alone, here, there;
	struct client c;
	uint64_t floor;
	pid_t server, other;

	must(mkdtemp(directory) != NULL, "mkdtemp");
	(void)snprintf(path, sizeof(path), "%s/engine.sock", directory);
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/sink.sock", directory);
	server = start(serve, path);
	other = start(sink, elsewhere);
	join_server(&c, path);

	floor = bare_ping_pong();
	alone = measure(&c, ROUNDS);
	(void)printf("evaluate, one at a time    p50 %.1f us, bare ping-pong %.1f us, ratio %.2f "
		     "(budget 2)\n",
		(double)alone.p50 / 1e3, (double)floor / 1e3, (double)alone.p50 / (double)floor);
	(void)printf(
		"evaluate, pipelined        %.0f/s (budget, with the judge behind it: 100000)\n",
		pipelined(&c));
	there = beside_hostile(&c, elsewhere);
	here = beside_hostile(&c, path);
	(void)printf(
		"honest p99, 20 hostile     %.0f us; the same bytes elsewhere %.0f us, ratio %.2f "
		"(budget 1.5)\n",
		(double)here.p99 / 1e3, (double)there.p99 / 1e3,
		(double)here.p99 / (double)there.p99);
	(void)printf("after the hostile peers    server %ld KiB resident (budget 65536)\n",
		resident_kib(server));
	many_connections(path, server);
	client_done(&c);
	stop(server);
	stop(other);
	(void)unlink(path);
	(void)unlink(elsewhere);
	(void)rmdir(directory);
	return 0;
}
