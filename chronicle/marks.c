#include "chronicle/marks.h"

#include <string.h>

struct walker {
	struct il_chronicle *c;
	const char *id;
	reference_fn fn;
	void *ctx;
};

static int visit(struct walker *w, const struct entry *e)
{
	struct blob *blob;
	struct arena a;
	struct tree t = { 0 };
	int r;

	if (e->kind != ENTRY_FILE && is_shallow(e))
		return 0;
	blob = blobs_get(&w->c->store->blobs, e->hash);
	if (blob && blob->marked)
		return 0;
	if (blob)
		blob->marked = true;
	r = w->fn ? w->fn(w->ctx, w->id, e->hash, blob) : 0;
	if (r != 0 || e->kind != ENTRY_DIR)
		return r;
	arena_init(&a, WALK_ARENA_MAX);
	r = tree_load(w->c->store, &a, e, &t);
	for (size_t i = 0; r == 0 && i < t.n; i++)
		r = visit(w, &t.list[i]);
	arena_done(&a);
	return r;
}

static int visit_record(struct walker *w, const struct loaded *l)
{
	int r = 0;

	for (uint32_t i = 0; l && r == 0 && i < l->record.n_places; i++)
		r = visit(w, &l->record.places[i].entry);
	return r;
}

int marks_walk(struct il_chronicle *c, const bool *doomed, reference_fn fn, void *ctx)
{
	struct walker w = { .c = c, .fn = fn, .ctx = ctx };
	int r = 0;

	for (size_t i = 0; i < c->store->blobs.capacity; i++)
		c->store->blobs.slots[i].marked = false;
	for (size_t i = 0; r == 0 && i < c->n_snapshots; i++) {
		if (doomed && doomed[i])
			continue;
		w.id = c->snapshots[i].begin->record.id;
		r = visit_record(&w, c->snapshots[i].begin);
		if (r == 0)
			r = visit_record(&w, c->snapshots[i].seal);
	}
	return r;
}
