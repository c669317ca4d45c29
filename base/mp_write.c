#include <msgpack.h>

#include "base/mp.h"

#include <string.h>

static int append(void *data, const char *bytes, size_t n)
{
	buf_bytes(data, bytes, n);
	return 0; /* errors stay in the buffer */
}

/* msgpack-c's packer always takes the shortest form. */
static msgpack_packer packer(struct buf *b)
{
	msgpack_packer p;

	msgpack_packer_init(&p, b, append);
	return p;
}

void mp_write_nil(struct buf *b)
{
	msgpack_packer p = packer(b);

	(void)msgpack_pack_nil(&p);
}

void mp_write_bool(struct buf *b, bool value)
{
	msgpack_packer p = packer(b);

	(void)(value ? msgpack_pack_true(&p) : msgpack_pack_false(&p));
}

void mp_write_int(struct buf *b, int64_t value)
{
	msgpack_packer p = packer(b);

	(void)msgpack_pack_int64(&p, value);
}

void mp_write_uint(struct buf *b, uint64_t value)
{
	if (value > INT64_MAX) {
		b->error = b->error ? b->error : -ERANGE;
		return;
	}
	mp_write_int(b, (int64_t)value);
}

void mp_write_str(struct buf *b, const char *text, size_t n)
{
	msgpack_packer p = packer(b);

	(void)msgpack_pack_str(&p, n);
	buf_bytes(b, text, n);
}

void mp_write_text(struct buf *b, const char *text)
{
	mp_write_str(b, text, strlen(text));
}

void mp_write_bin(struct buf *b, const void *bytes, size_t n)
{
	msgpack_packer p = packer(b);

	(void)msgpack_pack_bin(&p, n);
	buf_bytes(b, bytes, n);
}

void mp_write_array(struct buf *b, uint32_t n)
{
	msgpack_packer p = packer(b);

	(void)msgpack_pack_array(&p, n);
}

void mp_write_map(struct buf *b, uint32_t n)
{
	msgpack_packer p = packer(b);

	(void)msgpack_pack_map(&p, n);
}

void mp_write_value(struct buf *b, const struct value *v)
{
	switch (v->kind) {
	case VALUE_NIL:
		mp_write_nil(b);
		return;
	case VALUE_BOOL:
		mp_write_bool(b, v->boolean);
		return;
	case VALUE_INT:
		mp_write_int(b, v->integer);
		return;
	case VALUE_TEXT:
		mp_write_str(b, v->text, v->size);
		return;
	case VALUE_BIN:
		mp_write_bin(b, v->text, v->size);
		return;
	case VALUE_ARRAY:
		mp_write_array(b, (uint32_t)v->size);
		for (size_t i = 0; i < v->size; i++)
			mp_write_value(b, &v->items[i]);
		return;
	case VALUE_MAP:
		mp_write_map(b, (uint32_t)v->size);
		for (size_t i = 0; i < v->size; i++) {
			mp_write_str(b, v->pairs[i].key, v->pairs[i].n_key);
			mp_write_value(b, v->pairs[i].value);
		}
		return;
	case VALUE_N_:
		break;
	}
	b->error = b->error ? b->error : -EINVAL;
}
