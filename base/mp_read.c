#include "base/mp.h"

#include <string.h>

#include "base/utf8.h"

void mp_reader_init(struct mp_reader *r, const void *bytes, size_t n)
{
	*r = (struct mp_reader){ .at = bytes, .end = (const uint8_t *)bytes + n };
}

static int mp_fail(struct mp_reader *r)
{
	r->failed = true;
	return -EBADMSG;
}

static size_t mp_left(const struct mp_reader *r)
{
	return r->failed ? 0 : (size_t)(r->end - r->at);
}

enum mp_type mp_peek(const struct mp_reader *r)
{
	uint8_t c;

	if (mp_left(r) == 0)
		return MP_INVALID;
	c = *r->at;
	if (c <= 0x7f || c >= 0xe0 || (c >= 0xcc && c <= 0xd3))
		return MP_INT;
	if (c <= 0x8f || c == 0xde || c == 0xdf)
		return MP_MAP;
	if (c <= 0x9f || c == 0xdc || c == 0xdd)
		return MP_ARRAY;
	if (c <= 0xbf || (c >= 0xd9 && c <= 0xdb))
		return MP_STR;
	if (c == 0xc0)
		return MP_NIL;
	if (c == 0xc2 || c == 0xc3)
		return MP_BOOL;
	if (c >= 0xc4 && c <= 0xc6)
		return MP_BIN;
	return MP_INVALID; /* never-used, ext, floats */
}

/* The big-endian number of `size` bytes behind the type byte, which is passed over too. */
static int mp_tail(struct mp_reader *r, size_t size, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (mp_left(r) < 1 + size)
		return mp_fail(r);
	for (size_t i = 1; i <= size; i++)
		value = value << 8 | r->at[i];
	r->at += 1 + size;
	*ret_value = value;
	return 0;
}

int mp_read_nil(struct mp_reader *r)
{
	if (mp_peek(r) != MP_NIL)
		return mp_fail(r);
	r->at++;
	return 0;
}

int mp_read_bool(struct mp_reader *r, bool *ret_value)
{
	if (mp_peek(r) != MP_BOOL)
		return mp_fail(r);
	*ret_value = *r->at == 0xc3;
	r->at++;
	return 0;
}

/* Only the shortest form of each number is accepted: one value, one spelling. */
int mp_read_int(struct mp_reader *r, int64_t *ret_value)
{
	static const uint64_t least_uint[] = { 0x80, 0x100, 0x10000, UINT64_C(0x100000000) };
	static const int64_t most_int[] = { -33, -129, -32769, -INT64_C(2147483649) };
	uint64_t value = 0;
	uint8_t c;
	unsigned step;

	if (mp_peek(r) != MP_INT)
		return mp_fail(r);
	c = *r->at;
	if (c <= 0x7f || c >= 0xe0) {
		r->at++;
		*ret_value = (int8_t)c;
		return 0;
	}
	step = c <= 0xcf ? c - 0xccu : c - 0xd0u;
	if (mp_tail(r, (size_t)1 << step, &value) != 0)
		return -EBADMSG;
	if (c <= 0xcf) {
		if (value < least_uint[step] || value > INT64_MAX)
			return mp_fail(r);
		*ret_value = (int64_t)value;
		return 0;
	}
	if (step < 3)
		value |= (value >> ((8u << step) - 1)) ? ~UINT64_C(0) << (8u << step) : 0;
	if ((int64_t)value > most_int[step])
		return mp_fail(r);
	*ret_value = (int64_t)value;
	return 0;
}

int mp_read_uint(struct mp_reader *r, uint64_t max, uint64_t *ret_value)
{
	int64_t value;

	if (mp_read_int(r, &value) != 0)
		return -EBADMSG;
	if (value < 0 || (uint64_t)value > max)
		return mp_fail(r);
	*ret_value = (uint64_t)value;
	return 0;
}

/* A length in one of three wide forms, each only where the shorter one does not reach. */
static int mp_length(struct mp_reader *r, uint8_t first, uint64_t short_max, uint64_t *ret_n)
{
	unsigned step = *r->at - (unsigned)first;
	uint64_t least[3] = { short_max + 1, 0x100, 0x10000 };
	uint64_t n = 0;

	if (mp_tail(r, (size_t)1 << step, &n) != 0)
		return -EBADMSG;
	if (n < least[step] && !(step == 0 && short_max == 0))
		return mp_fail(r);
	*ret_n = n;
	return 0;
}

static int mp_slice(struct mp_reader *r, uint64_t n, size_t max, const uint8_t **ret_bytes)
{
	if (n > max || n > mp_left(r))
		return mp_fail(r);
	*ret_bytes = r->at;
	r->at += n;
	return 0;
}

int mp_read_str(struct mp_reader *r, size_t max, const char **ret_text, size_t *ret_n)
{
	const uint8_t *bytes;
	uint64_t n;

	if (mp_peek(r) != MP_STR)
		return mp_fail(r);
	if (*r->at <= 0xbf) {
		n = *r->at & 0x1f;
		r->at++;
	} else if (mp_length(r, 0xd9, 31, &n) != 0) {
		return -EBADMSG;
	}
	if (mp_slice(r, n, max, &bytes) != 0)
		return -EBADMSG;
	if (memchr(bytes, 0, n) || !is_utf8(bytes, n))
		return mp_fail(r);
	*ret_text = (const char *)bytes;
	*ret_n = n;
	return 0;
}

int mp_read_bin(struct mp_reader *r, size_t max, const uint8_t **ret_bytes, size_t *ret_n)
{
	uint64_t n;

	if (mp_peek(r) != MP_BIN)
		return mp_fail(r);
	if (mp_length(r, 0xc4, 0, &n) != 0 || mp_slice(r, n, max, ret_bytes) != 0)
		return -EBADMSG;
	*ret_n = n;
	return 0;
}

static int mp_count(struct mp_reader *r, uint8_t fix, uint8_t wide, uint32_t max, uint32_t *ret_n)
{
	uint64_t n = 0;

	if ((*r->at & 0xf0) == fix) {
		n = *r->at & 0x0f;
		r->at++;
	} else {
		bool large = *r->at != wide;

		if (mp_tail(r, large ? 4 : 2, &n) != 0)
			return -EBADMSG;
		if (n < (large ? 0x10000u : 16u))
			return mp_fail(r);
	}
	/* Each item takes a byte at least, so a huge count is refused before anybody reserves for
	 * it. */
	if (n > max || n * (fix == 0x80 ? 2 : 1) > mp_left(r))
		return mp_fail(r);
	*ret_n = (uint32_t)n;
	return 0;
}

int mp_read_array(struct mp_reader *r, uint32_t max, uint32_t *ret_n)
{
	if (mp_peek(r) != MP_ARRAY)
		return mp_fail(r);
	return mp_count(r, 0x90, 0xdc, max, ret_n);
}

int mp_read_map(struct mp_reader *r, uint32_t max, uint32_t *ret_n)
{
	if (mp_peek(r) != MP_MAP)
		return mp_fail(r);
	return mp_count(r, 0x80, 0xde, max, ret_n);
}

int mp_reader_end(const struct mp_reader *r)
{
	return !r->failed && r->at == r->end ? 0 : -EBADMSG;
}

/* Passes over one item without looking into arrays and maps; ret_n is how many items follow inside.
 */
static int mp_skip_flat(struct mp_reader *r, uint64_t *ret_inside)
{
	const uint8_t *bytes;
	const char *text;
	int64_t integer;
	uint32_t count = 0;
	size_t n;
	bool boolean;
	int result = -EBADMSG;

	switch (mp_peek(r)) {
	case MP_NIL:
		result = mp_read_nil(r);
		break;
	case MP_BOOL:
		result = mp_read_bool(r, &boolean);
		break;
	case MP_INT:
		result = mp_read_int(r, &integer);
		break;
	case MP_STR:
		result = mp_read_str(r, SIZE_MAX, &text, &n);
		break;
	case MP_BIN:
		result = mp_read_bin(r, SIZE_MAX, &bytes, &n);
		break;
	case MP_ARRAY:
		result = mp_read_array(r, UINT32_MAX, &count);
		*ret_inside = count;
		return result;
	case MP_MAP:
		result = mp_read_map(r, UINT32_MAX, &count);
		*ret_inside = (uint64_t)count * 2;
		return result;
	case MP_INVALID:
		return mp_fail(r);
	}
	*ret_inside = 0;
	return result;
}

int mp_skip(struct mp_reader *r, unsigned depth, const uint8_t **ret_bytes, size_t *ret_n)
{
	uint64_t left[VALUE_DEPTH_MAX + 1];
	const uint8_t *start = r->at;
	unsigned level = 0;

	if (depth > VALUE_DEPTH_MAX)
		depth = VALUE_DEPTH_MAX;
	left[0] = 1;
	for (;;) {
		uint64_t inside = 0;

		while (left[level] == 0) {
			if (level == 0) {
				*ret_bytes = start;
				*ret_n = (size_t)(r->at - start);
				return 0;
			}
			level--;
		}
		left[level]--;
		if (mp_skip_flat(r, &inside) != 0)
			return -EBADMSG;
		if (inside == 0)
			continue;
		if (level == depth)
			return mp_fail(r);
		left[++level] = inside;
	}
}

static int mp_fill(struct mp_reader *r, struct arena *a, unsigned depth, struct value *v);

static int mp_fill_array(struct mp_reader *r, struct arena *a, unsigned depth, struct value *v)
{
	struct value *items;
	uint32_t n;

	if (mp_read_array(r, UINT32_MAX, &n) != 0)
		return -EBADMSG;
	items = arena_alloc_array(a, n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		int e = mp_fill(r, a, depth - 1, &items[i]);

		if (e != 0)
			return e;
	}
	*v = (struct value){ .kind = VALUE_ARRAY, .size = n, .capacity = n, .items = items };
	return 0;
}

static int mp_fill_map(struct mp_reader *r, struct arena *a, unsigned depth, struct value *v)
{
	struct value_pair *pairs;
	struct value *values;
	uint32_t n;

	if (mp_read_map(r, UINT32_MAX, &n) != 0)
		return -EBADMSG;
	pairs = arena_alloc_array(a, n, sizeof(*pairs));
	values = arena_alloc_array(a, n, sizeof(*values));
	if (!pairs || !values)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const char *key;
		size_t n_key;
		int e;

		if (mp_read_str(r, SIZE_MAX, &key, &n_key) != 0)
			return -EBADMSG;
		pairs[i].key = arena_text(a, key, n_key);
		pairs[i].n_key = n_key;
		pairs[i].value = &values[i];
		if (!pairs[i].key)
			return -ENOMEM;
		e = mp_fill(r, a, depth - 1, &values[i]);
		if (e != 0)
			return e;
	}
	if (!value_keys_unique(a, pairs, n))
		return mp_fail(r);
	*v = (struct value){ .kind = VALUE_MAP, .size = n, .capacity = n, .pairs = pairs };
	return 0;
}

static int mp_fill_bytes(
	struct mp_reader *r, struct arena *a, enum value_kind kind, struct value *v)
{
	const uint8_t *bytes;
	const char *text;
	size_t n;

	if (kind == VALUE_TEXT) {
		if (mp_read_str(r, SIZE_MAX, &text, &n) != 0)
			return -EBADMSG;
	} else {
		if (mp_read_bin(r, SIZE_MAX, &bytes, &n) != 0)
			return -EBADMSG;
		text = (const char *)bytes;
	}
	*v = (struct value){ .kind = kind, .size = n, .text = arena_text(a, text, n) };
	return v->text ? 0 : -ENOMEM;
}

static int mp_fill(struct mp_reader *r, struct arena *a, unsigned depth, struct value *v)
{
	switch (mp_peek(r)) {
	case MP_NIL:
		v->kind = VALUE_NIL;
		return mp_read_nil(r);
	case MP_BOOL:
		v->kind = VALUE_BOOL;
		return mp_read_bool(r, &v->boolean);
	case MP_INT:
		v->kind = VALUE_INT;
		return mp_read_int(r, &v->integer);
	case MP_STR:
		return mp_fill_bytes(r, a, VALUE_TEXT, v);
	case MP_BIN:
		return mp_fill_bytes(r, a, VALUE_BIN, v);
	case MP_ARRAY:
		return depth == 0 ? mp_fail(r) : mp_fill_array(r, a, depth, v);
	case MP_MAP:
		return depth == 0 ? mp_fail(r) : mp_fill_map(r, a, depth, v);
	case MP_INVALID:
		break;
	}
	return mp_fail(r);
}

int mp_read_value(struct mp_reader *r, struct arena *a, const struct value **ret_value)
{
	struct value *v = value_new(a, VALUE_NIL);
	int e;

	if (!v)
		return -ENOMEM;
	e = mp_fill(r, a, VALUE_DEPTH_MAX, v);
	if (e == 0)
		*ret_value = v;
	return e;
}
