#include "engine/fill.h"

#include <string.h>

#include "base/hash.h"
#include "base/mp.h"

struct fill fill_start(struct arena *a, size_t capacity)
{
	struct fill f = { .arena = a, .map = value_map(a, capacity) };

	if (!f.map)
		f.r = -ENOMEM;
	return f;
}

static void put(struct fill *f, const char *key, const struct value *v)
{
	if (f->r == 0)
		f->r = value_put(f->map, key, v);
}

void fill_bytes(struct fill *f, const char *key, const void *text, size_t n)
{
	put(f, key, value_text(f->arena, text, n));
}

void fill_text(struct fill *f, const char *key, const char *text)
{
	if (text)
		fill_bytes(f, key, text, strlen(text));
}

void fill_hex(struct fill *f, const char *key, const uint8_t *bytes, size_t n)
{
	char text[2 * SHA256_SIZE + 1];

	if (n > SHA256_SIZE) {
		f->r = -E2BIG;
		return;
	}
	hex_encode(bytes, n, text);
	fill_text(f, key, text);
}

void fill_int(struct fill *f, const char *key, int64_t n)
{
	put(f, key, value_int(f->arena, n));
}

void fill_bool(struct fill *f, const char *key, bool b)
{
	put(f, key, value_bool(f->arena, b));
}

void fill_value(struct fill *f, const char *key, const struct value *v)
{
	if (v)
		put(f, key, v);
}

const struct value *fill_end(const struct fill *f)
{
	return f->r == 0 ? f->map : NULL;
}

const struct value *value_copy(struct arena *a, const struct value *v)
{
	auto_buf struct buf b = BUF_INIT(16u << 20);
	const struct value *copy = NULL;
	struct mp_reader r;
	void *bytes;

	mp_write_value(&b, v);
	if (buf_error(&b) != 0)
		return NULL;
	bytes = arena_copy(a, b.data, b.size);
	if (!bytes)
		return NULL;
	mp_reader_init(&r, bytes, b.size);
	return mp_read_value(&r, a, &copy) == 0 ? copy : NULL;
}

const struct value *fill_single(struct arena *a, const char *key, const char *text)
{
	struct fill f = fill_start(a, 1);

	fill_text(&f, key, text);
	return fill_end(&f);
}
