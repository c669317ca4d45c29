/*
 * Filling one map of a reply, an event or a record: the first failure stays and
 * fill_end() tells it, so that a writer checks once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/value.h"

struct fill {
	struct arena *arena; /* borrowed */
	struct value *map;
	int r;
};

struct fill fill_start(struct arena *a, size_t capacity);
/* A NULL value is left out: optional fields are written without a question. */
void fill_text(struct fill *f, const char *key, const char *text);
void fill_bytes(struct fill *f, const char *key, const void *text, size_t n);
void fill_hex(struct fill *f, const char *key, const uint8_t *bytes, size_t n);
void fill_int(struct fill *f, const char *key, int64_t n);
void fill_bool(struct fill *f, const char *key, bool b);
void fill_value(struct fill *f, const char *key, const struct value *v);
/* The map, or NULL when anything failed. */
const struct value *fill_end(const struct fill *f);

/* A deep copy; NULL when the arena is full. */
const struct value *value_copy(struct arena *a, const struct value *v) MUST_CHECK;
/* A map of one text. */
const struct value *fill_single(struct arena *a, const char *key, const char *text);
