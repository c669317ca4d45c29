#include "chronicle/book.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void loaded_free(struct loaded *l)
{
	if (!l)
		return;
	arena_done(&l->arena);
	free(l->bytes);
	free(l);
}

void book_unload(struct il_chronicle *c)
{
	for (size_t i = 0; i < c->n_records; i++)
		loaded_free(c->records[i]);
	free(c->records);
	free(c->snapshots);
	free(c->stubs);
	c->records = NULL;
	c->snapshots = NULL;
	c->stubs = NULL;
	c->n_records = c->capacity_records = c->n_snapshots = c->capacity_snapshots = 0;
	c->n_stubs = 0;
	c->head = (struct head){ 0 };
	c->damage[0] = c->bad_id[0] = '\0';
}

int book_condition(int r)
{
	switch (r) {
	case STORE_E_LOCKED:
		return IL_CHRONICLE_E_LOCKED;
	case STORE_E_BROKEN:
	case STORE_E_ABSENT:
		return IL_CHRONICLE_E_BROKEN;
	default:
		return r;
	}
}

int book_check(const struct il_chronicle *c, struct diag *reterr_diag)
{
	if (c->damage[0] == '\0')
		return 0;
	return diag_set(
		reterr_diag, IL_CHRONICLE_E_BROKEN, 0, 0, "The store is broken: %s.", c->damage);
}

struct snapshot *book_find(struct il_chronicle *c, const char *id)
{
	for (size_t i = c->n_snapshots; i > 0; i--) {
		if (strcmp(c->snapshots[i - 1].begin->record.id, id) == 0)
			return &c->snapshots[i - 1];
	}
	return NULL;
}

bool book_is_erased(const struct il_chronicle *c, const uint8_t hash[static SHA256_SIZE])
{
	for (size_t i = 0; i < c->n_records; i++) {
		const struct record *r = &c->records[i]->record;

		for (uint32_t j = 0; j < r->n_hashes; j++) {
			if (memcmp(r->hashes + (size_t)j * SHA256_SIZE, hash, SHA256_SIZE) == 0)
				return true;
		}
	}
	return false;
}

/* Takes the record; a seal joins its snapshot. */
static int keep(struct il_chronicle *c, struct loaded *l)
{
	struct snapshot *s;

	if (c->n_records == c->capacity_records) {
		size_t capacity = c->capacity_records > 0 ? c->capacity_records * 2 : 64;
		struct loaded **records = realloc(c->records, capacity * sizeof(*records));
		struct snapshot *snapshots;

		if (!records)
			return -ENOMEM;
		c->records = records;
		snapshots = realloc(c->snapshots, capacity * sizeof(*snapshots));
		if (!snapshots)
			return -ENOMEM;
		c->snapshots = snapshots;
		c->capacity_records = c->capacity_snapshots = capacity;
	}
	c->records[c->n_records++] = l;
	if (l->record.kind == RECORD_BEGIN) {
		c->snapshots[c->n_snapshots++] = (struct snapshot){ .begin = l };
	} else if (l->record.kind == RECORD_SEAL) {
		s = book_find(c, l->record.id);
		if (s && s->begin->record.n_places == l->record.n_places)
			s->seal = l;
	}
	return 0;
}

/* Reads bytes (taken) as a record. -EBADMSG when they are none. */
static int load_bytes(uint8_t *bytes, size_t n, const uint8_t *hash, struct loaded **ret_loaded)
{
	struct loaded *l = calloc(1, sizeof(*l));
	int r;

	if (!l) {
		free(bytes);
		return -ENOMEM;
	}
	l->bytes = bytes;
	arena_init(&l->arena, RECORD_ARENA_MAX);
	r = record_read(&l->arena, bytes, n, &l->record);
	if (r != 0) {
		loaded_free(l);
		return r;
	}
	memcpy(l->record.hash, hash, SHA256_SIZE);
	*ret_loaded = l;
	return 0;
}

static void PRINTF_LIKE(3, 4)
	damage(struct il_chronicle *c, const char *id, const char *format, ...)
{
	va_list args;

	if (c->damage[0] != '\0')
		return; /* the first one found is told */
	va_start(args, format);
	(void)vsnprintf(c->damage, sizeof(c->damage), format, args);
	va_end(args);
	(void)snprintf(c->bad_id, sizeof(c->bad_id), "%s", id);
}

struct link {
	uint64_t from, to;
	const uint8_t *prev, *hash; /* borrowed */
	struct loaded *loaded;      /* NULL: a stub */
};

/* By first number; a longer run first, so that a stub goes before what it replaced. */
static int compare_links(const void *x, const void *y)
{
	const struct link *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to > b->to ? -1 : 1;
	return a->loaded ? b->loaded ? 0 : 1 : -1;
}

static int read_frame(struct il_chronicle *c, const struct store_frame *f, struct link *ret_link)
{
	auto_free uint8_t *bytes = NULL;
	size_t n = 0;
	int r = store_get_frame(c->store, f, &bytes, &n);

	if (r == 0 && f->type == FRAME_RECORD) {
		struct loaded *l = NULL;

		r = load_bytes(take_ptr(bytes), n, f->hash, &l);
		if (r == 0)
			*ret_link = (struct link){ .from = l->record.seq,
				.to = l->record.seq,
				.prev = l->record.prev,
				.hash = l->record.hash,
				.loaded = l };
	} else if (r == 0) {
		struct stub *s = &c->stubs[c->n_stubs];

		r = chain_stub_read(bytes, n, c->store->key, s);
		if (r == 0) {
			c->n_stubs++;
			*ret_link = (struct link){
				.from = s->from, .to = s->to, .prev = s->prev, .hash = s->hash
			};
		}
	}
	return r;
}

static int read_frames(struct il_chronicle *c, struct link *links, size_t *ret_n)
{
	size_t n = 0;

	for (size_t i = 0; i < c->store->n_frames; i++) {
		int r = read_frame(c, &c->store->frames[i], &links[n]);

		if (r == 0)
			n++;
		else if (r > 0 || r == -EBADMSG)
			damage(c, "", "record in segment %" PRIu32 " is changed",
				c->store->frames[i].segment);
		else
			return r;
	}
	*ret_n = n;
	return 0;
}

/* The chain from its first link to its last. Links that are used or dropped lose their `loaded`. */
static int follow(struct il_chronicle *c, struct link *links, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct link *at = &links[i];
		const char *id = at->loaded ? at->loaded->record.id : "";

		if (at->to <= c->head.seq) { /* pruned, or copied by a prune that died */
			loaded_free(take_ptr(at->loaded));
			continue;
		}
		if (at->from > c->head.seq + 1)
			damage(c, id, "the records before number %" PRIu64 " are missing",
				at->from);
		else if (memcmp(at->prev, c->head.hash, SHA256_SIZE) != 0)
			damage(c, id, "record number %" PRIu64 " does not follow the one before",
				at->from);
		c->head.seq = at->to;
		memcpy(c->head.hash, at->hash, SHA256_SIZE);
		if (at->loaded)
			r = keep(c, take_ptr(at->loaded));
	}
	return r;
}

/* The hash of a number that is in the chain; NULL when it was pruned or is not there. */
static const uint8_t *hash_of(const struct il_chronicle *c, uint64_t seq)
{
	for (size_t i = 0; i < c->n_records; i++) {
		if (c->records[i]->record.seq == seq)
			return c->records[i]->record.hash;
	}
	return NULL;
}

static int check_head(struct il_chronicle *c)
{
	struct head signed_head = { 0 };
	const uint8_t *hash;
	int r = chain_head_read(c->store, &signed_head);

#ifdef MUTATION_CHRONICLE_HEAD
	return 0;
#endif
	c->head_behind = c->head.seq > 0;
	if (r == -ENOENT) {
		/* Only the very first record may be without: its writer died before it signed. */
		if (c->head.seq > 1)
			damage(c, "",
				"the signed head is missing; the chain has %" PRIu64 " records",
				c->head.seq);
		return 0;
	}
	if (r == -EBADMSG) {
		damage(c, "", "the head bears no good signature; the chain has %" PRIu64 " records",
			c->head.seq);
		return 0;
	}
	if (r != 0)
		return r;
	c->head_behind = signed_head.seq < c->head.seq;
	hash = hash_of(c, signed_head.seq);
	if (signed_head.seq > c->head.seq)
		damage(c, "", "the records up to number %" PRIu64 " are missing", signed_head.seq);
	else if (hash && memcmp(hash, signed_head.hash, SHA256_SIZE) != 0)
		damage(c, "", "record number %" PRIu64 " is not the signed one", signed_head.seq);
	return 0;
}

int book_load(struct il_chronicle *c)
{
	auto_free struct link *links = calloc(c->store->n_frames + 1, sizeof(*links));
	size_t n = 0;
	int r;

	book_unload(c);
	c->stubs = calloc(c->store->n_frames + 1, sizeof(*c->stubs));
	if (!links || !c->stubs)
		return -ENOMEM;
	if (c->store->damage[0] != '\0')
		(void)snprintf(c->damage, sizeof(c->damage), "%s", c->store->damage);
	r = read_frames(c, links, &n);
	if (r == 0 && n > 0)
		qsort(links, n, sizeof(*links), compare_links);
	if (r == 0)
		r = follow(c, links, n);
	for (size_t i = 0; i < n; i++)
		loaded_free(links[i].loaded);
	return r != 0 ? r : check_head(c);
}

int book_add(struct il_chronicle *c, struct record *record)
{
	auto_buf struct buf b = BUF_INIT(RECORD_SIZE_MAX);
	struct loaded *l = NULL;
	uint8_t *bytes = NULL;
	size_t n = 0;
	int r;

	record->seq = c->head.seq + 1;
	memcpy(record->prev, c->head.hash, SHA256_SIZE);
	record_write(&b, record);
	r = buf_take(&b, &bytes, &n);
	if (r == 0)
		r = store_append(c->store, FRAME_RECORD, bytes, n, record->hash);
	if (r == 0)
		r = store_commit(c->store);
	if (r != 0) {
		free(bytes);
		return r;
	}
	c->head.seq = record->seq;
	memcpy(c->head.hash, record->hash, SHA256_SIZE);
	r = load_bytes(bytes, n, record->hash, &l);
	if (r == 0)
		r = keep(c, l);
	return r != 0 ? r : chain_head_write(c->store, &c->head);
}
