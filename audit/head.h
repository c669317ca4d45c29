/*
 * head.json: the last checkpoint, apart from the log, so that a log cut at its end
 * is found. The same object is the details of the Checkpoint entry and what anchors get:
 *
 *	{"epoch":E,"hash":"...","root":"...","seq":N,"signature":"..."}
 *
 * seq and hash are those of the entry before the Checkpoint entry; root is the Merkle root over the
 * entries from the last Checkpoint or LogOpened entry (whichever is later, and with it) up to that
 *one.
 */
#pragma once

#include "audit/keys.h"
#include "base/arena.h"
#include "base/value.h"

struct audit_head {
	struct audit_checkpoint checkpoint;
	uint8_t signature[AUDIT_SIGNATURE_SIZE];
};

const struct value *head_to_value(struct arena *a, const struct audit_head *head) MUST_CHECK;
/* Strict: unknown keys and other spellings are -EBADMSG. */
int head_parse(const char *json, size_t n, struct audit_head *ret_head) MUST_CHECK;
int head_write(int dir_fd, const struct audit_head *head) MUST_CHECK;
/* -ENOENT when there is none. */
int head_read(int dir_fd, struct audit_head *ret_head) MUST_CHECK;

/*
 * pruned.json: what stands for the entries that were pruned. The same object, with seq and hash of
 * the last one that is gone and a root of all ones, so that neither can be taken for the other.
 */
void stub_mark(struct audit_checkpoint *c);
int stub_write(int dir_fd, const struct audit_head *stub) MUST_CHECK;
int stub_read(int dir_fd, struct audit_head *ret_stub) MUST_CHECK;
