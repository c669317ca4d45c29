/*
 * interlock attach [NAME|DIR]: every event as it happens.
 * interlock replay FILE [NAME|DIR]: a transcript through the confined scripted agent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "base/files.h"
#include "clients/commands.h"
#include "clients/engine_call.h"
#include "clients/event_show.h"

#define TRANSCRIPT_MAX ((size_t)1 << 20)

static void on_event(void *ctx, const struct message *m)
{
	(void)ctx;
	if (m->kind == MESSAGE_EVENT)
		event_show(m);
}

int cmd_attach(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_client struct client c = CLIENT_NONE;
	struct value everything = { .kind = VALUE_MAP };
	struct message answer;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		(void)fputs("usage: interlock attach [NAME|DIR]\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	if (workspace_open(argv[1], &w) != 0 || engine_connect(&w, ROLE_CLIENT, &c) != 0)
		return EXIT_STATUS_FAILED;
	/* Ends with the engine, or by a signal. */
	return engine_ask(&c, MESSAGE_SUBSCRIBE, &everything, on_event, NULL, &answer) == 0
		       ? EXIT_STATUS_OK
		       : EXIT_STATUS_FAILED;
}

static const struct value *load_transcript(struct arena *a, const char *path)
{
	auto_free char *text = NULL;
	struct diag diag = { 0 };
	const struct value *steps = NULL;
	struct value *body;
	size_t n;
	int r = file_read(AT_FDCWD, path, TRANSCRIPT_MAX, &text, &n);

	if (r == 0)
		r = value_from_json(a, text, n, &steps, &diag);
	body = r == 0 ? value_map(a, 1) : NULL;
	if (r != 0 || steps->kind != VALUE_ARRAY || value_put(body, "transcript", steps) != 0) {
		(void)fprintf(stderr,
			"interlock: %s is no transcript (a JSON array of steps): %s\n", path,
			diag.text[0] ? diag.text
			: r != 0     ? strerror(-r)
				     : "it is no array");
		return NULL;
	}
	return body;
}

int cmd_replay(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_client struct client c = CLIENT_NONE;
	const struct value *body;
	struct message answer;
	struct arena a;
	int result = EXIT_STATUS_FAILED;

	if (argc < 2 || argc > 3 || argv[1][0] == '-') {
		(void)fputs("usage: interlock replay FILE [NAME|DIR]\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	arena_init(&a, 16 * TRANSCRIPT_MAX);
	body = load_transcript(&a, argv[1]);
	if (!body)
		result = EXIT_STATUS_USAGE;
	else if (workspace_open(argv[2], &w) == 0 && engine_connect(&w, ROLE_CLIENT, &c) == 0 &&
		 engine_ask(&c, MESSAGE_REPLAY, body, on_event, NULL, &answer) == 0)
		result = EXIT_STATUS_OK;
	arena_done(&a);
	return result;
}
