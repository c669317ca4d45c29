/*
 * An entry is the recorded state of one object: a file with its content's hash,
 * a directory with its tree's hash, a link, a device node, an absence, or the
 * mark of something that was left out.
 *
 * A tree is the sorted list of the entries of one directory. It is stored by its
 * own hash, so that an unchanged directory costs nothing and two states are
 * compared by descending only where hashes differ.
 *
 * Texts and byte strings are slices: borrowed from the decoded bytes, not
 * terminated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mp.h"

#define ENTRY_NAME_MAX    255
#define ENTRY_TARGET_MAX  4095
#define ENTRY_XATTRS_MAX  ((size_t)1 << 20)
#define ENTRY_EXTENTS_MAX ((size_t)16 << 20)
#define EXTENT_SIZE       16 /* offset and length, big-endian */
#define TREE_ENTRIES_MAX  1000000
#define TREE_BYTES_MAX    ((size_t)256 << 20)

enum entry_kind {
	ENTRY_ABSENT,
	ENTRY_FILE,
	ENTRY_DIR,
	ENTRY_LINK,
	ENTRY_NODE, /* device, socket, FIFO: recorded, not copied */
	ENTRY_LEFT_OUT,
	ENTRY_N_
};

enum left_out {
	LEFT_OUT_NOT,
	LEFT_OUT_EXCLUDED,
	LEFT_OUT_TOO_LARGE,
	LEFT_OUT_UNREADABLE,
	LEFT_OUT_TOO_DEEP,
	LEFT_OUT_STORE,
	LEFT_OUT_UNSTABLE,
	LEFT_OUT_N_
};

struct slice {
	const uint8_t *bytes;
	size_t n;
};

struct entry {
	enum entry_kind kind;
	enum left_out left_out;
	struct slice name; /* empty for the object a place names */
	uint32_t mode;     /* with the type bits */
	uint32_t uid, gid;
	int64_t mtime_ns;
	uint64_t size;
	uint8_t hash[SHA256_SIZE]; /* of a file's data, of a directory's tree */
	struct slice target;       /* of a link */
	uint64_t device;           /* of a device node */
	uint64_t link_dev,
		link_ino;     /* files that share these are one file; 0 when it has one name */
	struct slice extents; /* of a sparse file: where its data are; empty: one piece */
	struct slice xattrs;  /* xattrs.h */
};

void entry_write(struct buf *b, const struct entry *e);
int entry_read(struct mp_reader *r, bool named, struct entry *ret_entry) MUST_CHECK;

/* The whole tree: sorted by name, no name twice, nothing behind it. */
typedef int (*entry_fn)(void *ctx, const struct entry *e);
int tree_read(const uint8_t *bytes, size_t n, entry_fn fn, void *ctx) MUST_CHECK;
void tree_begin(struct buf *b, uint32_t n);

bool slice_equal(struct slice a, struct slice b);
int slice_compare(struct slice a, struct slice b);
/* Content alone: kind and what a reader of the object would see. */
bool entry_same_content(const struct entry *a, const struct entry *b);
/* Mode, owner, mtime (but of directories), xattrs. */
bool entry_same_attributes(const struct entry *a, const struct entry *b);
/* All of it, with link group and a directory's mtime. */
bool entry_equal(const struct entry *a, const struct entry *b);

const char *left_out_name(enum left_out reason);
