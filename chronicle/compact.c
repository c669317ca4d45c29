#include "chronicle/compact.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "chronicle/marks.h"
#include "chronicle/store_files.h"

struct compaction {
	struct il_chronicle *c;
	const bool *doomed;
	const uint8_t *erased;
	size_t n_erased;
	bool *rewrite; /* owned: one flag for each segment that was there */
	size_t n_segments;
	uint64_t *live; /* owned: bytes of it that stay */
};

static bool is_doomed(const struct compaction *k, const struct record *r)
{
	for (size_t i = 0; k->doomed && i < k->c->n_snapshots; i++) {
		if (k->doomed[i] && strcmp(k->c->snapshots[i].begin->record.id, r->id) == 0)
			return r->kind != RECORD_FORGET;
	}
	return false;
}

static size_t segment_index(const struct compaction *k, uint32_t number)
{
	for (size_t i = 0; i < k->n_segments; i++) {
		if (k->c->store->segments[i].number == number)
			return i;
	}
	return k->n_segments;
}

/* Marks what stays, and finds the segments that are worth a copy. */
static int choose(struct compaction *k)
{
	struct store *s = k->c->store;
	int r = marks_walk(k->c, k->doomed, NULL, NULL);

	if (r != 0)
		return r;
	for (size_t i = 0; i < k->n_erased; i++) {
		struct blob *blob = blobs_get(&s->blobs, k->erased + i * SHA256_SIZE);

		if (!blob)
			continue;
		blob->marked = false;
		if (blob->segment != BLOB_LARGE)
			k->rewrite[segment_index(k, blob->segment)] = true;
	}
	for (size_t i = 0; i < s->blobs.capacity; i++) {
		const struct blob *b = &s->blobs.slots[i];

		if (b->used && b->marked && b->segment != BLOB_LARGE)
			k->live[segment_index(k, b->segment)] += b->length + FRAME_HEADER_SIZE;
	}
	for (size_t i = 0; i < k->n_segments; i++) {
		if (k->live[i] < s->segments[i].size - s->segments[i].size / 4)
			k->rewrite[i] = true;
	}
	return 0;
}

static const struct loaded *loaded_of(const struct il_chronicle *c, const struct store_frame *f)
{
	for (size_t i = 0; i < c->n_records; i++) {
		if (memcmp(c->records[i]->record.hash, f->hash, SHA256_SIZE) == 0)
			return c->records[i];
	}
	return NULL;
}

static int copy_records(struct compaction *k, size_t n_frames)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_frames; i++) {
		struct store_frame f = k->c->store->frames[i];
		const struct loaded *l = f.type == FRAME_RECORD ? loaded_of(k->c, &f) : NULL;

		if (l && !is_doomed(k, &l->record) && k->rewrite[segment_index(k, f.segment)])
			r = store_copy_frame(k->c->store, &f);
	}
	return r;
}

static int copy_blobs(struct compaction *k)
{
	struct store *s = k->c->store;
	size_t n = 0;
	auto_free struct store_frame *frames = calloc(s->blobs.n + 1, sizeof(*frames));
	int r = 0;

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < s->blobs.capacity; i++) {
		const struct blob *b = &s->blobs.slots[i];

		if (!b->used || !b->marked || b->segment == BLOB_LARGE ||
			!k->rewrite[segment_index(k, b->segment)])
			continue;
		frames[n] = (struct store_frame){ .segment = b->segment,
			.type = b->type,
			.offset = b->offset,
			.length = b->length };
		memcpy(frames[n++].hash, b->hash, SHA256_SIZE);
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		r = store_copy_frame(s, &frames[i]);
	return r;
}

static uint64_t snapshots_between(const struct compaction *k, uint64_t from, uint64_t to)
{
	uint64_t n = 0, covered = from;

	for (size_t i = 0; i < k->c->n_stubs; i++) {
		const struct stub *s = &k->c->stubs[i];

		if (s->from >= covered && s->to <= to) {
			n += s->n_snapshots;
			covered = s->to + 1;
		}
	}
	for (size_t i = 0; i < k->c->n_records; i++) {
		const struct record *r = &k->c->records[i]->record;

		n += r->kind == RECORD_BEGIN && r->seq >= from && r->seq <= to;
	}
	return n;
}

static int add_stub(struct compaction *k, const struct stub *s)
{
	auto_buf struct buf b = BUF_INIT(4096);
	uint8_t hash[SHA256_SIZE];
	struct stub counted = *s;

	counted.n_snapshots = snapshots_between(k, s->from, s->to);
	chain_stub_write(&b, &counted, k->c->store->key);
	if (buf_error(&b) != 0)
		return buf_error(&b);
	return store_append(k->c->store, FRAME_STUB, b.data, b.size, hash);
}

/* One stub for each gap between the records that stay: the links beside it say its hashes. */
static int add_stubs(struct compaction *k)
{
	struct stub gap = { .from = 1 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->c->n_records; i++) {
		const struct record *at = &k->c->records[i]->record;

		if (is_doomed(k, at))
			continue;
		gap.to = at->seq - 1;
		memcpy(gap.hash, at->prev, SHA256_SIZE);
		if (gap.to >= gap.from)
			r = add_stub(k, &gap);
		gap.from = at->seq + 1;
		memcpy(gap.prev, at->hash, SHA256_SIZE);
	}
	gap.to = k->c->head.seq;
	memcpy(gap.hash, k->c->head.hash, SHA256_SIZE);
	return r == 0 && gap.to >= gap.from ? add_stub(k, &gap) : r;
}

/* Large contents that nothing refers to any more, and what dead captures left. */
static int remove_large(struct compaction *k)
{
	struct store *s = k->c->store;
	bool dirty = false;

	for (size_t i = 0; i < s->blobs.capacity; i++) {
		const struct blob *b = &s->blobs.slots[i];
		char name[LARGE_NAME_SIZE];

		if (!b->used || b->marked || b->segment != BLOB_LARGE)
			continue;
		hex_encode(b->hash, SHA256_SIZE, name);
		if (unlinkat(s->large_fd, name, 0) < 0 && errno != ENOENT)
			return -errno;
		dirty = true;
	}
	(void)unlinkat(s->large_fd, "new", 0); /* seldom there */
	return dirty && fsync(s->large_fd) < 0 ? -errno : 0;
}

static int write_new(struct compaction *k)
{
	size_t n_frames = k->c->store->n_frames;
	int r = store_begin_segment(k->c->store);

	if (r == 0)
		r = add_stubs(k);
	if (r == 0)
		r = copy_records(k, n_frames);
	if (r == 0)
		r = copy_blobs(k);
	return r != 0 ? r : store_commit(k->c->store);
}

static int remove_old(struct compaction *k)
{
	struct store *s = k->c->store;
	int r = remove_large(k);

	for (size_t i = 0; r == 0 && i < k->n_segments; i++) {
		if (k->rewrite[i])
			r = segment_remove(s->segments_fd, s->segments[i].number);
	}
	if (r == 0 && fsync(s->segments_fd) < 0)
		r = -errno;
	return r;
}

int compact(struct il_chronicle *c, const bool *doomed, const uint8_t *erased, size_t n_erased)
{
	size_t n = c->store->n_segments;
	auto_free bool *rewrite = calloc(n + 1, sizeof(*rewrite));
	auto_free uint64_t *live = calloc(n + 1, sizeof(*live));
	struct compaction k = { .c = c,
		.doomed = doomed,
		.erased = erased,
		.n_erased = n_erased,
		.rewrite = rewrite,
		.n_segments = n,
		.live = live };
	int r, loaded;

	if (!rewrite || !live)
		return -ENOMEM;
	r = choose(&k);
	if (r == 0)
		r = write_new(&k);
	if (r != 0) {
		int undone = store_abort(c->store);

		return undone != 0 ? undone : r;
	}
	r = remove_old(&k);
	store_unload(c->store);
	loaded = store_load(c->store);
	if (loaded == 0)
		loaded = book_load(c);
	return r != 0 ? r : loaded;
}
