#include <string.h>

#include "base/hash.h"
#include "shield/detect.h"
#include "shield/shield.h"

struct redactor {
	struct arena *arena;
	const uint8_t *key;
	size_t n_key;
};

static const struct value *redact_text(const struct redactor *r, const struct value *v)
{
	struct detect_secret secret;
	auto_buf struct buf b = BUF_INIT((size_t)32 << 20);
	size_t at = 0;

	while (detect_secret_find(v->text, v->size, at, &secret)) {
		uint8_t mac[SHA256_SIZE];

		hmac_sha256(r->key, r->n_key, v->text + secret.at, secret.size, mac);
		buf_bytes(&b, v->text + at, secret.at - at);
		buf_printf(&b, "<secret:%s:", secret.kind);
		buf_hex(&b, mac, 6);
		buf_byte(&b, '>');
		at = secret.at + secret.size;
	}
	if (at == 0)
		return v;
	buf_bytes(&b, v->text + at, v->size - at);
	if (buf_error(&b) != 0)
		return NULL;
	return value_text(r->arena, buf_get_text(&b), b.size);
}

static const struct value *redact_value(const struct redactor *r, const struct value *v);

static const struct value *redact_array(const struct redactor *r, const struct value *v)
{
	struct value *copy = value_array(r->arena, v->size);

	for (size_t i = 0; i < v->size; i++) {
		const struct value *item = redact_value(r, &v->items[i]);

		if (value_push(copy, item) != 0)
			return NULL;
	}
	return copy;
}

static const struct value *redact_map(const struct redactor *r, const struct value *v)
{
	struct value *copy = value_map(r->arena, v->size);

	for (size_t i = 0; i < v->size; i++) {
		const struct value *item = redact_value(r, v->pairs[i].value);

		if (value_put(copy, v->pairs[i].key, item) != 0)
			return NULL;
	}
	return copy;
}

static const struct value *redact_value(const struct redactor *r, const struct value *v)
{
	switch (v->kind) {
	case VALUE_TEXT:
		return redact_text(r, v);
	case VALUE_ARRAY:
		return redact_array(r, v);
	case VALUE_MAP:
		return redact_map(r, v);
	case VALUE_NIL:
	case VALUE_BOOL:
	case VALUE_INT:
	case VALUE_BIN:
	case VALUE_N_:
		break;
	}
	return v;
}

const struct value *il_redact(
	struct arena *a, const struct value *v, const uint8_t *key, size_t n_key)
{
	struct redactor r = { .arena = a, .key = key, .n_key = n_key };

	return redact_value(&r, v);
}
