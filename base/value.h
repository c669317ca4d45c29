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

IL_API_BEGIN

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
	const char *text;          /* VALUE_TEXT: terminated, size bytes; VALUE_BIN: size bytes */
	size_t size;               /* bytes, or number of items or pairs */
	size_t capacity;           /* of items or pairs while the tree is being built */
	const struct value *items; /* VALUE_ARRAY */
	const struct value_pair *pairs; /* VALUE_MAP */
};

const char *value_kind_name(enum value_kind kind);

/* NULL when v is no map or has no such key. */
const struct value *value_get(const struct value *v, const char *key);
/* NULL unless that key holds text. */
const char *value_get_text(const struct value *v, const char *key);

/* Building; every constructor returns NULL when the arena is full. Text and children are borrowed.
 */
struct value *value_new(struct arena *a, enum value_kind kind) MUST_CHECK;
struct value *value_text(struct arena *a, const char *text, size_t n) MUST_CHECK; /* copies */
struct value *value_int(struct arena *a, int64_t integer) MUST_CHECK;
struct value *value_bool(struct arena *a, bool boolean) MUST_CHECK;
struct value *value_map(struct arena *a, size_t capacity) MUST_CHECK;
struct value *value_array(struct arena *a, size_t capacity) MUST_CHECK;
/*
 * 0; -ENOMEM when map, array or value is NULL (so that constructors may be nested and checked
 * here once); -E2BIG over the capacity; -EEXIST for a second equal key. The key is borrowed, an
 * array item is copied (not what it points to).
 */
int value_put(struct value *map, const char *key, const struct value *value) MUST_CHECK;
int value_push(struct value *array, const struct value *item) MUST_CHECK;

/* For qsort() over an array of pointers to pairs: by the bytes of the keys. */
int value_compare_keys(const void *x, const void *y);
/* False for two equal keys, and when the arena is too small to tell. */
bool value_keys_unique(struct arena *a, const struct value_pair *pairs, size_t n);

/*
 * JSON text (RFC 8259) of at most limit bytes, by jansson: duplicate keys, floats, NUL and
 * trailing bytes are refused with a place in reterr_diag.
 */
int value_from_json(struct arena *a, const char *json, size_t n, const struct value **ret_value,
	struct diag *reterr_diag) MUST_CHECK;
/* Compact JSON, keys in tree order; VALUE_BIN becomes base64 text. */
void value_to_json(struct buf *b, const struct value *v);
/* The same with the keys of every map sorted by their bytes: one spelling a value. */
void value_to_canonical_json(struct buf *b, const struct value *v);

IL_API_END
