#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "clients/chronicle_options.h"

#define SHORT_ID 16

static int tell(void *ctx, const struct il_change *change)
{
	(void)ctx;
	printf("  %-10s ", chronicle_change_name(change->kind));
	chronicle_print_text(change->path[0] ? change->path : ".");
	putchar('\n');
	return 0;
}

struct overlap {
	struct chronicle_command *command;
	const char *id;
	bool after; /* the snapshot that is taken back was passed */
	unsigned n;
};

/* Later snapshots that are not themselves taken back may rest on what goes: name them. */
static int name_later(void *ctx, const struct il_snapshot *s)
{
	struct overlap *o = ctx;

	if (o->after && s->n_changes > 0 && !s->undoes) {
		(void)fprintf(stderr, "  later: %.*s %s\n", SHORT_ID, s->id,
			s->action_type ? s->action_type : "");
		o->n++;
	}
	o->after = o->after || strcmp(s->id, o->id) == 0;
	return 0;
}

static int run(struct chronicle_command *c, const struct il_rollback *what)
{
	char own[IL_SNAPSHOT_ID_SIZE] = "";
	struct overlap o = { .command = c, .id = what->id };
	struct diag diag = { 0 };
	int r = il_chronicle_rollback(c->c, what, tell, NULL, own, &diag);

	if (r == IL_CHRONICLE_E_CONFLICT) {
		(void)fprintf(
			stderr, "interlock chronicle: %s Nothing was taken back.\n", diag.text);
		if (il_chronicle_list(c->c, name_later, &o) != 0 || o.n == 0)
			(void)fputs(
				"  they were changed outside of what is recorded here.\n", stderr);
		(void)fputs(
			"  --force takes them back all the same; what is there now is kept as a "
			"snapshot.\n",
			stderr);
		return EXIT_STATUS_FAILED;
	}
	if (own[0] != '\0')
		printf("taken back as %.*s; `interlock chronicle rollback %.*s` reverts that\n",
			SHORT_ID, own, SHORT_ID, own);
	else if (r == 0)
		puts("(nothing was changed: a dry run)");
	return chronicle_result("rollback", r, &diag);
}

int chronicle_back(struct chronicle_command *c)
{
	char id[IL_SNAPSHOT_ID_SIZE];
	struct il_rollback what = { .id = id,
		.paths = c->paths,
		.n_paths = c->n_paths,
		.side = c->side,
		.dry_run = c->dry_run,
		.force = c->force };
	int r = chronicle_find(c, c->id, id);

	return r != 0 ? r : run(c, &what);
}

/*
 * undo steps back through the actions, redo forward again: a stack, rebuilt from the list. An
 * action goes onto it, a rollback of the topmost takes it off, and what was taken off can be redone
 * until a new action comes.
 */
#define STACK_MAX 1024

struct history {
	char done[STACK_MAX][IL_SNAPSHOT_ID_SIZE], undone[STACK_MAX][IL_SNAPSHOT_ID_SIZE];
	size_t n_done, n_undone;
};

static void push(char (*stack)[IL_SNAPSHOT_ID_SIZE], size_t *n, const char *id)
{
	if (*n == STACK_MAX)
		memmove(stack[0], stack[1], (--*n) * sizeof(stack[0]));
	memcpy(stack[(*n)++], id, IL_SNAPSHOT_ID_SIZE);
}

static int follow(void *ctx, const struct il_snapshot *s)
{
	struct history *h = ctx;

	if (!s->undoes) {
		if (s->n_changes > 0 || s->outcome == IL_OUTCOME_INTERRUPTED) {
			push(h->done, &h->n_done, s->id);
			h->n_undone = 0;
		}
	} else if (h->n_done > 0 && strcmp(h->done[h->n_done - 1], s->undoes) == 0) {
		push(h->undone, &h->n_undone, h->done[--h->n_done]);
	} else if (h->n_undone > 0 && strcmp(h->undone[h->n_undone - 1], s->undoes) == 0) {
		push(h->done, &h->n_done, h->undone[--h->n_undone]);
	}
	return 0;
}

static int step(struct chronicle_command *c, enum il_side side)
{
	static const char *const nothing[] = { "There is nothing to undo.",
		"There is nothing to redo." };
	struct history h = { 0 };
	struct il_rollback what = { .side = side, .dry_run = c->dry_run, .force = c->force };
	int r = il_chronicle_list(c->c, follow, &h);

	if (r != 0)
		return chronicle_result("list", r, NULL);
	if (side == IL_SIDE_BEFORE && h.n_done > 0)
		what.id = h.done[h.n_done - 1];
	else if (side == IL_SIDE_AFTER && h.n_undone > 0)
		what.id = h.undone[h.n_undone - 1];
	if (!what.id) {
		(void)fprintf(stderr, "interlock chronicle: %s\n", nothing[side]);
		return EXIT_STATUS_FAILED;
	}
	return run(c, &what);
}

int chronicle_undo(struct chronicle_command *c)
{
	return step(c, IL_SIDE_BEFORE);
}

int chronicle_redo(struct chronicle_command *c)
{
	return step(c, IL_SIDE_AFTER);
}
