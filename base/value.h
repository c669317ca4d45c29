/*
 * A value of an action's payload, a message body or an audit detail: the data
 * model that JSON, msgpack and the canonical form share.
 *
 * Trees are immutable once built, live in one arena and are borrowed by all who
 * read them. Map keys are UTF-8 text, unique, in the order they came.
 *
 * Limits that every decoder keeps: nesting VALUE_DEPTH_MAX; text is valid UTF-8
 * without NUL; no duplicate keys. Floating-point numbers are refused: no action
 * needs one and they have no single spelling.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/errors.h"

#define VALUE_DEPTH_MAX 16

enum value_kind {
	VALUE_NIL,
	VALUE_BOOL,
	VALUE_INT, /* -2^63 .. 2^63-1 */
	VALUE_TEXT,
	VALUE_BIN,
	VALUE_ARRAY,
	VALUE_MAP,
	VALUE_N_
};

struct value;

struct value_pair {
	const char *key; /* terminated */
	size_t n_key;
	const struct value *value;
};

struct value {
	enum value_kind kind;
	bool boolean;
	int64_t integer;
	const char *text; /* VALUE_TEXT: terminated, size bytes; VALUE_BIN: size bytes */
	size_t size;	  /* bytes, or number of items or pairs */
	const struct value *items;	/* VALUE_ARRAY */
	const struct value_pair *pairs; /* VALUE_MAP */
};

const char *value_kind_name(enum value_kind kind);

/* NULL when v is no map or has no such key. */
const struct value *value_get(const struct value *v, const char *key);
/* NULL unless that key holds text. */
const char *value_get_text(const struct value *v, const char *key);

/* Building; every constructor returns NULL when the arena is full. Text and children are borrowed. */
struct value *value_new(struct arena *a, enum value_kind kind) MUST_CHECK;
struct value *value_text(struct arena *a, const char *text, size_t n) MUST_CHECK; /* copies */
struct value *value_int(struct arena *a, int64_t integer) MUST_CHECK;
struct value *value_bool(struct arena *a, bool boolean) MUST_CHECK;

/*
 * JSON text (RFC 8259) of at most limit bytes, by jansson: duplicate keys, floats, NUL and
 * trailing bytes are refused with a place in reterr_diag.
 */
int value_from_json(struct arena *a, const char *json, size_t n, const struct value **ret_value,
	struct diag *reterr_diag) MUST_CHECK;
/* Compact JSON, keys in tree order; VALUE_BIN becomes base64 text. */
void value_to_json(struct buf *b, const struct value *v);
