/*
 * The canonical form: the one byte string that stands for a value. Hashes,
 * verdicts, approvals and grants are bound to it.
 *
 * It is msgpack in its shortest form with the keys of every map sorted by their
 * bytes. Two values are equal exactly if their canonical forms are.
 *
 * The hash of an action is SHA-256 over the canonical form of
 * {"payload": ..., "type": ...}.
 */
#pragma once

#include "base/buf.h"
#include "base/hash.h"
#include "base/value.h"

/* Appends; errors are the buffer's. */
void canon_write(struct buf *b, const struct value *v);
/* -E2BIG when the form is over 16 MiB. */
int canon_hash(const struct value *v, uint8_t ret_hash[static SHA256_SIZE]) MUST_CHECK;
int canon_action_hash(const char *type, const struct value *payload,
	uint8_t ret_hash[static SHA256_SIZE]) MUST_CHECK;
/* True if these bytes are one value in canonical form, and nothing behind it. */
bool is_canon(const void *bytes, size_t n);
