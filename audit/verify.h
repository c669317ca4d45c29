/*
 * One run of verification: what stands beside the log (verify_sides.c), and the log itself, entry
 * by entry (verify.c). The first damage found ends it.
 */
#pragma once

#include "audit/audit.h"
#include "audit/head.h"
#include "audit/keys.h"
#include "audit/mac.h"
#include "audit/merkle.h"
#include "audit/stream.h"

#define VERIFY_RECENT     4096u /* hashes kept to recognise a fork or a repeated entry */
#define VERIFY_STOP       100   /* no condition of stream.h */
#define VERIFY_WINDOW_MS  1000  /* the longest time between an entry and its checkpoint */
#define VERIFY_EPOCHS_MAX (UINT64_C(1) << 32)

/* An entry that something outside the segments names. */
struct mark {
	uint64_t seq; /* 0: none */
	uint8_t hash[SHA256_SIZE];
};

struct verify {
	const struct il_audit_verify_options *options;
	struct il_audit_report *report;
	int dir_fd;
	uint64_t next_seq; /* 0: nothing seen yet */
	uint64_t epoch;
	uint8_t last_hash[SHA256_SIZE];
	uint8_t recent[VERIFY_RECENT][SHA256_SIZE]; /* by seq % VERIFY_RECENT */
	struct merkle merkle;
	bool merkle_known; /* from the first Checkpoint or LogOpened on */
	bool has_key;
	uint8_t first_key[SHA256_SIZE], key[SHA256_SIZE];
	uint64_t key_epoch;
	struct mac_key mac; /* of key, when mac_is_set */
	bool mac_is_set;
	bool has_public;
	uint8_t public_key[AUDIT_PUBLIC_SIZE];
	bool has_head;
	struct audit_head head;
	bool has_key_file;
	uint64_t file_epoch; /* what audit.key says, read before the log */
	bool file_key_is_ours;
	struct mark file_mark;
	bool has_stub;
	struct audit_head stub;
	uint32_t from_segment;
	uint32_t last_segment;
	bool is_partial; /* begins in the middle, because that was asked for */
	bool is_torn;
	struct audit_head *anchors; /* owned, by seq */
	size_t n_anchors, next_anchor;
};

/* Fills the report; returns VERIFY_STOP. */
int verify_damaged(struct verify *v, enum il_audit_damage damage, uint64_t seq, const char *where,
	const char *format, ...) PRINTF_LIKE(5, 6);

/* Everything beside the log, before the log: a writer may be going on meanwhile. */
int verify_sides_load(struct verify *v) MUST_CHECK;
/* After the last entry: do they still agree? 0 or VERIFY_STOP. */
int verify_sides_check(struct verify *v) MUST_CHECK;

/* An entry that is sound but does not continue the chain: names the damage. */
int verify_break(struct verify *v, const struct stream_record *r, const char *where,
	const struct stream_record *ahead, size_t n_ahead) MUST_CHECK;

int verify_reference(const struct il_audit_verify_options *o, struct il_audit_report *ret_report)
	MUST_CHECK;
