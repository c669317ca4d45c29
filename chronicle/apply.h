/*
 * Applies a rollback: all it must change, in an order in which every step is
 * possible and repeatable.
 *
 *	stage	every file, link and node that must appear, under a temporary name; synced
 *	remove	what must go, the deepest first
 *	make	directories, the topmost first
 *	commit	the staged ones to their names, by rename
 *	finish	attributes in place, then those of directories, the deepest first
 */
#pragma once

#include "chronicle/book.h"

struct op {
	uint32_t place;
	const char *path;
	const struct entry *target, *now;
	uint64_t staged;  /* number of the temporary; 0: none */
	size_t n_waiting; /* the temporary waits beside the object at this much of path */
	bool in_place;    /* content is right, attributes are not */
};

struct touched {
	uint32_t root;
	char *path; /* owned: a directory in which something was renamed */
	int64_t mtime_ns;
};

struct apply {
	struct il_chronicle *c;
	const struct record *record; /* roots and places */
	const char *id;              /* of the rollback itself */
	struct op *ops;              /* owned; directories before what is in them */
	size_t n_ops, capacity_ops;
	bool force;
	const struct deltas
		*todo; /* borrowed: all that differs between the target and the present */
	const struct deltas *linked; /* borrowed: all files of the target with more than one name */
	int *root_fds;               /* owned, -1 when not open */
	uint64_t n_staged;
	struct touched *touched; /* owned */
	size_t n_touched, capacity_touched;
	int soft;          /* the first thing that could not be done for one object */
	char trouble[200]; /* what that was */
};

int apply_add(struct apply *a, const struct op *op) MUST_CHECK;
int apply_run(struct apply *a) MUST_CHECK;
void apply_done(struct apply *a);
