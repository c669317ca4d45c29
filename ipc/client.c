#include "ipc/client.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "ipc/peer.h"

#define CLIENT_INPUT_SIZE 65536u
#define CLIENT_HELLO_MS   10000u

static int client_begin(struct client *c, int fd)
{
	*c = CLIENT_NONE;
	c->input = malloc(CLIENT_INPUT_SIZE);
	if (!c->input)
		return -ENOMEM;
	c->fd = fd;
	c->next_stream = 1;
	c->out = BUF_INIT(2 * FRAME_LIMIT);
	arena_init(&c->arena, MESSAGE_ARENA_LIMIT);
	frame_decoder_init(&c->decoder, FRAME_LIMIT);
	return 0;
}

int client_adopt(struct client *c, int fd)
{
	return client_begin(c, fd);
}

int client_connect(struct client *c, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = -1;
	size_t n = strlen(path);
	int r;

	*c = CLIENT_NONE;
	if (n >= sizeof(address.sun_path))
		return diag_set(
			&c->error, -ENAMETOOLONG, 0, 0, "the path of the socket is too long");
	memcpy(address.sun_path, path, n);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return diag_set(&c->error, -errno, 0, 0, "no engine answers at %s", path);
	r = client_begin(c, fd);
	if (r == 0)
		(void)take_fd(fd);
	return r;
}

void client_done(struct client *c)
{
	cleanup_close(&c->fd);
	cleanup_close(&c->passed_fd);
	frame_decoder_done(&c->decoder);
	arena_done(&c->arena);
	buf_done(&c->out);
	cleanup_free(&c->input);
	*c = CLIENT_NONE;
}

int client_send(struct client *c, enum message_kind kind, uint64_t stream, const struct value *body)
{
	size_t at = 0;
	int r;

	buf_clear(&c->out);
	r = message_encode(&c->out, kind, stream, body, FRAME_LIMIT, &c->error);
	if (r > 0)
		return -EINVAL;
	while (r == 0 && at < c->out.size) {
		size_t sent;

		r = peer_send(c->fd, c->out.data + at, c->out.size - at, -1, &sent);
		at += r == 0 ? sent : 0;
	}
	if (c->out.capacity > CLIENT_INPUT_SIZE)
		buf_done(&c->out);
	return r;
}

int client_open(
	struct client *c, enum message_kind kind, const struct value *body, uint64_t *ret_stream)
{
	uint64_t stream = c->next_stream;
	int r = client_send(c, kind, stream, body);

	if (r != 0)
		return r;
	c->next_stream += 2;
	*ret_stream = stream;
	return 0;
}

/* 0 when bytes are there; deadline_ms 0: none. */
static int client_wait(struct client *c, uint64_t deadline_ms)
{
	for (;;) {
		struct pollfd ready = { .fd = c->fd, .events = POLLIN };
		uint64_t now = clock_monotonic_ms(&clock_system);
		int wait = -1, n;

		if (deadline_ms != 0)
			wait = now >= deadline_ms ? 0 : (int)(deadline_ms - now);
		n = poll(&ready, 1, wait);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && deadline_ms != 0)
			return CLIENT_E_TIMEOUT;
	}
}

static int client_fill(struct client *c, uint64_t deadline_ms)
{
	struct peer_bytes got;
	int r;

	/* Inside a confined agent poll() may be all there is; a blocking socket needs none. */
	if (deadline_ms != 0) {
		r = client_wait(c, deadline_ms);
		if (r != 0)
			return r;
	}
	r = peer_receive(c->fd, c->input, CLIENT_INPUT_SIZE, true, &got);
	if (r == -EAGAIN) {
		r = client_wait(c, deadline_ms);
		return r == 0 ? client_fill(c, deadline_ms) : r;
	}
	if (r != 0)
		return r;
	if (got.fd >= 0) {
		cleanup_close(&c->passed_fd);
		c->passed_fd = got.fd;
	}
	if (got.n == 0)
		return CLIENT_E_CLOSED;
	c->input_at = 0;
	c->input_n = (size_t)got.n;
	return 0;
}

static int client_next_payload(
	struct client *c, uint64_t deadline_ms, const uint8_t **ret_payload, size_t *ret_size)
{
	for (;;) {
		const uint8_t *in = c->input + c->input_at;
		size_t n_in = c->input_n - c->input_at;
		int r = frame_decoder_push(&c->decoder, &in, &n_in, ret_payload, ret_size);

		c->input_at = c->input_n - n_in;
		if (r == FRAME_E_OVERSIZE)
			return -EPROTO;
		if (r != FRAME_E_MORE)
			return r;
		r = client_fill(c, deadline_ms);
		if (r != 0)
			return r;
	}
}

int client_receive(struct client *c, uint64_t timeout_ms, struct message *ret_message)
{
	uint64_t deadline_ms = timeout_ms == 0 ? 0 : clock_monotonic_ms(&clock_system) + timeout_ms;
	const uint8_t *payload;
	struct message m;
	size_t size;
	int r = client_next_payload(c, deadline_ms, &payload, &size);

	if (r != 0)
		return r;
	arena_reset(&c->arena);
	if (message_decode(&c->arena, payload, size, &m, &c->error) != 0)
		return -EPROTO;
	if ((message_types[m.kind].senders & ROLE_BIT(ROLE_ENGINE)) == 0)
		return -EPROTO;
	*ret_message = m;
	return 0;
}

int client_take_fd(struct client *c)
{
	return take_fd(c->passed_fd);
}

static int client_refused(struct client *c, const struct message *m)
{
	return diag_set(&c->error, CLIENT_E_REFUSED, 0, 0, "%s", message_text(m, "message"));
}

int client_hello(struct client *c, enum role role, const char *token, const char *program,
	struct message *ret_welcome)
{
	_Alignas(16) uint8_t memory[1024];
	auto_arena struct arena a = { 0 };
	struct message m;
	struct value *body;
	int r;

	arena_init_with(&a, 4096, memory, sizeof(memory));
	body = value_map(&a, 4);
	r = value_put(body, "protocol", value_int(&a, MESSAGE_PROTOCOL));
	if (r == 0)
		r = value_put(
			body, "role", value_text(&a, role_name(role), strlen(role_name(role))));
	if (r == 0)
		r = value_put(body, "token", value_text(&a, token, strlen(token)));
	if (r == 0)
		r = value_put(body, "program", value_text(&a, program, strnlen(program, 64)));
	if (r == 0)
		r = client_send(c, MESSAGE_HELLO, 0, body);
	explicit_bzero(memory, sizeof(memory));
	if (c->out.data)
		buf_wipe(&c->out); /* the token was in it */
	/* A refusal may be there although our bytes found the door shut. */
	if (r != 0 && r != -EPIPE)
		return r;
	r = client_receive(c, CLIENT_HELLO_MS, &m);
	if (r != 0)
		return r;
	if (m.kind == MESSAGE_ERROR)
		return client_refused(c, &m);
	if (m.kind != MESSAGE_WELCOME || message_int(&m, "protocol", 0) != MESSAGE_PROTOCOL)
		return -EPROTO;
	c->role = role;
	c->connection = (uint64_t)message_int(&m, "connection", 0);
	if (ret_welcome)
		*ret_welcome = m;
	return 0;
}

int client_connect_state(struct client *c, const char *socket_path, int state_dirfd, enum role role,
	const char *program)
{
	const char *file = role == ROLE_APPROVER ? "approver.token" : "client.token";
	auto_token char token[TOKEN_SIZE];
	int r = client_connect(c, socket_path);

	if (r != 0)
		return r;
	r = token_file_read(state_dirfd, file, token);
	if (r != 0)
		return diag_set(&c->error, r, 0, 0, "%s cannot be read", file);
	return client_hello(c, role, token, program, NULL);
}

int client_call(struct client *c, enum message_kind kind, const struct value *body,
	client_part_fn on_part, void *ctx, struct message *ret_message)
{
	uint64_t stream;
	int r = client_open(c, kind, body, &stream);

	while (r == 0) {
		struct message m;

		r = client_receive(c, 0, &m);
		if (r != 0)
			break;
		if (m.kind == MESSAGE_ERROR && (m.stream == stream || m.stream == 0)) {
			*ret_message = m;
			return client_refused(c, &m);
		}
		if (m.stream != stream)
			continue;
		if (message_types[m.kind].place == MESSAGE_ENDS) {
			*ret_message = m;
			return 0;
		}
		if (on_part)
			on_part(ctx, &m);
	}
	return r;
}
