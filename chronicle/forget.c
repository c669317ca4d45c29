#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "chronicle/book.h"
#include "chronicle/compact.h"

struct forgetter {
	struct il_chronicle *c;
	struct buf hashes;
	struct blobs seen;
};

static int add(struct forgetter *f, const uint8_t *hash)
{
	struct blob blob = { 0 };

	if (blobs_get(&f->seen, hash) || !store_has(f->c->store, hash))
		return 0;
	memcpy(blob.hash, hash, SHA256_SIZE);
	buf_bytes(&f->hashes, hash, SHA256_SIZE);
	return buf_error(&f->hashes) != 0 ? buf_error(&f->hashes) : blobs_put(&f->seen, &blob);
}

/* All file contents at and beneath an entry. */
static int collect(struct forgetter *f, const struct entry *e)
{
	struct arena a;
	struct tree t = { 0 };
	int r;

	if (e->kind == ENTRY_FILE)
		return add(f, e->hash);
	if (is_shallow(e))
		return 0;
	arena_init(&a, WALK_ARENA_MAX);
	r = tree_load(f->c->store, &a, e, &t);
	for (size_t i = 0; r == 0 && i < t.n; i++)
		r = collect(f, &t.list[i]);
	arena_done(&a);
	return r;
}

static int collect_from(struct forgetter *f, const struct loaded *l, const char *path)
{
	auto_arena struct arena a = { 0 };
	int r = 0;

	arena_init(&a, WALK_ARENA_MAX);
	for (uint32_t i = 0; l && r == 0 && i < l->record.n_places; i++) {
		const struct record *rec = &l->record;
		struct entry e = { 0 };

		/* A place within the path, or the path within a place. */
		if (path_is_in(rec->places[i].path, path))
			e = rec->places[i].entry;
		else
			r = entry_lookup(f->c->store, &a, rec->places, rec->n_places, i, path, &e);
		if (r == 0)
			r = collect(f, &e);
	}
	return r;
}

static int forget(struct forgetter *f, const char *path)
{
	struct record record = {
		.kind = RECORD_FORGET,
		.time_ns = clock_wall_ns(f->c->clock),
		.path = path,
		.hashes = f->hashes.data,
		.n_hashes = (uint32_t)(f->hashes.size / SHA256_SIZE),
	};
	int r;

	memcpy(record.id, f->c->records[0]->record.id, IL_SNAPSHOT_ID_SIZE);
	/* First the record: bytes that vanish without one would be a breach. */
	r = book_add(f->c, &record);
	return r != 0 ? r : compact(f->c, NULL, f->hashes.data, record.n_hashes);
}

int il_chronicle_forget(struct il_chronicle *c, const char *path, uint64_t *ret_n_erased)
{
	struct forgetter f = { .c = c,
		.hashes = BUF_INIT((size_t)RECORD_HASHES_MAX * SHA256_SIZE) };
	uint64_t n = 0;
	int r = book_check(c, NULL);

	if (r == 0 && (path[0] == '\0' || path[0] == '/'))
		r = -EINVAL;
	for (size_t i = 0; r == 0 && i < c->n_snapshots; i++) {
		r = collect_from(&f, c->snapshots[i].begin, path);
		if (r == 0)
			r = collect_from(&f, c->snapshots[i].seal, path);
	}
	n = f.hashes.size / SHA256_SIZE;
	if (r == 0 && n > 0)
		r = forget(&f, path);
	buf_done(&f.hashes);
	blobs_done(&f.seen);
	if (r == 0 && ret_n_erased)
		*ret_n_erased = n;
	return book_condition(r);
}
