/*
 * interlock status [--json] [NAME|DIR]
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "clients/commands.h"
#include "clients/engine_call.h"
#include "manager/lock.h"

static void show_part(const char *name, const struct value *part)
{
	if (!part || part->kind != VALUE_MAP)
		return;
	printf("%s\n", name);
	for (size_t i = 0; i < part->size; i++) {
		auto_buf struct buf b = BUF_INIT((size_t)64 << 10);

		value_to_json(&b, part->pairs[i].value);
		printf("  %-12s %s\n", part->pairs[i].key, buf_get_text(&b));
	}
}

int cmd_status(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_client struct client c = CLIENT_NONE;
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
	struct value empty = { .kind = VALUE_MAP };
	struct message answer;
	pid_t manager = 0;

	if (argc > (json ? 3 : 2) || (!json && argc == 2 && argv[1][0] == '-')) {
		(void)fputs("usage: interlock status [--json] [NAME|DIR]\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	if (workspace_open(argv[json ? 2 : 1], &w) != 0 ||
		engine_connect(&w, ROLE_CLIENT, &c) != 0 ||
		engine_ask(&c, MESSAGE_STATUS, &empty, NULL, NULL, &answer) != 0)
		return EXIT_STATUS_FAILED;
	(void)!lock_holder(w.state_fd, "manager.lock", &manager); /* 0 when the engine runs alone */
	if (json) {
		auto_buf struct buf b = BUF_INIT((size_t)1 << 20);

		value_to_json(&b, answer.body);
		printf("{\"manager\":{\"pid\":%ld},%s\n", (long)manager, buf_get_text(&b) + 1);
		return EXIT_STATUS_OK;
	}
	printf("manager\n  %-12s %ld\n", "pid", (long)manager);
	for (size_t i = 0; i < answer.body->size; i++)
		show_part(answer.body->pairs[i].key, answer.body->pairs[i].value);
	return EXIT_STATUS_OK;
}
