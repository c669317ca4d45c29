/*
 * The strict reader of lines: what it accepts is one object that a second reader accepts too,
 * sorted and in one spelling (written again it is the same bytes), and a checkpoint or key text
 * never harms.
 */
#include <stdlib.h>
#include <string.h>

#include "audit/head.h"
#include "audit/keys.h"
#include "audit/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const char *text, size_t n)
{
	auto_arena struct arena a = { 0 };
	auto_buf struct buf again = BUF_INIT(n + 1);
	const struct value *v = NULL;

	arena_init(&a, (size_t)1 << 26);
	if (value_from_json(&a, text, n, &v, NULL) != 0)
		abort();
	value_to_canonical_json(&again, v);
	if (buf_error(&again) != 0 || again.size != n || memcmp(again.data, text, n) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	uint8_t first[SHA256_SIZE], public_key[AUDIT_PUBLIC_SIZE];
	struct audit_head head;
	struct line line;
	char *key;

	if (line_read(text, size, &line) == 0)
		check_again(text, size);
	if (is_json_canonical(text, size))
		check_again(text, size);
	(void)!head_parse(text, size, &head); /* only that it ends */
	key = strndup(text, size);
	if (!key)
		return 0;
	(void)!audit_key_parse(key, first, public_key); /* only that it ends */
	free(key);
	return 0;
}
