/*
 * The store: content by its hash, and the records that form the chain.
 *
 *	lock		held by the one writer
 *	key		Ed25519, made at the first open
 *	head		two signed slots: sequence and hash of the last record
 *	segments/N	frames, appended: header, bytes
 *	large/HASH	one file each for content that is not worth a copy in a segment
 *	index		what was hashed when (index.h); may vanish at any time
 *
 * Puts and appends go to memory and to the last segment; store_commit() makes
 * all of them durable with one fdatasync, and writes the head. store_abort() takes
 * them back. What a crash leaves behind the last complete frame is cut off at the
 * next open.
 *
 * A frame: "ILF1", type, three zero bytes, length (8), SHA-256 of the bytes (32).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/errors.h"
#include "base/hash.h"
#include "chronicle/blobs.h"

#define FRAME_HEADER_SIZE 48
#define SEGMENT_SIZE      ((uint64_t)128 << 20) /* a new one is begun beyond this */
#define RECORD_SIZE_MAX   ((size_t)16 << 20)
#define LARGE_SIZE        ((uint64_t)4 << 20) /* content from here on is a file of its own */

enum frame_type {
	FRAME_NONE,
	FRAME_DATA,
	FRAME_TREE,
	FRAME_RECORD, /* a link of the chain: record.h */
	FRAME_STUB,   /* stands for pruned links: record.h */
	FRAME_N_
};

/* Apart from IL_CHRONICLE_E_*, since both pass through the same functions. */
enum {
	STORE_E_LOCKED = 101,
	STORE_E_BROKEN, /* diag says what */
	STORE_E_ABSENT, /* no such content */
};

struct store_frame { /* a record or a stub */
	uint32_t segment;
	uint8_t type;
	uint64_t offset, length;
	uint8_t hash[SHA256_SIZE];
};

struct store_segment {
	uint32_t number;
	int fd; /* owned */
	uint64_t size;
};

struct store {
	int dir_fd, lock_fd, segments_fd, large_fd, head_fd; /* owned */
	bool read_only;
	struct store_segment *segments; /* owned; by number; the last one is appended to */
	size_t n_segments;
	struct store_frame *frames; /* owned; in the order found */
	size_t n_frames, capacity_frames;
	struct blobs blobs;
	struct buf pending;        /* of the last segment, from its size on */
	uint64_t committed_size;   /* of the last segment */
	size_t committed_segments; /* how many of them were there at the last commit */
	size_t committed_frames;
	bool large_dirty;
	uint64_t large_bytes;
	uint64_t torn_bytes; /* behind the last complete frame at open */
	char damage[200];    /* what open found wrong, or "" */
	uint8_t key[64];     /* Ed25519 secret, the public half behind it */
};

int store_open(const char *dir, bool read_only, struct store **ret_store, struct diag *reterr_diag)
	MUST_CHECK;
void store_close(struct store *s);

bool store_has(const struct store *s, const uint8_t hash[static SHA256_SIZE]);
/* Content from memory; nothing happens when it is there already. */
int store_put(struct store *s, enum frame_type type, const void *bytes, size_t n,
	uint8_t ret_hash[static SHA256_SIZE]) MUST_CHECK;
/* Adds a record or a stub. */
int store_append(struct store *s, enum frame_type type, const void *bytes, size_t n,
	uint8_t ret_hash[static SHA256_SIZE]) MUST_CHECK;
/* The frames since the last commit durable. */
int store_commit(struct store *s) MUST_CHECK;
int store_abort(struct store *s) MUST_CHECK;

/* All of one content, checked against its hash: STORE_E_ABSENT, STORE_E_BROKEN, or the caller's to
 * free. */
int store_get(struct store *s, const uint8_t hash[static SHA256_SIZE], size_t limit,
	uint8_t **ret_bytes, size_t *ret_n) MUST_CHECK;
int store_get_frame(struct store *s, const struct store_frame *f, uint8_t **ret_bytes,
	size_t *ret_n) MUST_CHECK;
/* Content as a descriptor and the range in it: to copy without memory. The descriptor is the
 * caller's. */
int store_open_blob(struct store *s, const uint8_t hash[static SHA256_SIZE], int *ret_fd,
	uint64_t *ret_offset, uint64_t *ret_length) MUST_CHECK;
uint64_t store_bytes(const struct store *s);

/* The same frame again, in the last segment: for prune.c. */
int store_copy_frame(struct store *s, const struct store_frame *f) MUST_CHECK;
/* For large.c and prune.c. */
int store_flush(struct store *s) MUST_CHECK;
int store_begin_segment(struct store *s) MUST_CHECK;
int store_load(struct store *s) MUST_CHECK;
void store_damage(struct store *s, const char *format, ...) PRINTF_LIKE(2, 3);
void store_unload(struct store *s);
