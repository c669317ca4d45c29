#include "audit/line.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

#define HEX_DIGITS (SHA256_HEX_SIZE - 1)

/* What the strict reader would refuse is never written: the buffer keeps -EILSEQ. */

/* Parts are joined without looking, so only the very first key has no comma before it. */
static void put_key(struct buf *b, const char *key)
{
	if (b->size == 0 || b->data[b->size - 1] != '{')
		buf_byte(b, ',');
	buf_printf(b, "\"%s\":", key);
}

static void put_text(struct buf *b, const char *key, const char *text)
{
	struct value v = { .kind = VALUE_TEXT, .text = text, .size = text ? strlen(text) : 0 };

	size_t start;

	if (!text)
		return;
	put_key(b, key);
	start = b->size + 1;
	value_to_canonical_json(b, &v);
	if (b->error == 0 && !is_text_canonical((const char *)b->data + start, b->size - start - 1))
		b->error = -EILSEQ;
}

static void put_hash(struct buf *b, const char *key, const uint8_t *hash)
{
	if (!hash)
		return;
	put_key(b, key);
	buf_byte(b, '"');
	buf_hex(b, hash, SHA256_SIZE);
	buf_byte(b, '"');
}

static void put_value(struct buf *b, const char *key, const struct value *v)
{
	size_t start;

	if (!v)
		return;
	put_key(b, key);
	start = b->size;
	value_to_canonical_json(b, v);
	if (b->error == 0 && !is_json_canonical((const char *)b->data + start, b->size - start))
		b->error = -EILSEQ;
}

static void start_part(struct buf *b, const char *joint)
{
	*b = BUF_INIT(IL_AUDIT_ENTRY_MAX);
	buf_text(b, joint);
}

int line_parts_init(struct line_parts *p, const struct il_audit_entry *e, const char *id,
	uint64_t monotonic_ms, int64_t wall_ns)
{
	struct buf *parts[] = { &p->before_epoch, &p->before_hash, &p->before_mac, &p->before_chain,
		&p->after_seq };
	char time[RFC3339_SIZE];
	size_t total = 0;
	int r = 0;

	rfc3339_format(wall_ns, time);
	start_part(&p->before_epoch, "{");
	put_hash(&p->before_epoch, "action_hash", e->action_hash);
	put_text(&p->before_epoch, "action_type", e->action_type);
	put_value(&p->before_epoch, "attestation", e->otr ? NULL : e->attestation);
	put_value(&p->before_epoch, "details", e->otr ? NULL : e->details);
	put_key(&p->before_epoch, "epoch");
	start_part(&p->before_hash, "");
	buf_printf(&p->before_hash, ",\"event\":\"%s\"", e->event);
	put_hash(&p->before_hash, "grant_hash", e->grant_hash);
	buf_text(&p->before_hash, ",\"hash\":\"");
	start_part(&p->before_mac, "");
	buf_printf(&p->before_mac, "\",\"id\":\"%s\",\"mac\":\"", id);
	start_part(&p->before_chain, "");
	buf_printf(&p->before_chain, "\",\"monotonic_ms\":%llu", (unsigned long long)monotonic_ms);
	put_text(&p->before_chain, "origin", e->origin);
	if (e->otr)
		buf_text(&p->before_chain, ",\"otr\":true");
	buf_text(&p->before_chain, ",\"previous_hash\":\"");
	start_part(&p->after_seq, "");
	put_text(&p->after_seq, "session", e->session);
	put_text(&p->after_seq, "snapshot", e->snapshot);
	buf_printf(&p->after_seq, ",\"time\":\"%s\"", time);
	put_text(&p->after_seq, "verdict", e->verdict);
	buf_text(&p->after_seq, "}\n");
	memcpy(p->id, id, sizeof(p->id));
	for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
		r = r != 0 ? r : buf_error(parts[i]);
		total += parts[i]->size;
	}
	if (r == 0 && total > IL_AUDIT_ENTRY_MAX - 512) /* room for what the log's thread adds */
		r = -E2BIG;
	if (r != 0)
		line_parts_done(p);
	return r;
}

void line_parts_done(struct line_parts *p)
{
	buf_done(&p->before_epoch);
	buf_done(&p->before_hash);
	buf_done(&p->before_mac);
	buf_done(&p->before_chain);
	buf_done(&p->after_seq);
}

static void append_part(struct buf *out, const struct buf *part)
{
	buf_bytes(out, part->data, part->size);
}

void line_finish(const struct line_parts *p, const struct line_chain *chain, struct buf *out,
	uint8_t ret_hash[static SHA256_SIZE])
{
	size_t start = out->size, hash_at, mac_at;
	uint8_t mac[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE];
	struct sha256 h;

	append_part(out, &p->before_epoch);
	buf_printf(out, "%llu", (unsigned long long)chain->epoch);
	append_part(out, &p->before_hash);
	hash_at = out->size;
	buf_bytes(out, (const char[HEX_DIGITS]){ 0 }, HEX_DIGITS);
	append_part(out, &p->before_mac);
	mac_at = out->size;
	buf_bytes(out, (const char[HEX_DIGITS]){ 0 }, HEX_DIGITS);
	append_part(out, &p->before_chain);
	buf_hex(out, chain->previous_hash, SHA256_SIZE);
	buf_printf(out, "\",\"seq\":%llu", (unsigned long long)chain->seq);
	append_part(out, &p->after_seq);
	if (buf_error(out) != 0)
		return;
	sha256_init(&h);
	sha256_update(&h, out->data + start, hash_at - start);
	sha256_update(&h, out->data + hash_at + HEX_DIGITS, mac_at - hash_at - HEX_DIGITS);
	sha256_update(&h, out->data + mac_at + HEX_DIGITS, out->size - 1 - mac_at - HEX_DIGITS);
	sha256_final(&h, ret_hash);
	hmac_sha256(chain->key, sizeof(chain->key), ret_hash, SHA256_SIZE, mac);
	hex_encode(ret_hash, SHA256_SIZE, hex);
	memcpy(out->data + hash_at, hex, HEX_DIGITS);
	hex_encode(mac, SHA256_SIZE, hex);
	memcpy(out->data + mac_at, hex, HEX_DIGITS);
}
