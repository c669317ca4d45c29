/*
 * A whole connection on a loop: the first byte chooses who it is (a stranger, a
 * client, an agent before or after its canary), the rest are its bytes. Nothing may
 * reach the callbacks that the table does not give, and every stream and connection
 * that was opened ends.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/connection.h"
#include "ipc/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "00112233445566778899aabbccddeeff"

struct stage {
	uv_loop_t loop;
	struct token_book book;
	size_t n_ready, n_closed;
	enum role role;
};

static void must(bool good)
{
	if (!good)
		abort();
}

static void on_ready(void *ctx, struct connection *c)
{
	struct stage *s = ctx;

	must(connection_state(c) == MESSAGE_STATE_READY && connection_role(c) == s->role);
	s->n_ready++;
}

static bool on_canary(void *ctx, struct connection *c, const char *report, size_t n)
{
	(void)ctx;
	must(connection_state(c) == MESSAGE_STATE_CANARY && strlen(report) == n);
	return report[0] == '{';
}

static void on_message(void *ctx, struct connection *c, const struct message *m)
{
	struct stage *s = ctx;

	must(s->n_ready == 1 && s->n_closed == 0);
	must((message_types[m->kind].senders & ROLE_BIT(s->role)) != 0);
	must(message_check(m->kind, m->body, NULL) == 0);
	if (message_types[m->kind].place != MESSAGE_OPENS)
		return;
	must(connection_stream_is_open(c, m->stream));
	/* Some are answered, some stay open to the end. */
	if ((m->stream & 2) != 0)
		must(connection_error(c, m->stream, MESSAGE_ERROR_UNAVAILABLE, "fuzz") == 0);
}

static void on_cancelled(void *ctx, struct connection *c, uint64_t stream)
{
	(void)ctx;
	(void)c;
	must(stream != 0);
}

static void on_closed(void *ctx, struct connection *c)
{
	struct stage *s = ctx;

	must(connection_state(c) == MESSAGE_STATE_CLOSED);
	s->n_closed++;
}

static void put_hello(struct buf *b, enum role role)
{
	struct arena a;
	struct value *body;

	arena_init(&a, 4096);
	body = value_map(&a, 3);
	must(value_put(body, "protocol", value_int(&a, MESSAGE_PROTOCOL)) == 0);
	must(value_put(body, "role", value_text(&a, role_name(role), strlen(role_name(role)))) ==
		0);
	must(value_put(body, "token", value_text(&a, TOKEN, 32)) == 0);
	must(message_encode(b, MESSAGE_HELLO, 0, body, FRAME_LIMIT, NULL) == 0);
	arena_done(&a);
}

static void turn(struct stage *s)
{
	for (unsigned i = 0; i < 8; i++)
		(void)uv_run(&s->loop, UV_RUN_NOWAIT);
}

static void play(struct stage *s, int fd, const struct buf *b)
{
	char bytes[65536];

	for (size_t at = 0; at < b->size;) {
		ssize_t n = send(fd, b->data + at, b->size - at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	turn(s);
	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		turn(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum role roles[] = { ROLE_CLIENT, ROLE_APPROVER, ROLE_AGENT, ROLE_SUB_AGENT,
		ROLE_JUDGE, ROLE_WORKER };
	struct stage s = { .n_ready = 0 };
	struct connection_server_config config = { .loop = &s.loop,
		.clock = &clock_system,
		.tokens = &s.book,
		.ctx = &s,
		.callbacks = { .on_ready = on_ready,
			.on_canary = on_canary,
			.on_message = on_message,
			.on_cancelled = on_cancelled,
			.on_closed = on_closed } };
	struct connection_child child = { .pid = getpid() };
	struct token_entry what = { .uid = geteuid() };
	struct buf b = BUF_INIT(1u << 20);
	struct connection_server *server;
	struct connection *c;
	int ours, theirs;

	if (size < 1)
		return 0;
	s.role = child.role = what.role = roles[(data[0] & 7) % N_ELEMENTS(roles)];
	child.needs_canary = (data[0] & 8) != 0;
	must(uv_loop_init(&s.loop) == 0 && token_book_init(&s.book) == 0);
	must(token_book_add(&s.book, TOKEN, &what, 0) == 0);
	must(connection_server_open(&config, &server) == 0);
	must(connection_pair(&ours, &theirs) == 0);
	must(connection_adopt(server, ours, &child, &c) == 0);
	if ((data[0] & 16) != 0)
		put_hello(&b, s.role);
	buf_bytes(&b, data + 1, size - 1);
	play(&s, theirs, &b);
	(void)close(theirs);
	turn(&s);
	connection_server_close(server);
	(void)uv_run(&s.loop, UV_RUN_DEFAULT);
	must(uv_loop_close(&s.loop) == 0 && s.n_closed == 1);
	token_book_done(&s.book);
	buf_done(&b);
	return 0;
}
