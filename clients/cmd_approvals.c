/*
 * interlock approvals list|approve ID|deny ID
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "clients/commands.h"
#include "clients/engine_call.h"

static int list(const struct workspace *w)
{
	auto_client struct client c = CLIENT_NONE;
	struct value empty = { .kind = VALUE_MAP };
	const struct value *approvals;
	struct message answer;

	if (engine_connect(w, ROLE_CLIENT, &c) != 0 ||
		engine_ask(&c, MESSAGE_APPROVALS, &empty, NULL, NULL, &answer) != 0)
		return EXIT_STATUS_FAILED;
	approvals = message_value(&answer, "approvals");
	for (size_t i = 0; i < approvals->size; i++) {
		const char *id = value_get_text(&approvals->items[i], "approval");
		const char *question = value_get_text(&approvals->items[i], "question");

		/* The question was made display-safe by shield; newlines in it are its own. */
		printf("%s\n%s\n", id ? id : "?", question ? question : "");
	}
	if (approvals->size == 0)
		puts("nothing waits for an answer");
	return EXIT_STATUS_OK;
}

static int answer(const struct workspace *w, const char *id, bool approve)
{
	auto_client struct client c = CLIENT_NONE;
	struct message reply;
	struct value *body;
	struct arena a;
	int result = EXIT_STATUS_FAILED;

	/* A person answers: a program that was talked into it has no terminal. */
	if (!isatty(STDIN_FILENO)) {
		(void)fputs("interlock: approving needs a terminal\n", stderr);
		return EXIT_STATUS_FAILED;
	}
	arena_init(&a, 16 * 1024);
	body = value_map(&a, 2);
	if (value_put(body, "approval", value_text(&a, id, strlen(id))) == 0 &&
		value_put(body, "approve", value_bool(&a, approve)) == 0 &&
		engine_connect(w, ROLE_APPROVER, &c) == 0 &&
		engine_ask(&c, MESSAGE_APPROVAL_ANSWER, body, NULL, NULL, &reply) == 0) {
		puts(approve ? "approved" : "denied");
		result = EXIT_STATUS_OK;
	}
	arena_done(&a);
	return result;
}

int cmd_approvals(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	const char *what = argc > 1 ? argv[1] : "list";

	if ((argc <= 2 && strcmp(what, "list") == 0) ||
		(argc == 3 && (strcmp(what, "approve") == 0 || strcmp(what, "deny") == 0))) {
		if (workspace_open(NULL, &w) != 0)
			return EXIT_STATUS_FAILED;
		return argc < 3 ? list(&w) : answer(&w, argv[2], what[0] == 'a');
	}
	(void)fputs("usage: interlock approvals list | approve ID | deny ID\n", stderr);
	return EXIT_STATUS_USAGE;
}
