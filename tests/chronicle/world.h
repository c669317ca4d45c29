/*
 * A small world for the tests: a directory with a tree, a store beside it, a way to
 * change the tree at random, and a description of all that a rollback must bring back,
 * made without the library's help.
 */
#pragma once

#include "chronicle/chronicle.h"

struct world {
	char dir[128];  /* holds tree/ and store/ */
	char tree[300]; /* the real path */
	int tree_fd;
	char store[200];
	struct il_chronicle *c;
	struct il_chronicle_options options;
	uint64_t random;
	bool talkative; /* name conflicts */
};

void world_open(struct world *w);
void world_open_with(struct world *w, const struct il_chronicle_options *options);
void world_reopen(struct world *w);
void world_close(struct world *w); /* removes it all */

void put(struct world *w, const char *path, const char *text);
char *get(struct world *w, const char *path); /* NULL when absent; caller frees */

/* Begins a snapshot of one place. */
void begin_at(
	struct world *w, const char *path, bool recursive, char ret_id[static IL_SNAPSHOT_ID_SIZE]);
void seal(struct world *w, const char *id);
int roll_back(struct world *w, const char *id, const char *path, bool force);

/* One line an object, sorted: everything that matters. Caller frees. */
char *describe(struct world *w);

uint32_t roll(struct world *w, uint32_t n);
void plant(struct world *w, unsigned n);
void mutate(struct world *w);
