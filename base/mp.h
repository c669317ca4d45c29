/*
 * Strict msgpack: the one encoding of frames and of canonical forms.
 *
 * Reading is a cursor over borrowed memory: no allocation, no partial effects,
 * texts and binaries are returned as slices of the input. Each mp_read_*
 * returns 0, or -EBADMSG when the next item is not what was asked for, is not
 * in its shortest form, is cut, nested too deep or not UTF-8. After an error
 * the cursor is dead: every further call returns -EBADMSG too, so that a
 * decoder may check once. mp_reader_end() is 0 only at the last byte.
 *
 * Accepted: nil, bool, integers in -2^63..2^63-1, str, bin, array, map with str keys. Refused:
 * floats, ext, timestamps. Source: https://github.com/msgpack/msgpack/blob/master/spec.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/value.h"

struct mp_reader {
	const uint8_t *at; /* borrowed */
	const uint8_t *end;
	bool failed;
};

enum mp_type {
	MP_NIL,
	MP_BOOL,
	MP_INT,
	MP_STR,
	MP_BIN,
	MP_ARRAY,
	MP_MAP,
	MP_INVALID
};

void mp_reader_init(struct mp_reader *r, const void *bytes, size_t n);
enum mp_type mp_peek(const struct mp_reader *r); /* MP_INVALID at the end or on a refused type */
int mp_read_nil(struct mp_reader *r) MUST_CHECK;
int mp_read_bool(struct mp_reader *r, bool *ret_value) MUST_CHECK;
int mp_read_int(struct mp_reader *r, int64_t *ret_value) MUST_CHECK;
int mp_read_uint(struct mp_reader *r, uint64_t max, uint64_t *ret_value) MUST_CHECK;
/* Valid UTF-8 without NUL, at most max bytes; the slice is not terminated. */
int mp_read_str(struct mp_reader *r, size_t max, const char **ret_text, size_t *ret_n) MUST_CHECK;
int mp_read_bin(struct mp_reader *r, size_t max, const uint8_t **ret_bytes, size_t *ret_n)
	MUST_CHECK;
/* The count is checked against the bytes that are left: at least one a item, two a pair. */
int mp_read_array(struct mp_reader *r, uint32_t max, uint32_t *ret_n) MUST_CHECK;
int mp_read_map(struct mp_reader *r, uint32_t max, uint32_t *ret_n) MUST_CHECK;
/* Passes over one item of any type, nested at most depth; the slice is its bytes. */
int mp_skip(struct mp_reader *r, unsigned depth, const uint8_t **ret_bytes, size_t *ret_n)
	MUST_CHECK;
int mp_reader_end(const struct mp_reader *r) MUST_CHECK;

/* One whole item into a tree; refuses duplicate keys. */
int mp_read_value(struct mp_reader *r, struct arena *a, const struct value **ret_value) MUST_CHECK;

/* Writing, always in the shortest form. Errors are the buffer's. */
void mp_write_nil(struct buf *b);
void mp_write_bool(struct buf *b, bool value);
void mp_write_int(struct buf *b, int64_t value);
void mp_write_uint(struct buf *b, uint64_t value); /* at most INT64_MAX */
void mp_write_str(struct buf *b, const char *text, size_t n);
void mp_write_text(struct buf *b, const char *text);
void mp_write_bin(struct buf *b, const void *bytes, size_t n);
void mp_write_array(struct buf *b, uint32_t n);
void mp_write_map(struct buf *b, uint32_t n);
/* In the tree's own order; canon.h sorts. */
void mp_write_value(struct buf *b, const struct value *v);
