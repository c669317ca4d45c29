/*
 * interlock propose JSON|- [NAME|DIR]: one {type, payload} through the whole pipeline.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "clients/commands.h"
#include "clients/engine_call.h"

#define INPUT_MAX ((size_t)1 << 20)

static int read_stdin(struct buf *b)
{
	for (;;) {
		uint8_t *at = buf_reserve(b, 4096);
		size_t n = at ? fread(at, 1, 4096, stdin) : 0;

		if (n == 0)
			return buf_error(b);
		buf_grew(b, n);
	}
}

static const struct value *proposal_of(struct arena *a, const char *text, size_t n)
{
	const struct value *v;
	struct diag diag = { 0 };
	int r = value_from_json(a, text, n, &v, &diag);

	if (r != 0 || v->kind != VALUE_MAP || !value_get_text(v, "type") ||
		!value_get(v, "payload")) {
		(void)fprintf(stderr, "interlock: this is no proposal: %s\n",
			r != 0 ? diag.text : "an object with \"type\" and \"payload\" is needed");
		return NULL;
	}
	return v;
}

static int exit_of(const char *status)
{
	if (strcmp(status, "executed") == 0)
		return EXIT_PROPOSE_EXECUTED;
	if (strcmp(status, "denied") == 0)
		return EXIT_PROPOSE_DENIED;
	return strcmp(status, "needs_approval") == 0 ? EXIT_PROPOSE_NEEDS_APPROVAL
						     : EXIT_PROPOSE_FAILED;
}

int cmd_propose(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_client struct client c = CLIENT_NONE;
	auto_buf struct buf input = BUF_INIT(INPUT_MAX);
	struct message answer;
	const struct value *body;
	struct arena a;
	int result = EXIT_PROPOSE_FAILED;

	if (argc < 2 || argc > 3 || strcmp(argv[1], "--help") == 0) {
		(void)fputs("usage: interlock propose JSON|- [NAME|DIR]\n",
			argc == 2 ? stdout : stderr);
		return argc == 2 ? EXIT_STATUS_OK : EXIT_STATUS_USAGE;
	}
	if (strcmp(argv[1], "-") != 0)
		buf_text(&input, argv[1]);
	if (strcmp(argv[1], "-") == 0 ? read_stdin(&input) != 0 : buf_error(&input) != 0) {
		(void)fputs("interlock: the proposal is too long\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	arena_init(&a, 8 * INPUT_MAX);
	body = proposal_of(&a, buf_get_text(&input), input.size);
	if (!body) {
		result = EXIT_STATUS_USAGE;
	} else if (workspace_open(argv[2], &w) == 0 && engine_connect(&w, ROLE_CLIENT, &c) == 0 &&
		   engine_ask(&c, MESSAGE_PROPOSE, body, NULL, NULL, &answer) == 0) {
		print_json(answer.body);
		result = exit_of(message_text(&answer, "status"));
	}
	arena_done(&a);
	return result;
}
