/*
 * The inside of a chronicle: the store, the records read from it in the order of the chain,
 * and the index. The public functions are in begin.c, rollback.c, query.c, verify.c, prune.c.
 */
#pragma once

#include "chronicle/capture.h"
#include "chronicle/delta.h"
#include "chronicle/index.h"
#include "chronicle/record.h"
#include "chronicle/store.h"

#define RECORD_ARENA_MAX ((size_t)64 << 20)
#define WALK_ARENA_MAX   ((size_t)4 << 30)

struct loaded {
	struct record record;
	struct arena arena;
	uint8_t *bytes; /* owned: what the record's slices are in */
};

struct snapshot {
	struct loaded *begin; /* borrowed from the list of records */
	struct loaded *seal;  /* NULL until sealed */
};

struct il_chronicle {
	struct store *store;                 /* owned */
	struct il_chronicle_options options; /* texts are copies, owned */
	const struct clock *clock;
	struct index index;
	struct loaded **records; /* owned; by sequence; pruned ones are not here */
	size_t n_records, capacity_records;
	struct snapshot *snapshots; /* owned; oldest first */
	size_t n_snapshots, capacity_snapshots;
	struct stub *stubs; /* owned */
	size_t n_stubs;
	struct head head; /* of the chain as it is in memory */
	bool head_behind; /* the signed head is older than the chain */
	char damage[200]; /* "" while the chain is whole */
	char bad_id[IL_SNAPSHOT_ID_SIZE];
};

void loaded_free(struct loaded *l);
/* Reads all records anew and checks the chain; what is wrong goes to damage, not to the result. */
int book_load(struct il_chronicle *c) MUST_CHECK;
void book_unload(struct il_chronicle *c);
/* Writes one record (number, link and hash are filled in), commits, and signs the head. */
int book_add(struct il_chronicle *c, struct record *record) MUST_CHECK;
struct snapshot *book_find(struct il_chronicle *c, const char *id);
/* 0, or IL_CHRONICLE_E_BROKEN with diag. */
int book_check(const struct il_chronicle *c, struct diag *reterr_diag) MUST_CHECK;
/* A store's condition as this module's. */
int book_condition(int r);
bool book_is_erased(const struct il_chronicle *c, const uint8_t hash[static SHA256_SIZE]);

/* Captures the places of a record into `places[].entry`; roots are opened by their paths. */
int book_capture(struct il_chronicle *c, struct capture *capture, const struct record *begin,
	struct record_place *places, struct diag *reterr_diag) MUST_CHECK;
void book_capture_init(
	struct il_chronicle *c, struct capture *capture, struct arena *a, struct diag *diag);

/* A snapshot whose places were captured already; fills id, time and link. */
int snapshot_add(struct il_chronicle *c, const struct il_snapshot_info *info, const char *undoes,
	struct record *record) MUST_CHECK;
int snapshot_report(const struct record *begin, const struct deltas *deltas, il_change_fn fn,
	void *ctx) MUST_CHECK;
