#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "chronicle/apply.h"
#include "chronicle/book.h"
#include "chronicle/restore.h"

/*
 * One rollback. Three comparisons say all: what the snapshot changed, what differs
 * between the present and what the action left (a conflict), and what differs between
 * the present and the target (what there is to do).
 */
struct plan {
	struct il_chronicle *c;
	const struct il_rollback *what;
	const struct record *begin;
	const struct record_place *target, *expected;
	struct record_place *now;
	struct arena arena;
	struct deltas changed, drifted, todo, linked;
	const struct delta **changed_by_path, **drifted_by_path, **todo_by_path; /* owned */
	struct capture capture;
	struct diag *diag;
};

static void plan_done(struct plan *p)
{
	deltas_done(&p->changed);
	deltas_done(&p->drifted);
	deltas_done(&p->todo);
	deltas_done(&p->linked);
	free(p->changed_by_path);
	free(p->drifted_by_path);
	free(p->todo_by_path);
	capture_done(&p->capture);
	arena_done(&p->arena);
}

static int compare_deltas(const void *x, const void *y)
{
	const struct delta *a = *(const struct delta *const *)x;
	const struct delta *b = *(const struct delta *const *)y;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int sort_deltas(const struct deltas *d, const struct delta ***ret_sorted)
{
	const struct delta **sorted = calloc(d->n + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < d->n; i++)
		sorted[i] = &d->list[i];
	if (d->n > 0)
		qsort(sorted, d->n, sizeof(*sorted), compare_deltas);
	*ret_sorted = sorted;
	return 0;
}

static const struct delta *look_up(
	const struct delta **sorted, size_t n, uint32_t place, const char *path)
{
	struct delta key = { .place = place, .path = path };
	const struct delta *k = &key;
	const struct delta **found = bsearch(&k, sorted, n, sizeof(*sorted), compare_deltas);

	return found ? *found : NULL;
}

static bool is_selected(const struct plan *p, const struct delta *d)
{
	for (size_t i = 0; i < p->what->n_paths; i++) {
		if (path_is_in(d->path, p->what->paths[i]))
			return true;
	}
	return p->what->n_paths == 0;
}

static const struct entry *target_of(const struct plan *p, const struct delta *changed)
{
	return p->what->side == IL_SIDE_BEFORE ? &changed->before : &changed->after;
}

static int find_deltas(struct plan *p)
{
	struct store *s = p->c->store;
	uint32_t n = p->begin->n_places;
	const struct snapshot *snapshot = book_find(p->c, p->what->id);
	int r = deltas_find(
		s, &p->arena, p->begin->places, snapshot->seal->record.places, n, &p->changed);

	if (r == 0)
		r = deltas_find(s, &p->arena, p->expected, p->now, n, &p->drifted);
	if (r == 0)
		r = deltas_find(s, &p->arena, p->target, p->now, n, &p->todo);
	if (r == 0)
		r = sort_deltas(&p->changed, &p->changed_by_path);
	if (r == 0)
		r = sort_deltas(&p->drifted, &p->drifted_by_path);
	if (r == 0)
		r = sort_deltas(&p->todo, &p->todo_by_path);
	return r;
}

/* Named paths that the snapshot did not change are a mistake worth a word. */
static int check_paths(const struct plan *p)
{
	for (size_t i = 0; i < p->what->n_paths; i++) {
		bool found = false;

		for (size_t j = 0; !found && j < p->changed.n; j++)
			found = path_is_in(p->changed.list[j].path, p->what->paths[i]);
		if (!found)
			return diag_set(p->diag, -ENOENT, 0, 0,
				"The snapshot changed nothing at \"%.180s\".", p->what->paths[i]);
	}
	return 0;
}

/* What appeared since in a directory that the rollback would remove. */
static bool is_in_the_way(const struct plan *p, const struct delta *drifted)
{
	auto_free char *path = strdup(drifted->path);
	char *slash;

	if (!path)
		return true;
	if (drifted->after.kind == ENTRY_ABSENT)
		return false;
	while ((slash = strrchr(path, '/'))) {
		const struct delta *d;

		*slash = '\0';
		d = look_up(p->changed_by_path, p->changed.n, drifted->place, path);
		if (d && is_selected(p, d) && target_of(p, d)->kind != ENTRY_DIR)
			return true;
	}
	return false;
}

/* A link more or less, or a directory's time, is no work of anybody's to lose. */
static bool same_but_links(const struct delta *d)
{
	return d->before.kind == d->after.kind && entry_same_content(&d->before, &d->after) &&
	       entry_same_attributes(&d->before, &d->after);
}

static bool is_conflict(const struct plan *p, const struct delta *drifted)
{
	const struct delta *todo;
	const struct delta *changed =
		look_up(p->changed_by_path, p->changed.n, drifted->place, drifted->path);

	if (!changed || !is_selected(p, changed))
		return is_in_the_way(p, drifted);
	todo = look_up(p->todo_by_path, p->todo.n, drifted->place, drifted->path);
	if (!todo || same_but_links(todo))
		return false; /* it is as the rollback wants it */
	return !same_but_links(drifted);
}

static int check_conflicts(const struct plan *p, il_change_fn fn, void *ctx)
{
	size_t n = 0;

#ifdef MUTATION_CHRONICLE_CONFLICT
	return 0;
#endif
	for (size_t i = 0; i < p->drifted.n; i++) {
		struct deltas one = { .list = &p->drifted.list[i], .n = 1 };
		int r = 0;

		if (!is_conflict(p, &p->drifted.list[i]))
			continue;
		n++;
		if (fn)
			r = snapshot_report(p->begin, &one, fn, ctx);
		if (r != 0)
			return r;
	}
	if (n == 0)
		return 0;
	return diag_set(p->diag, IL_CHRONICLE_E_CONFLICT, 0, 0,
		"%zu objects are not what the action left.", n);
}

/* The target of a directory keeps the time that it has, if somebody worked in it since. */
static int choose_target(
	struct plan *p, const struct delta *changed, const struct delta *todo, struct op *op)
{
	const struct delta *drifted =
		look_up(p->drifted_by_path, p->drifted.n, changed->place, changed->path);
	struct entry *copy;

	op->target = &todo->before;
	if (!drifted || p->what->force || todo->before.kind != ENTRY_DIR ||
		todo->after.kind != ENTRY_DIR ||
		drifted->before.mtime_ns == drifted->after.mtime_ns)
		return 0;
	copy = arena_copy(&p->arena, &todo->before, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	copy->mtime_ns = todo->after.mtime_ns;
	op->target = copy;
	return 0;
}

/* What there is to do; fn hears of each. */
static int collect_ops(struct plan *p, struct apply *a, il_change_fn fn, void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->changed.n; i++) {
		const struct delta *changed = &p->changed.list[i];
		const struct delta *todo =
			look_up(p->todo_by_path, p->todo.n, changed->place, changed->path);
		struct op op = { .place = changed->place, .path = changed->path };
		struct delta seen;
		struct deltas one = { .list = &seen, .n = 1 };

		if (!todo || !is_selected(p, changed))
			continue;
		op.now = &todo->after;
		r = choose_target(p, changed, todo, &op);
		if (r == 0)
			r = apply_add(a, &op);
		seen = (struct delta){ .place = op.place, .path = op.path, .before = *op.now };
		if (r == 0 && fn) {
			seen.after = *op.target;
			r = snapshot_report(p->begin, &one, fn, ctx);
		}
	}
	return r;
}

static int find_linked(struct plan *p, uint32_t place, const char *path, const struct entry *e)
{
	const struct delta *todo;
	struct tree t;
	int r;

	if (e->kind == ENTRY_FILE && e->link_ino != 0) {
		struct delta *grown =
			realloc(p->linked.list, (p->linked.n + 1) * sizeof(*p->linked.list));

		if (!grown)
			return -ENOMEM;
		p->linked.list = grown;
		todo = look_up(p->todo_by_path, p->todo.n, place, path);
		grown[p->linked.n++] = (struct delta){
			.place = place, .path = path, .before = *e, .after = todo ? todo->after : *e
		};
	}
	if (e->kind != ENTRY_DIR)
		return 0;
	r = tree_load(p->c->store, &p->arena, e, &t);
	for (size_t i = 0; r == 0 && i < t.n; i++) {
		const char *sub = arena_printf(&p->arena, "%s%s%.*s", path, *path ? "/" : "",
			(int)t.list[i].name.n, (const char *)t.list[i].name.bytes);

		r = sub ? find_linked(p, place, sub, &t.list[i]) : -ENOMEM;
	}
	return r;
}

/* Only a link group that is to be restored makes a walk of the whole target worth it. */
static int collect_linked(struct plan *p, const struct apply *a)
{
	bool any = false;
	int r = 0;

	for (size_t i = 0; !any && i < a->n_ops; i++)
		any = a->ops[i].target->kind == ENTRY_FILE && a->ops[i].target->link_ino != 0;
	for (uint32_t i = 0; any && r == 0 && i < p->begin->n_places; i++)
		r = find_linked(p, i, p->target[i].path, &p->target[i].entry);
	return r;
}

/* The rollback's own snapshot: the present, which was captured to be compared. */
static int record_present(struct plan *p, char ret_id[static IL_SNAPSHOT_ID_SIZE])
{
	struct il_snapshot_info info = {
		.session = p->begin->session,
		.action_type = "rollback",
		.summary = p->begin->summary,
	};
	struct record r = {
		.roots = p->begin->roots,
		.n_roots = p->begin->n_roots,
		.places = p->now,
		.n_places = p->begin->n_places,
		.omissions = p->capture.omissions,
		.n_omissions = p->capture.n_omissions,
		.n_left_out = p->capture.n_left_out,
		.n_objects = p->capture.n_objects,
	};
	int result = snapshot_add(p->c, &info, p->what->id, &r);

	if (result == 0)
		memcpy(ret_id, r.id, IL_SNAPSHOT_ID_SIZE);
	return result;
}

static int carry_out(struct plan *p, struct apply *a, char ret_id[static IL_SNAPSHOT_ID_SIZE])
{
	char id[IL_SNAPSHOT_ID_SIZE];
	int sealed, r = collect_linked(p, a);

	if (r == 0)
		r = record_present(p, id);
	if (r != 0)
		return r;
	a->id = id;
	r = apply_run(a);
	sealed = il_chronicle_seal(
		p->c, id, r == 0 ? IL_OUTCOME_DONE : IL_OUTCOME_FAILED, NULL, NULL);
	memcpy(ret_id, id, IL_SNAPSHOT_ID_SIZE);
	if (r == 0 && a->soft != 0)
		r = diag_set(p->diag, a->soft == RESTORE_E_OWNER ? -EPERM : -EIO, 0, 0, "%s.",
			a->trouble);
	else if (r == -ESTALE)
		r = diag_set(p->diag, IL_CHRONICLE_E_CONFLICT, 0, 0,
			"Something changed while it was being taken back; look again.");
	return r != 0 ? r : sealed;
}

static int run(struct plan *p, il_change_fn fn, void *ctx, char ret_id[static IL_SNAPSHOT_ID_SIZE])
{
	struct apply a = { .c = p->c,
		.record = p->begin,
		.force = p->what->force,
		.todo = &p->todo,
		.linked = &p->linked };
	int r = book_capture(p->c, &p->capture, p->begin, p->now, p->diag);

	if (r == 0)
		r = find_deltas(p);
	if (r == 0)
		r = check_paths(p);
	if (r == 0 && !p->what->force)
		r = check_conflicts(p, fn, ctx);
	if (r == 0)
		r = collect_ops(p, &a, fn, ctx);
	if (r == 0 && !p->what->dry_run)
		r = carry_out(p, &a, ret_id);
	else if (r == 0)
		ret_id[0] = '\0';
	apply_done(&a);
	return r;
}

int il_chronicle_rollback(struct il_chronicle *c, const struct il_rollback *what, il_change_fn fn,
	void *ctx, char ret_id[static IL_SNAPSHOT_ID_SIZE], struct diag *reterr_diag)
{
	struct plan p = { .c = c, .what = what, .diag = reterr_diag };
	const struct snapshot *s;
	int undone, r = book_check(c, reterr_diag);

	if (r == 0 && !book_find(c, what->id))
		r = diag_set(reterr_diag, IL_CHRONICLE_E_UNKNOWN, 0, 0, "No such snapshot.");
	if (r == 0 && !book_find(c, what->id)->seal)
		r = il_chronicle_seal(c, what->id, IL_OUTCOME_INTERRUPTED, NULL, NULL);
	if (r != 0)
		return r;
	s = book_find(c, what->id);
	p.begin = &s->begin->record;
	p.target = what->side == IL_SIDE_BEFORE ? p.begin->places : s->seal->record.places;
	p.expected = what->side == IL_SIDE_BEFORE ? s->seal->record.places : p.begin->places;
	arena_init(&p.arena, WALK_ARENA_MAX);
	book_capture_init(c, &p.capture, &p.arena, reterr_diag);
	p.capture.lenient = true;
	p.now = arena_alloc_array(&p.arena, p.begin->n_places + 1, sizeof(*p.now));
	r = p.now ? run(&p, fn, ctx, ret_id) : -ENOMEM;
	plan_done(&p);
	/* What was captured only to be compared is of no use without a record. */
	undone = store_abort(c->store);
	return book_condition(r != 0 ? r : undone);
}
