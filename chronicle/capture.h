/*
 * A capture walks places and puts what it finds into the store: the content of
 * files, the trees of directories. What is unchanged since it was last read is not
 * read again.
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "chronicle/index.h"
#include "chronicle/record.h"

#define CAPTURE_DEPTH_MAX 256

struct capture {
	struct store *store;                        /* borrowed */
	struct index *index;                        /* borrowed */
	const struct il_chronicle_options *options; /* borrowed */
	const struct clock *clock;                  /* borrowed */
	struct arena *arena;                        /* borrowed: of the entries of places */
	uint64_t store_dev, store_ino;              /* of the store's own directory */
	uint64_t n_objects;
	struct record_omission *omissions; /* owned; the paths are the arena's */
	uint32_t n_omissions, capacity_omissions;
	uint64_t n_left_out;
	uint32_t place;                    /* the one being walked */
	bool recursive, ignore_exclusions; /* of it */
	bool lenient; /* what a place names itself may be left out too: after the action it is too
			 late to refuse */
	struct buf path; /* of the object being looked at, relative to the root */
	struct buf content, xattrs, extents; /* of it */
	struct diag *diag;                   /* or NULL */
};

void capture_init(struct capture *c);
void capture_done(struct capture *c);
/*
 * The state of one place; its path must be normalized. Slices are the arena's. What a
 * place names itself is never left out: -EFBIG, -EACCES ... with diag instead.
 */
int capture_place(struct capture *c, int root_fd, uint32_t place, const struct record_place *p,
	struct entry *ret_entry) MUST_CHECK;
