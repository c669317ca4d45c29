#include "base/value.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
	[VALUE_NIL] = "nil",
	[VALUE_BOOL] = "boolean",
	[VALUE_INT] = "integer",
	[VALUE_TEXT] = "text",
	[VALUE_BIN] = "bytes",
	[VALUE_ARRAY] = "array",
	[VALUE_MAP] = "map",
};
_Static_assert(N_ELEMENTS(kind_names) == VALUE_N_, "name every kind");

const char *value_kind_name(enum value_kind kind)
{
	return (unsigned)kind < VALUE_N_ ? kind_names[kind] : "unknown";
}

const struct value *value_get(const struct value *v, const char *key)
{
	size_t n = strlen(key);

	if (!v || v->kind != VALUE_MAP)
		return NULL;
	for (size_t i = 0; i < v->size; i++) {
		if (v->pairs[i].n_key == n && memcmp(v->pairs[i].key, key, n) == 0)
			return v->pairs[i].value;
	}
	return NULL;
}

const char *value_get_text(const struct value *v, const char *key)
{
	const struct value *found = value_get(v, key);

	return found && found->kind == VALUE_TEXT ? found->text : NULL;
}

struct value *value_new(struct arena *a, enum value_kind kind)
{
	struct value *v = arena_alloc(a, sizeof(*v));

	if (v)
		v->kind = kind;
	return v;
}

struct value *value_text(struct arena *a, const char *text, size_t n)
{
	struct value *v = value_new(a, VALUE_TEXT);

	if (!v)
		return NULL;
	v->text = arena_text(a, text, n);
	v->size = n;
	return v->text ? v : NULL;
}

struct value *value_int(struct arena *a, int64_t integer)
{
	struct value *v = value_new(a, VALUE_INT);

	if (v)
		v->integer = integer;
	return v;
}

struct value *value_bool(struct arena *a, bool boolean)
{
	struct value *v = value_new(a, VALUE_BOOL);

	if (v)
		v->boolean = boolean;
	return v;
}

struct value *value_map(struct arena *a, size_t capacity)
{
	struct value *v = value_new(a, VALUE_MAP);

	if (!v)
		return NULL;
	v->pairs = arena_alloc_array(a, capacity, sizeof(struct value_pair));
	v->capacity = capacity;
	return v->pairs ? v : NULL;
}

struct value *value_array(struct arena *a, size_t capacity)
{
	struct value *v = value_new(a, VALUE_ARRAY);

	if (!v)
		return NULL;
	v->items = arena_alloc_array(a, capacity, sizeof(struct value));
	v->capacity = capacity;
	return v->items ? v : NULL;
}

int value_put(struct value *map, const char *key, const struct value *value)
{
	struct value_pair *pair;

	if (!map || map->kind != VALUE_MAP || !value)
		return -ENOMEM; /* a constructor failed on the way here */
	if (map->size >= map->capacity)
		return -E2BIG;
	if (value_get(map, key))
		return -EEXIST;
	/* The tree is ours while it is being built; readers see it const. */
	pair = (struct value_pair *)(uintptr_t)&map->pairs[map->size++];
	*pair = (struct value_pair){ .key = key, .n_key = strlen(key), .value = value };
	return 0;
}

int value_push(struct value *array, const struct value *item)
{
	if (!array || array->kind != VALUE_ARRAY || !item)
		return -ENOMEM; /* a constructor failed on the way here */
	if (array->size >= array->capacity)
		return -E2BIG;
	*(struct value *)(uintptr_t)&array->items[array->size++] = *item;
	return 0;
}

int value_compare_keys(const void *x, const void *y)
{
	const struct value_pair *a = *(const struct value_pair *const *)x;
	const struct value_pair *b = *(const struct value_pair *const *)y;
	size_t n = a->n_key < b->n_key ? a->n_key : b->n_key;
	int order = memcmp(a->key, b->key, n);

	return order ? order : (a->n_key > b->n_key) - (a->n_key < b->n_key);
}

bool value_keys_unique(struct arena *a, const struct value_pair *pairs, size_t n)
{
	const struct value_pair **sorted;

	if (n <= 8) {
		for (size_t i = 1; i < n; i++) {
			for (size_t j = 0; j < i; j++) {
				if (pairs[i].n_key == pairs[j].n_key &&
					memcmp(pairs[i].key, pairs[j].key, pairs[i].n_key) == 0)
					return false;
			}
		}
		return true;
	}
	sorted = arena_alloc_array(a, n, sizeof(*sorted));
	if (!sorted)
		return false;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &pairs[i];
	qsort(sorted, n, sizeof(*sorted), value_compare_keys);
	for (size_t i = 1; i < n; i++) {
		if (value_compare_keys(&sorted[i - 1], &sorted[i]) == 0)
			return false;
	}
	return true;
}
