#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "chronicle/beneath.h"
#include "chronicle/book.h"
#include "chronicle/leftovers.h"

void book_capture_init(
	struct il_chronicle *c, struct capture *capture, struct arena *a, struct diag *diag)
{
	struct stat st;

	capture_init(capture);
	capture->store = c->store;
	capture->index = &c->index;
	capture->options = &c->options;
	capture->clock = c->clock;
	capture->arena = a;
	capture->diag = diag;
	if (fstat(c->store->dir_fd, &st) == 0) {
		capture->store_dev = st.st_dev;
		capture->store_ino = st.st_ino;
	}
}

int book_capture(struct il_chronicle *c, struct capture *capture, const struct record *begin,
	struct record_place *places, struct diag *reterr_diag)
{
	auto_close int fd = -1;
	uint32_t open_root = UINT32_MAX;
	int r = 0;

	(void)c;
	for (uint32_t i = 0; r == 0 && i < begin->n_places; i++) {
		const struct record_place *p = &begin->places[i];

		places[i] = *p;
		places[i].entry = (struct entry){ 0 };
		if (p->root != open_root) {
			cleanup_close(&fd);
			r = beneath_open_root(begin->roots[p->root], &fd);
			open_root = p->root;
		}
		if (r == -ENOENT || r == -ENOTDIR) {
			r = 0; /* the root itself is gone, and all in it */
			open_root = UINT32_MAX;
			continue;
		}
		if (r != 0)
			return diag_set(reterr_diag, r, 0, 0, "Cannot open \"%s\": %s.",
				begin->roots[p->root], strerror(-r));
		r = capture_place(capture, fd, i, p, &places[i].entry);
	}
	return r;
}

/* Sorts by age: the time of the snapshot, never before that of the last one, then chance. */
static void make_id(
	const struct il_chronicle *c, int64_t time_ns, char ret_id[static IL_SNAPSHOT_ID_SIZE])
{
	uint64_t noise;

	(void)c;
	randombytes_buf(&noise, sizeof(noise));
	(void)snprintf(
		ret_id, IL_SNAPSHOT_ID_SIZE, "%016" PRIx64 "%016" PRIx64, (uint64_t)time_ns, noise);
}

int snapshot_add(struct il_chronicle *c, const struct il_snapshot_info *info, const char *undoes,
	struct record *record)
{
	int64_t last =
		c->n_snapshots > 0 ? c->snapshots[c->n_snapshots - 1].begin->record.time_ns : 0;

	record->kind = RECORD_BEGIN;
	record->time_ns = clock_wall_ns(c->clock);
	if (record->time_ns <= last)
		record->time_ns = last + 1;
	record->session = info->session;
	record->action_type = info->action_type;
	record->summary = info->summary;
	if (info->action_hash)
		record->action_hash = (struct slice){ info->action_hash, SHA256_SIZE };
	if (undoes)
		memcpy(record->undoes, undoes, IL_SNAPSHOT_ID_SIZE);
	make_id(c, record->time_ns, record->id);
	return book_add(c, record);
}

/* The index of a root; its descriptor must be the directory that the path leads to. */
static int add_root(struct record *r, const struct il_chronicle_place *p, uint32_t *ret_root,
	struct diag *reterr_diag)
{
	auto_close int fd = -1;
	struct stat given, found;
	int result;

	for (uint32_t i = 0; i < r->n_roots; i++) {
		if (strcmp(r->roots[i], p->root) == 0) {
			*ret_root = i;
			return 0;
		}
	}
	if (p->root[0] != '/' || strlen(p->root) >= RECORD_PATH_MAX ||
		r->n_roots == RECORD_ROOTS_MAX)
		return diag_set(
			reterr_diag, -EINVAL, 0, 0, "\"%.200s\" is no usable root.", p->root);
	result = beneath_open_root(p->root, &fd);
	if (result == 0 && (fstat(fd, &found) < 0 || fstat(p->dir_fd, &given) < 0))
		result = -errno;
	if (result == 0 && (found.st_dev != given.st_dev || found.st_ino != given.st_ino))
		result = -ESTALE;
	if (result != 0)
		return diag_set(reterr_diag, result, 0, 0,
			"The root \"%.180s\" cannot be used: %s.", p->root, strerror(-result));
	*ret_root = r->n_roots;
	r->roots[r->n_roots++] = p->root;
	return 0;
}

/* A place within one that is kept as a whole adds nothing. */
static bool is_covered(const struct record *r, const struct record_place *p)
{
	for (uint32_t i = 0; i < r->n_places; i++) {
		const struct record_place *q = &r->places[i];

		if (q->root == p->root &&
			(strcmp(q->path, p->path) == 0
					? (q->recursive || !p->recursive) &&
						  (q->ignore_exclusions || !p->ignore_exclusions)
					: q->recursive && path_is_in(p->path, q->path) &&
						  !p->ignore_exclusions && q->ignore_exclusions))
			return true;
	}
	return false;
}

static int add_place(struct arena *a, struct record *r, const struct il_chronicle_place *p,
	struct diag *reterr_diag)
{
	auto_free char *path = NULL;
	struct record_place place = {
		.recursive = p->recursive,
		.may_create = p->may_create,
		.ignore_exclusions = p->ignore_exclusions,
	};
	bool topmost = false;
	const char *given = strcmp(p->path, ".") == 0 ? "" : p->path;
	int result;

	if (!path_is_relative(given))
		return diag_set(reterr_diag, -EINVAL, 0, 0,
			"\"%.200s\" is no path beneath its root.", given);
	result = add_root(r, p, &place.root, reterr_diag);
	if (result != 0)
		return result;
	result = beneath_normalize(p->dir_fd, given, &path, &topmost);
	if (result != 0)
		return diag_set(reterr_diag, result, 0, 0, "\"%.200s\" cannot be kept: %s.",
			p->path, strerror(-result));
	/* The action will make the directories too: all beneath the first missing one is its work.
	 */
	place.recursive = place.recursive || topmost;
	place.path = arena_text(a, path, strlen(path));
	if (!place.path)
		return -ENOMEM;
	if (is_covered(r, &place))
		return 0;
	if (r->n_places == RECORD_PLACES_MAX)
		return diag_set(reterr_diag, -E2BIG, 0, 0, "Too many places in one snapshot.");
	r->places[r->n_places++] = place;
	return 0;
}

static int collect_places(struct arena *a, struct record *r,
	const struct il_chronicle_place *places, size_t n, struct diag *reterr_diag)
{
	int result = 0;

	r->places = arena_alloc_array(a, RECORD_PLACES_MAX, sizeof(*r->places));
	r->roots = arena_alloc_array(a, RECORD_ROOTS_MAX, sizeof(*r->roots));
	if (!r->places || !r->roots)
		return -ENOMEM;
	for (size_t i = 0; result == 0 && i < n; i++)
		result = add_place(a, r, &places[i], reterr_diag);
	return result;
}

static int over_quota(const struct il_chronicle *c, struct diag *reterr_diag)
{
	if (store_bytes(c->store) < c->options.store_bytes_max)
		return 0;
	return diag_set(reterr_diag, IL_CHRONICLE_E_QUOTA, 0, 0,
		"The store holds %" PRIu64 " of %" PRIu64
		" bytes; prune it, or raise the limit in the configuration.",
		store_bytes(c->store), c->options.store_bytes_max);
}

/* Captures and records; the caller takes a failure back. */
static int begin(struct il_chronicle *c, struct capture *capture,
	const struct il_snapshot_info *info, struct record *r, struct diag *reterr_diag)
{
	int result = book_capture(c, capture, r, r->places, reterr_diag);

	if (result == 0)
		result = over_quota(c, reterr_diag);
	if (result != 0)
		return result;
	r->omissions = capture->omissions;
	r->n_omissions = capture->n_omissions;
	r->n_left_out = capture->n_left_out;
	r->n_objects = capture->n_objects;
	return snapshot_add(c, info, NULL, r);
}

int il_chronicle_begin(struct il_chronicle *c, const struct il_snapshot_info *info,
	const struct il_chronicle_place *places, size_t n_places,
	char ret_id[static IL_SNAPSHOT_ID_SIZE], uint64_t *ret_left_out, struct diag *reterr_diag)
{
	auto_arena struct arena a = { 0 };
	struct capture capture;
	struct record record = { 0 };
	int r;

	arena_init(&a, WALK_ARENA_MAX);
	if (reterr_diag)
		*reterr_diag = (struct diag){ 0 };
	r = book_check(c, reterr_diag);
	if (r == 0)
		r = over_quota(c, reterr_diag);
	if (r == 0)
		r = collect_places(&a, &record, places, n_places, reterr_diag);
	if (r != 0)
		return r;
	book_capture_init(c, &capture, &a, reterr_diag);
	r = begin(c, &capture, info, &record, reterr_diag);
	capture_done(&capture);
	if (r != 0) {
		int undone = store_abort(c->store);

		if (r < 0 && reterr_diag && reterr_diag->text[0] == '\0')
			(void)diag_set(
				reterr_diag, r, 0, 0, "The snapshot failed: %s.", strerror(-r));
		return undone != 0 ? book_condition(undone) : book_condition(r);
	}
	memcpy(ret_id, record.id, IL_SNAPSHOT_ID_SIZE);
	if (ret_left_out)
		*ret_left_out = record.n_left_out;
	return 0;
}

int snapshot_report(
	const struct record *begin_record, const struct deltas *deltas, il_change_fn fn, void *ctx)
{
	for (size_t i = 0; i < deltas->n; i++) {
		const struct delta *d = &deltas->list[i];
		struct il_change change = {
			.kind = delta_kind(d),
			.root = begin_record->roots[begin_record->places[d->place].root],
			.path = d->path,
			.size_before = d->before.kind == ENTRY_FILE ? d->before.size : 0,
			.size_after = d->after.kind == ENTRY_FILE ? d->after.size : 0,
		};
		int r = delta_is_change(d) ? fn(ctx, &change) : 0;

		if (r != 0)
			return r;
	}
	return 0;
}

static int seal(struct il_chronicle *c, const struct record *from, struct record *r,
	struct arena *a, struct deltas *deltas)
{
	struct capture capture;
	int result;

	r->places = arena_alloc_array(a, from->n_places + 1, sizeof(*r->places));
	if (!r->places)
		return -ENOMEM;
	book_capture_init(c, &capture, a, NULL);
	capture.lenient = true;
	result = book_capture(c, &capture, from, r->places, NULL);
	r->n_places = from->n_places;
	r->omissions = capture.omissions;
	r->n_omissions = capture.n_omissions;
	r->n_left_out = capture.n_left_out;
	r->n_objects = capture.n_objects;
	if (result == 0)
		result = deltas_find(c->store, a, from->places, r->places, from->n_places, deltas);
	for (size_t i = 0; result == 0 && i < deltas->n; i++)
		r->n_changes += delta_is_change(&deltas->list[i]);
	if (result == 0)
		result = book_add(c, r);
	capture_done(&capture);
	return result;
}

int il_chronicle_seal(struct il_chronicle *c, const char *id, enum il_snapshot_outcome outcome,
	il_change_fn fn, void *ctx)
{
	CLEANUP(deltas_done) struct deltas deltas = { 0 };
	const struct snapshot *s = book_find(c, id);
	struct record record = { .kind = RECORD_SEAL, .outcome = outcome };
	const struct record *from;
	auto_arena struct arena a = { 0 };
	int r = book_check(c, NULL);

	arena_init(&a, WALK_ARENA_MAX);
	if (!s)
		return IL_CHRONICLE_E_UNKNOWN;
	if (r != 0 || s->seal)
		return r != 0 ? r : -EALREADY;
	from = &s->begin->record;
	memcpy(record.id, id, IL_SNAPSHOT_ID_SIZE);
	record.time_ns = clock_wall_ns(c->clock);
	if (from->undoes[0] != '\0')
		r = leftovers_remove(from);
	if (r == 0)
		r = seal(c, from, &record, &a, &deltas);
	if (r != 0) {
		int undone = store_abort(c->store);

		return book_condition(undone != 0 ? undone : r);
	}
	return fn ? snapshot_report(from, &deltas, fn, ctx) : 0;
}

int il_chronicle_unsealed(struct il_chronicle *c, int (*fn)(void *ctx, const char *id), void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->n_snapshots; i++) {
		char id[IL_SNAPSHOT_ID_SIZE];

		if (c->snapshots[i].seal)
			continue;
		memcpy(id, c->snapshots[i].begin->record.id, sizeof(id));
		r = fn(ctx, id);
	}
	return r;
}
