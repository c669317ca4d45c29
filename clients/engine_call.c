#include "clients/engine_call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/state.h"

#define PRINTED_MAX ((size_t)16 << 20)

int engine_connect(const struct workspace *w, enum role role, struct client *ret_client)
{
	auto_free char *path = NULL;
	int r = state_socket_path(w->path, "engine.sock", &path);

	*ret_client = CLIENT_NONE;
	if (r == 0)
		r = client_connect_state(ret_client, path, w->state_fd, role, "interlock");
	if (r == 0)
		return 0;
	(void)fprintf(stderr,
		"interlock: no engine answers for %s (%s); `interlock start -d %s` starts it\n",
		w->path, r < 0 ? strerror(-r) : ret_client->error.text, w->path);
	client_done(ret_client);
	return r < 0 ? r : -ECONNREFUSED;
}

void engine_complain(struct client *c, int r, const struct message *answer)
{
	if (r == CLIENT_E_REFUSED && answer && message_text(answer, "message"))
		(void)fprintf(stderr, "interlock: refused (%s): %s\n", message_text(answer, "name"),
			message_text(answer, "message"));
	else if (r == CLIENT_E_TIMEOUT)
		(void)fputs("interlock: the engine does not answer\n", stderr);
	else
		(void)fprintf(stderr, "interlock: the engine's answer was lost: %s\n",
			r < 0 ? strerror(-r) : c->error.text);
}

int engine_ask(struct client *c, enum message_kind kind, const struct value *body,
	client_part_fn on_part, void *ctx, struct message *ret_message)
{
	int r = body ? client_call(c, kind, body, on_part, ctx, ret_message) : -ENOMEM;

	if (r == 0)
		return 0;
	engine_complain(c, r, ret_message);
	return r < 0 ? r : -ECONNREFUSED;
}

void print_json(const struct value *v)
{
	auto_buf struct buf b = BUF_INIT(PRINTED_MAX);

	value_to_json(&b, v);
	if (buf_error(&b) == 0)
		puts(buf_get_text(&b));
}
