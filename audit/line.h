/*
 * One line of a log: how it is laid out, written and read. Pure: bytes and structs.
 *
 * A line is one JSON object in canonical form: keys sorted, no blanks, one spelling
 * a value, ended by '\n'. The keys of an entry, of which only the starred are always there:
 *
 *	action_hash action_type attestation details *epoch *event grant_hash *hash *id *mac
 **monotonic_ms origin otr *previous_hash *seq session snapshot *time verdict
 *
 * hash is SHA-256 over the line (without '\n') with the digits of hash and mac left out, so it
 * covers previous_hash. mac is HMAC-SHA-256 of the 32 bytes of hash under the key of the epoch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/audit.h"
#include "base/buf.h"
#include "base/hash.h"

/*
 * What the caller's side of an append prepares; the log's thread puts epoch, hash, mac,
 * previous_hash and seq in between.
 */
struct line_parts {
	struct buf before_epoch; /* {"action_hash"... "epoch": */
	struct buf before_hash;  /* ,"event"... "hash":" */
	struct buf before_mac;   /* ","id"... "mac":" */
	struct buf before_chain; /* ","monotonic_ms"... "previous_hash":" */
	struct buf after_seq;    /* ,"session"... } and '\n' */
	char id[IL_AUDIT_ID_SIZE];
};

int line_parts_init(struct line_parts *p, const struct il_audit_entry *entry, const char *id,
	uint64_t monotonic_ms, int64_t wall_ns) MUST_CHECK;
void line_parts_done(struct line_parts *p);

/* Where an entry stands in the chain, and the key of its epoch. */
struct line_chain {
	uint64_t seq;
	uint64_t epoch;
	uint8_t previous_hash[SHA256_SIZE];
	uint8_t key[SHA256_SIZE];
};
/* Appends the finished line to out and gives its hash. */
void line_finish(const struct line_parts *p, const struct line_chain *chain, struct buf *out,
	uint8_t ret_hash[static SHA256_SIZE]);

/* Borrowed bytes of a line; a text without its quotes, still escaped. */
struct slice {
	const char *at; /* NULL: the key is absent */
	size_t n;
};

bool slice_is(struct slice s, const char *text);

/* What verification and queries need of a line. */
struct line {
	uint64_t seq;
	uint64_t epoch;
	uint8_t hash[SHA256_SIZE];     /* as it says */
	uint8_t computed[SHA256_SIZE]; /* as it is */
	uint8_t mac[SHA256_SIZE];
	uint8_t previous_hash[SHA256_SIZE];
	struct slice event;
	struct slice details; /* canonical JSON */
	struct slice action_type, origin, session, time, verdict;
};

/* text[0..n) without its '\n'. -EBADMSG for anything that is not exactly the form above. */
int line_read(const char *text, size_t n, struct line *ret_line) MUST_CHECK;

/* One JSON value in its one spelling: sorted keys, no blanks, integers only, valid UTF-8. */
bool is_json_canonical(const char *text, size_t n);
/* The inside of a text in its one spelling. */
bool is_text_canonical(const char *text, size_t n);
