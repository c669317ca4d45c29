#include "audit/head.h"

#include <errno.h>
#include <string.h>

#include "base/files.h"

#define HEAD_FILE "head.json"
#define STUB_FILE "pruned.json"
#define HEAD_MAX  ((size_t)1024)

static struct value *hex_text(struct arena *a, const uint8_t *bytes, size_t n)
{
	char text[2 * AUDIT_SIGNATURE_SIZE + 1];

	hex_encode(bytes, n, text);
	return value_text(a, text, 2 * n);
}

const struct value *head_to_value(struct arena *a, const struct audit_head *head)
{
	const struct audit_checkpoint *c = &head->checkpoint;
	struct value *v = value_map(a, 5);

	if (value_put(v, "epoch", value_int(a, (int64_t)c->epoch)) != 0 ||
		value_put(v, "hash", hex_text(a, c->hash, SHA256_SIZE)) != 0 ||
		value_put(v, "root", hex_text(a, c->root, SHA256_SIZE)) != 0 ||
		value_put(v, "seq", value_int(a, (int64_t)c->seq)) != 0 ||
		value_put(v, "signature", hex_text(a, head->signature, AUDIT_SIGNATURE_SIZE)) != 0)
		return NULL;
	return v;
}

static int get_hex(const struct value *v, const char *key, uint8_t *ret_bytes, size_t n)
{
	const char *text = value_get_text(v, key);

	return text && hex_decode(text, ret_bytes, n) == 0 ? 0 : -EBADMSG;
}

static int get_count(const struct value *v, const char *key, uint64_t *ret_n)
{
	const struct value *found = value_get(v, key);

	if (!found || found->kind != VALUE_INT || found->integer < 0)
		return -EBADMSG;
	*ret_n = (uint64_t)found->integer;
	return 0;
}

int head_parse(const char *json, size_t n, struct audit_head *ret_head)
{
	auto_arena struct arena a = { 0 };
	const struct value *v;
	struct audit_head h;
	struct diag diag;

	arena_init(&a, 64 * HEAD_MAX);
	if (n > HEAD_MAX || value_from_json(&a, json, n, &v, &diag) != 0 || v->kind != VALUE_MAP ||
		v->size != 5 || get_count(v, "epoch", &h.checkpoint.epoch) != 0 ||
		get_count(v, "seq", &h.checkpoint.seq) != 0 ||
		get_hex(v, "hash", h.checkpoint.hash, SHA256_SIZE) != 0 ||
		get_hex(v, "root", h.checkpoint.root, SHA256_SIZE) != 0 ||
		get_hex(v, "signature", h.signature, AUDIT_SIGNATURE_SIZE) != 0)
		return -EBADMSG;
	*ret_head = h;
	return 0;
}

static int write_file(int dir_fd, const char *name, const struct audit_head *head)
{
	auto_arena struct arena a = { 0 };
	auto_buf struct buf b = BUF_INIT(HEAD_MAX);
	const struct value *v;
	int r;

	arena_init(&a, 64 * HEAD_MAX);
	v = head_to_value(&a, head);
	if (!v)
		return -ENOMEM;
	value_to_canonical_json(&b, v);
	buf_byte(&b, '\n');
	r = buf_error(&b);
	return r != 0 ? r : file_write_atomic(dir_fd, name, b.data, b.size, 0600);
}

static int read_file(int dir_fd, const char *name, struct audit_head *ret_head)
{
	auto_free char *text = NULL;
	size_t n;
	int r = file_read(dir_fd, name, HEAD_MAX, &text, &n);

	if (r != 0)
		return r == -EFBIG ? -EBADMSG : r;
	return head_parse(text, n > 0 && text[n - 1] == '\n' ? n - 1 : n, ret_head);
}

static bool is_stub(const struct audit_checkpoint *c)
{
	struct audit_checkpoint marked = *c;

	stub_mark(&marked);
	return memcmp(marked.root, c->root, SHA256_SIZE) == 0;
}

int head_write(int dir_fd, const struct audit_head *head)
{
	return write_file(dir_fd, HEAD_FILE, head);
}

int head_read(int dir_fd, struct audit_head *ret_head)
{
	struct audit_head head;
	int r = read_file(dir_fd, HEAD_FILE, &head);

	if (r == 0 && is_stub(&head.checkpoint))
		r = -EBADMSG;
	if (r == 0)
		*ret_head = head;
	return r;
}

void stub_mark(struct audit_checkpoint *c)
{
	memset(c->root, 0xff, sizeof(c->root));
}

int stub_write(int dir_fd, const struct audit_head *stub)
{
	return write_file(dir_fd, STUB_FILE, stub);
}

int stub_read(int dir_fd, struct audit_head *ret_stub)
{
	struct audit_head stub;
	int r = read_file(dir_fd, STUB_FILE, &stub);

	if (r == 0 && !is_stub(&stub.checkpoint))
		r = -EBADMSG;
	if (r == 0)
		*ret_stub = stub;
	return r;
}
