#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/value.h"

#define SORTED_ON_STACK 32

static json_t *json_free(json_t *json)
{
	json_decref(json);
	return NULL;
}

static void cleanup_json(json_t **json)
{
	*json = json_free(*json);
}
#define auto_json CLEANUP(cleanup_json)

static int fill(struct arena *a, json_t *json, unsigned depth, struct value *v);

static int fill_text(struct arena *a, const char *text, size_t n, struct value *v)
{
	*v = (struct value){ .kind = VALUE_TEXT, .size = n, .text = arena_text(a, text, n) };
	return v->text ? 0 : -ENOMEM;
}

static int fill_array(struct arena *a, json_t *json, unsigned depth, struct value *v)
{
	size_t n = json_array_size(json);
	struct value *items = arena_alloc_array(a, n, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = fill(a, json_array_get(json, i), depth - 1, &items[i]);

		if (r != 0)
			return r;
	}
	*v = (struct value){ .kind = VALUE_ARRAY, .size = n, .capacity = n, .items = items };
	return 0;
}

static int fill_map(struct arena *a, json_t *json, unsigned depth, struct value *v)
{
	size_t n = json_object_size(json);
	struct value_pair *pairs = arena_alloc_array(a, n, sizeof(*pairs));
	struct value *values = arena_alloc_array(a, n, sizeof(*values));
	size_t i = 0;
	const char *key;
	json_t *child;

	if (!pairs || !values)
		return -ENOMEM;
	json_object_foreach(json, key, child)
	{
		size_t n_key = strlen(key);
		int r = fill(a, child, depth - 1, &values[i]);

		if (r != 0)
			return r;
		pairs[i] = (struct value_pair){
			.key = arena_text(a, key, n_key), .n_key = n_key, .value = &values[i]
		};
		if (!pairs[i].key)
			return -ENOMEM;
		i++;
	}
	*v = (struct value){ .kind = VALUE_MAP, .size = n, .capacity = n, .pairs = pairs };
	return 0;
}

static int fill(struct arena *a, json_t *json, unsigned depth, struct value *v)
{
	switch (json_typeof(json)) {
	case JSON_NULL:
		v->kind = VALUE_NIL;
		return 0;
	case JSON_TRUE:
	case JSON_FALSE:
		v->kind = VALUE_BOOL;
		v->boolean = json_is_true(json);
		return 0;
	case JSON_INTEGER:
		v->kind = VALUE_INT;
		v->integer = json_integer_value(json);
		return 0;
	case JSON_STRING:
		return fill_text(a, json_string_value(json), json_string_length(json), v);
	case JSON_ARRAY:
		return depth == 0 ? -EBADMSG : fill_array(a, json, depth, v);
	case JSON_OBJECT:
		return depth == 0 ? -EBADMSG : fill_map(a, json, depth, v);
	case JSON_REAL:
		break;
	}
	return -EDOM;
}

int value_from_json(struct arena *a, const char *text, size_t n, const struct value **ret_value,
	struct diag *reterr_diag)
{
	auto_json json_t *json = NULL;
	struct value *v = value_new(a, VALUE_NIL);
	json_error_t error;
	int r;

	if (!v)
		return -ENOMEM;
	json = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!json)
		return diag_set(reterr_diag, -EBADMSG, (uint32_t)(error.line > 0 ? error.line : 0),
			(uint32_t)(error.column > 0 ? error.column : 0), "not valid JSON: %s",
			error.text);
	r = fill(a, json, VALUE_DEPTH_MAX, v);
	if (r == -EBADMSG)
		return diag_set(reterr_diag, r, 0, 0, "nested deeper than %d", VALUE_DEPTH_MAX);
	if (r == -EDOM)
		return diag_set(
			reterr_diag, -EBADMSG, 0, 0, "numbers with a fraction are not accepted");
	if (r == 0)
		*ret_value = v;
	return r;
}

static void json_text(struct buf *b, const char *text, size_t n)
{
	size_t plain = 0;

	buf_byte(b, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		buf_bytes(b, text + plain, i - plain);
		plain = i + 1;
		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c == '\n')
			buf_text(b, "\\n");
		else if (c == '\t')
			buf_text(b, "\\t");
		else
			buf_printf(b, "\\u%04x", c);
	}
	buf_bytes(b, text + plain, n - plain);
	buf_byte(b, '"');
}

static void json_base64(struct buf *b, const uint8_t *bytes, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	buf_byte(b, '"');
	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16;
		size_t have = n - i < 3 ? n - i : 3;

		if (have > 1)
			three |= (uint32_t)bytes[i + 1] << 8;
		if (have > 2)
			three |= bytes[i + 2];
		buf_byte(b, (uint8_t)digits[three >> 18]);
		buf_byte(b, (uint8_t)digits[three >> 12 & 63]);
		buf_byte(b, have > 1 ? (uint8_t)digits[three >> 6 & 63] : '=');
		buf_byte(b, have > 2 ? (uint8_t)digits[three & 63] : '=');
	}
	buf_byte(b, '"');
}

static void json_scalar(struct buf *b, const struct value *v)
{
	switch (v->kind) {
	case VALUE_NIL:
		buf_text(b, "null");
		return;
	case VALUE_BOOL:
		buf_text(b, v->boolean ? "true" : "false");
		return;
	case VALUE_INT:
		buf_printf(b, "%lld", (long long)v->integer);
		return;
	case VALUE_TEXT:
		json_text(b, v->text, v->size);
		return;
	case VALUE_BIN:
		json_base64(b, (const uint8_t *)v->text, v->size);
		return;
	case VALUE_ARRAY:
	case VALUE_MAP:
	case VALUE_N_:
		break;
	}
	b->error = b->error ? b->error : -EINVAL;
}

static void json_write(struct buf *b, const struct value *v, bool sorted);

static void json_map(struct buf *b, const struct value *v, bool sorted)
{
	const struct value_pair *few[SORTED_ON_STACK];
	auto_free const struct value_pair **many = NULL;
	const struct value_pair **pairs = few;

	if (v->size > SORTED_ON_STACK) {
		many = calloc(v->size, sizeof(*many));
		if (!many) {
			b->error = b->error ? b->error : -ENOMEM;
			return;
		}
		pairs = many;
	}
	for (size_t i = 0; i < v->size; i++)
		pairs[i] = &v->pairs[i];
	if (sorted)
		qsort(pairs, v->size, sizeof(*pairs), value_compare_keys);
	buf_byte(b, '{');
	for (size_t i = 0; i < v->size; i++) {
		if (i > 0)
			buf_byte(b, ',');
		json_text(b, pairs[i]->key, pairs[i]->n_key);
		buf_byte(b, ':');
		json_write(b, pairs[i]->value, sorted);
	}
	buf_byte(b, '}');
}

static void json_write(struct buf *b, const struct value *v, bool sorted)
{
	if (v->kind == VALUE_MAP) {
		json_map(b, v, sorted);
		return;
	}
	if (v->kind != VALUE_ARRAY) {
		json_scalar(b, v);
		return;
	}
	buf_byte(b, '[');
	for (size_t i = 0; i < v->size; i++) {
		if (i > 0)
			buf_byte(b, ',');
		json_write(b, &v->items[i], sorted);
	}
	buf_byte(b, ']');
}

void value_to_json(struct buf *b, const struct value *v)
{
	json_write(b, v, false);
}

void value_to_canonical_json(struct buf *b, const struct value *v)
{
	json_write(b, v, true);
}
