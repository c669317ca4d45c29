#include "engine/exec_command.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/pipeline.h"

/* Resumed from the loop's next turn, so that a step never ends inside itself. */
static void on_later(uv_timer_t *timer);

struct later {
	uv_timer_t timer;
	struct proposal *proposal;
};

static void on_later_closed(uv_handle_t *handle)
{
	struct later *l = handle->data;
	struct proposal *p = l->proposal;

	free(l);
	pipeline_run(p);
}

static void on_later(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, on_later_closed);
}

int command_started(struct proposal *p, int started)
{
	struct later *l;

	if (started != 0)
		return started > 0 ? 0 : started;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->proposal = p;
	(void)uv_timer_init(&p->engine->loop, &l->timer); /* cannot fail */
	l->timer.data = l;
	(void)uv_timer_start(&l->timer, on_later, 0, 0); /* cannot fail */
	return 0;
}

int exec_command(struct proposal *p)
{
	const struct value *command = value_get(p->analysis.payload, "command");
	const char *cwd = proposal_path(p, "cwd", p->engine->workspace);
	const char *shell[] = { "/bin/sh", "-c", NULL };
	const char **argv = shell;
	size_t n = N_ELEMENTS(shell);

	if (!cwd)
		return -ENOMEM;
	if (proposal_bool(p, "background")) {
		proposal_fail(p, STATUS_FAILED,
			"Background commands are unavailable; run it in the foreground.");
		return command_started(p, 0);
	}
	if (command->kind == VALUE_TEXT) {
		shell[2] = command->text;
	} else {
		n = command->size;
		argv = arena_alloc_array(&p->arena, n, sizeof(*argv));
		if (!argv)
			return -ENOMEM;
		for (size_t i = 0; i < n; i++)
			argv[i] = command->items[i].text;
	}
	return command_started(p, command_start(p, argv, n, cwd, NULL, 0));
}
