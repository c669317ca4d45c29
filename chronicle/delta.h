/*
 * What differs between two recorded states of the same places. Descends only where
 * the trees' hashes differ.
 */
#pragma once

#include "base/arena.h"
#include "chronicle/record.h"
#include "chronicle/store.h"

struct delta {
	uint32_t place;
	const char *path;           /* relative to the root */
	struct entry before, after; /* names empty; slices are the arena's */
};

struct deltas {
	struct delta *list; /* owned; a directory stands before what is in it */
	size_t n, capacity;
};

void deltas_done(struct deltas *d);
/* 0, STORE_E_ABSENT or STORE_E_BROKEN when a tree is not to be had, -errno. */
int deltas_find(struct store *s, struct arena *a, const struct record_place *before,
	const struct record_place *after, uint32_t n_places, struct deltas *ret_deltas) MUST_CHECK;

/* False when only the times of a directory differ, which follows from what is in it. */
bool delta_is_change(const struct delta *d);
enum il_change_kind delta_kind(const struct delta *d);

/* The entry at a path (relative to the root) in a recorded state; ENTRY_ABSENT when there is none.
 */
int entry_lookup(struct store *s, struct arena *a, const struct record_place *places,
	uint32_t n_places, uint32_t place, const char *path, struct entry *ret_entry) MUST_CHECK;

/* True if path is `beneath` or in it. */
bool path_is_in(const char *path, const char *beneath);

/* A directory's tree, decoded into the arena. */
struct tree {
	struct entry *list;
	size_t n, capacity;
};
int tree_load(struct store *s, struct arena *a, const struct entry *dir, struct tree *ret_tree)
	MUST_CHECK;
/* A directory of a place that is not recursive: recorded itself, not what is in it. */
bool is_shallow(const struct entry *e);
