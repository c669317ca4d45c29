/*
 * interlock pause|resume|panic|restart [NAME|DIR], token create, why [ID]
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "base/num.h"
#include "clients/commands.h"
#include "clients/engine_call.h"

/* Commands that are one message without a body. */
static const struct {
	const char *name;
	enum message_kind kind;
} controls[] = {
	{ "pause", MESSAGE_PAUSE },
	{ "resume", MESSAGE_RESUME },
	{ "panic", MESSAGE_PANIC },
	{ "restart", MESSAGE_RESTART },
};

int cmd_control(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_client struct client c = CLIENT_NONE;
	struct value empty = { .kind = VALUE_MAP };
	struct message answer;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		(void)fprintf(stderr, "usage: interlock %s [NAME|DIR]\n", argv[0]);
		return EXIT_STATUS_USAGE;
	}
	if (workspace_open(argv[1], &w) != 0 || engine_connect(&w, ROLE_CLIENT, &c) != 0)
		return EXIT_STATUS_FAILED;
	for (size_t i = 0; i < N_ELEMENTS(controls); i++) {
		if (strcmp(controls[i].name, argv[0]) != 0)
			continue;
		if (engine_ask(&c, controls[i].kind, &empty, NULL, NULL, &answer) != 0)
			return EXIT_STATUS_FAILED;
		puts(message_text(&answer, "detail") ? message_text(&answer, "detail") : "done");
		return EXIT_STATUS_OK;
	}
	return EXIT_STATUS_BUG;
}

int cmd_token(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_client struct client c = CLIENT_NONE;
	struct message answer;
	struct value *body;
	struct arena a;
	int result = EXIT_STATUS_FAILED;

	if (argc < 4 || argc > 5 || strcmp(argv[1], "create") != 0 ||
		strcmp(argv[2], "--role") != 0 || strcmp(argv[3], "agent") != 0) {
		(void)fputs("usage: interlock token create --role agent [NAME|DIR]\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	arena_init(&a, 16 * 1024);
	body = value_map(&a, 1);
	if (value_put(body, "role", value_text(&a, "agent", 5)) == 0 &&
		workspace_open(argv[4], &w) == 0 && engine_connect(&w, ROLE_CLIENT, &c) == 0 &&
		engine_ask(&c, MESSAGE_TOKEN_CREATE, body, NULL, NULL, &answer) == 0) {
		printf("%s\n", message_text(&answer, "token"));
		(void)fprintf(stderr, "good once, for a connection to %s\n",
			message_text(&answer, "socket"));
		result = EXIT_STATUS_OK;
	}
	arena_done(&a);
	return result;
}

int cmd_why(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_client struct client c = CLIENT_NONE;
	struct message answer;
	struct value *body;
	struct arena a;
	uint64_t id = 0;
	int result = EXIT_STATUS_FAILED;

	if (argc > 2 || (argc == 2 && num_parse_u64(argv[1], 1, INT64_MAX, &id) != 0)) {
		(void)fputs("usage: interlock why [ACTION]\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	arena_init(&a, 16 * 1024);
	body = value_map(&a, 1);
	if ((id == 0 || value_put(body, "action", value_int(&a, (int64_t)id)) == 0) &&
		workspace_open(NULL, &w) == 0 && engine_connect(&w, ROLE_CLIENT, &c) == 0 &&
		engine_ask(&c, MESSAGE_WHY, body, NULL, NULL, &answer) == 0) {
		puts(message_text(&answer, "text"));
		result = EXIT_STATUS_OK;
	}
	arena_done(&a);
	return result;
}
