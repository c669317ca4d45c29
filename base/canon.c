#include "base/canon.h"

#include <stdlib.h>
#include <string.h>

#include "base/mp.h"

#define CANON_MAX       ((size_t)16 << 20)
#define SORTED_ON_STACK 32

static void canon_map(struct buf *b, const struct value *v)
{
	const struct value_pair *few[SORTED_ON_STACK];
	auto_free const struct value_pair **many = NULL;
	const struct value_pair **sorted = few;

	if (v->size > SORTED_ON_STACK) {
		many = calloc(v->size, sizeof(*many));
		if (!many) {
			b->error = b->error ? b->error : -ENOMEM;
			return;
		}
		sorted = many;
	}
	for (size_t i = 0; i < v->size; i++)
		sorted[i] = &v->pairs[i];
	qsort(sorted, v->size, sizeof(*sorted), value_compare_keys);
	mp_write_map(b, (uint32_t)v->size);
	for (size_t i = 0; i < v->size; i++) {
		mp_write_str(b, sorted[i]->key, sorted[i]->n_key);
		canon_write(b, sorted[i]->value);
	}
}

void canon_write(struct buf *b, const struct value *v)
{
	if (v->kind == VALUE_MAP) {
		canon_map(b, v);
		return;
	}
	if (v->kind != VALUE_ARRAY) {
		mp_write_value(b, v);
		return;
	}
	mp_write_array(b, (uint32_t)v->size);
	for (size_t i = 0; i < v->size; i++)
		canon_write(b, &v->items[i]);
}

int canon_hash(const struct value *v, uint8_t ret_hash[static SHA256_SIZE])
{
	auto_buf struct buf b = BUF_INIT(CANON_MAX);
	int r;

	canon_write(&b, v);
	r = buf_error(&b);
	if (r == 0)
		sha256_bytes(b.data, b.size, ret_hash);
	return r;
}

int canon_action_hash(
	const char *type, const struct value *payload, uint8_t ret_hash[static SHA256_SIZE])
{
	auto_buf struct buf b = BUF_INIT(CANON_MAX);
	int r;

	mp_write_map(&b, 2);
	mp_write_text(&b, "payload");
	canon_write(&b, payload);
	mp_write_text(&b, "type");
	mp_write_text(&b, type);
	r = buf_error(&b);
	if (r == 0)
		sha256_bytes(b.data, b.size, ret_hash);
	return r;
}

bool is_canon(const void *bytes, size_t n)
{
	auto_arena struct arena a = { 0 };
	auto_buf struct buf again = BUF_INIT(n);
	const struct value *v;
	struct mp_reader r;

	arena_init(&a, CANON_MAX);
	mp_reader_init(&r, bytes, n);
	if (mp_read_value(&r, &a, &v) != 0 || mp_reader_end(&r) != 0)
		return false;
	canon_write(&again, v);
	return buf_error(&again) == 0 && again.size == n && memcmp(again.data, bytes, n) == 0;
}
