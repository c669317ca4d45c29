/*
 * interlock list [--json]
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "base/state.h"
#include "base/value.h"
#include "clients/commands.h"
#include "clients/workspace.h"
#include "manager/lock.h"
#include "manager/registry.h"

struct listing {
	bool json;
	size_t n;
	struct buf out;
};

static int list_one(void *ctx, const char *id, const char *path)
{
	struct listing *l = ctx;
	auto_free char *state = NULL;
	auto_close int state_fd = -1;
	struct value text = { .kind = VALUE_TEXT, .text = path, .size = strlen(path) };
	pid_t pid = 0;
	bool running = false;

	if (state_dir(path, &state) == 0)
		state_fd = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state_fd >= 0)
		running = lock_holder(state_fd, "manager.lock", &pid) == 0;
	if (l->json) {
		buf_printf(&l->out, "%s{\"id\":\"%s\",\"workspace\":", l->n > 0 ? "," : "", id);
		value_to_json(&l->out, &text);
		buf_printf(&l->out, ",\"running\":%s,\"pid\":%ld}", running ? "true" : "false",
			(long)pid);
	} else {
		buf_printf(&l->out, "%-40s %-8s %s\n", id, running ? "running" : "-", path);
	}
	l->n++;
	return buf_error(&l->out);
}

int cmd_list(int argc, char **argv)
{
	struct listing l = { .out = BUF_INIT((size_t)16 << 20) };
	int r;

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "--json") != 0)) {
		(void)fputs("usage: interlock list [--json]\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	l.json = argc == 2;
	r = registry_each(list_one, &l);
	if (r == 0 && l.json)
		printf("[%s]\n", buf_get_text(&l.out));
	else if (r == 0 && l.n == 0)
		(void)fputs("no workspace is known yet; `interlock start DIR` begins with one\n",
			stderr);
	else if (r == 0)
		printf("%-40s %-8s %s\n%s", "NAME", "STATE", "WORKSPACE", buf_get_text(&l.out));
	buf_done(&l.out);
	if (r != 0)
		(void)fprintf(stderr, "interlock: cannot list the workspaces: %s\n", strerror(-r));
	return r == 0 ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
