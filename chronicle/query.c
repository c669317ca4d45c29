#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/be.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "chronicle/book.h"

#define PIECE_SIZE ((size_t)256 << 10)

int il_chronicle_list(struct il_chronicle *c, il_snapshot_fn fn, void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->n_snapshots; i++) {
		const struct record *begin = &c->snapshots[i].begin->record;
		const struct record *seal =
			c->snapshots[i].seal ? &c->snapshots[i].seal->record : NULL;
		struct il_snapshot s = {
			.time_ns = begin->time_ns,
			.session = begin->session,
			.action_type = begin->action_type,
			.summary = begin->summary,
			.outcome = seal ? seal->outcome : IL_OUTCOME_INTERRUPTED,
			.n_objects = begin->n_objects,
			.n_changes = seal ? seal->n_changes : 0,
			.n_left_out = begin->n_left_out,
			.undoes = begin->undoes[0] ? begin->undoes : NULL,
		};

		memcpy(s.id, begin->id, sizeof(s.id));
		r = fn(ctx, &s);
	}
	return r;
}

int il_chronicle_changes(struct il_chronicle *c, const char *id, il_change_fn fn, void *ctx)
{
	CLEANUP(deltas_done) struct deltas deltas = { 0 };
	const struct snapshot *s = book_find(c, id);
	auto_arena struct arena a = { 0 };
	int r;

	arena_init(&a, WALK_ARENA_MAX);
	if (!s)
		return IL_CHRONICLE_E_UNKNOWN;
	if (!s->seal)
		return 0;
	r = deltas_find(c->store, &a, s->begin->record.places, s->seal->record.places,
		s->begin->record.n_places, &deltas);
	if (r == 0)
		r = snapshot_report(&s->begin->record, &deltas, fn, ctx);
	return book_condition(r);
}

int il_chronicle_left_out(struct il_chronicle *c, const char *id, il_left_out_fn fn, void *ctx)
{
	const struct snapshot *s = book_find(c, id);
	int r = 0;

	if (!s)
		return IL_CHRONICLE_E_UNKNOWN;
	for (uint32_t i = 0; r == 0 && i < s->begin->record.n_omissions; i++) {
		const struct record_omission *o = &s->begin->record.omissions[i];

		r = fn(ctx, o->path, left_out_name(o->reason));
	}
	return r;
}

static int write_zeros(int fd, uint64_t n)
{
	static const uint8_t zeros[4096];
	int r = 0;

	while (r == 0 && n > 0) {
		size_t piece = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);

		r = write_all(fd, zeros, piece);
		n -= piece;
	}
	return r;
}

static int write_range(int from, uint64_t at, int fd, uint64_t n)
{
	auto_free uint8_t *piece = malloc(PIECE_SIZE);
	int r = 0;

	if (!piece)
		return -ENOMEM;
	while (r == 0 && n > 0) {
		ssize_t got =
			pread(from, piece, n < PIECE_SIZE ? (size_t)n : PIECE_SIZE, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : IL_CHRONICLE_E_BROKEN;
		r = write_all(fd, piece, (size_t)got);
		at += (uint64_t)got;
		n -= (uint64_t)got;
	}
	return r;
}

static int write_file(struct il_chronicle *c, const struct entry *e, int fd)
{
	auto_close int from = -1;
	uint64_t at = 0, n = 0, position = 0;
	int r = store_open_blob(c->store, e->hash, &from, &at, &n);

	if (r == STORE_E_ABSENT)
		return book_is_erased(c, e->hash) ? IL_CHRONICLE_E_ERASED : IL_CHRONICLE_E_BROKEN;
	if (r != 0)
		return book_condition(r);
	if (e->extents.n == 0)
		return write_range(from, at, fd, n);
	for (size_t i = 0; r == 0 && i < e->extents.n; i += EXTENT_SIZE) {
		uint64_t start = be_load64(e->extents.bytes + i);
		uint64_t length = be_load64(e->extents.bytes + i + 8);

		r = write_zeros(fd, start - position);
		if (r == 0)
			r = write_range(from, at, fd, length);
		at += length;
		position = start + length;
	}
	return r != 0 ? r : write_zeros(fd, e->size - position);
}

int il_chronicle_cat(
	struct il_chronicle *c, const char *id, const char *path, enum il_side side, int fd)
{
	const struct snapshot *s = book_find(c, id);
	struct entry e = { 0 };
	auto_arena struct arena a = { 0 };
	const struct record *of;
	int r = 0;

	arena_init(&a, WALK_ARENA_MAX);
	if (!s || (side == IL_SIDE_AFTER && !s->seal))
		return IL_CHRONICLE_E_UNKNOWN;
	of = side == IL_SIDE_AFTER ? &s->seal->record : &s->begin->record;
	for (uint32_t i = 0; r == 0 && e.kind == ENTRY_ABSENT && i < of->n_places; i++)
		r = entry_lookup(c->store, &a, of->places, of->n_places, i, path, &e);
	if (r != 0)
		return book_condition(r);
	switch (e.kind) {
	case ENTRY_FILE:
		return write_file(c, &e, fd);
	case ENTRY_LINK:
		return write_all(fd, e.target.bytes, e.target.n);
	case ENTRY_DIR:
		return -EISDIR;
	case ENTRY_ABSENT:
	case ENTRY_NODE:
	case ENTRY_LEFT_OUT:
	case ENTRY_N_:
		break;
	}
	return -ENOENT;
}

uint64_t il_chronicle_bytes(const struct il_chronicle *c)
{
	return store_bytes(c->store);
}
