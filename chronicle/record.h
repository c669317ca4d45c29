/*
 * The records: what the chain consists of. Each holds its number and the hash of
 * the one before it; its own hash is that of its bytes.
 *
 *	begin	the state before: places, what was left out, who asked
 *	seal	the state after, and the outcome
 *	forget	which contents were erased on purpose
 *
 * A stub is no link but stands for a run of pruned ones: it gives the hash that
 * the run ended with, signed, so that the chain still closes.
 */
#pragma once

#include "base/arena.h"
#include "chronicle/chronicle.h"
#include "chronicle/entry.h"
#include "chronicle/store.h"

#define RECORD_PLACES_MAX    4096
#define RECORD_ROOTS_MAX     256
#define RECORD_OMISSIONS_MAX 10000 /* named; beyond that they are counted */
#define RECORD_PATH_MAX      4096
#define RECORD_HASHES_MAX    200000
#define ID_LENGTH            (IL_SNAPSHOT_ID_SIZE - 1)

enum record_kind {
	RECORD_BEGIN,
	RECORD_SEAL,
	RECORD_FORGET,
	RECORD_N_
};

struct record_place {
	uint32_t root; /* index */
	const char *path;
	bool recursive, may_create, ignore_exclusions;
	struct entry entry;
};

struct record_omission {
	uint32_t place;
	const char *path; /* relative to the root */
	enum left_out reason;
};

struct record {
	enum record_kind kind;
	uint64_t seq;
	uint8_t prev[SHA256_SIZE];
	uint8_t hash[SHA256_SIZE]; /* set by the reader of the frame, not in the bytes */
	char id[IL_SNAPSHOT_ID_SIZE];
	int64_t time_ns;
	const char *session, *action_type, *summary; /* or NULL */
	struct slice action_hash;
	char undoes[IL_SNAPSHOT_ID_SIZE]; /* or "" */
	const char **roots;               /* of a begin: real paths */
	uint32_t n_roots;
	struct record_place *places; /* of begin and seal: the same ones in the same order */
	uint32_t n_places;
	struct record_omission *omissions;
	uint32_t n_omissions;
	uint64_t n_left_out; /* all of them */
	uint64_t n_objects;
	enum il_snapshot_outcome outcome; /* of a seal */
	uint64_t n_changes;
	const char *path;      /* of a forget */
	const uint8_t *hashes; /* of a forget: n_hashes times SHA256_SIZE */
	uint32_t n_hashes;
};

void record_write(struct buf *b, const struct record *r);
/* Borrows from bytes; arrays and texts are the arena's. */
int record_read(struct arena *a, const uint8_t *bytes, size_t n, struct record *ret_record)
	MUST_CHECK;

/* It cannot lead up or out; "" is the root itself. */
bool path_is_relative(const char *path);

struct stub {
	uint64_t from, to;         /* sequence numbers, both included */
	uint8_t prev[SHA256_SIZE]; /* the hash before `from` */
	uint8_t hash[SHA256_SIZE]; /* the hash of `to` */
	uint64_t n_snapshots;
};

void chain_stub_write(struct buf *b, const struct stub *s, const uint8_t key[static 64]);
int chain_stub_read(const uint8_t *bytes, size_t n, const uint8_t key[static 64],
	struct stub *ret_stub) MUST_CHECK;

struct head {
	uint64_t seq; /* 0: nothing was ever recorded */
	uint8_t hash[SHA256_SIZE];
};

/* -EBADMSG when no slot bears a good signature; -ENOENT when the file is empty. */
int chain_head_read(const struct store *s, struct head *ret_head) MUST_CHECK;
int chain_head_write(const struct store *s, const struct head *h) MUST_CHECK;
