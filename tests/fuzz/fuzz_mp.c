/*
 * Strict msgpack: whatever the bytes, reading ends in one value or a refusal, skipping agrees with
 * reading about what is well formed (but for duplicate keys), and what was read is written back
 * byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "base/mp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena a = { 0 };
	auto_buf struct buf again = BUF_INIT((size_t)1 << 22);
	const struct value *v = NULL;
	const uint8_t *skipped;
	struct mp_reader read, skip;
	size_t n = 0;
	int r;

	arena_init(&a, (size_t)1 << 24);
	mp_reader_init(&read, data, size);
	mp_reader_init(&skip, data, size);
	r = mp_read_value(&read, &a, &v);
	if (r == -ENOMEM)
		return 0;
	if (r == 0 && mp_skip(&skip, VALUE_DEPTH_MAX, &skipped, &n) != 0)
		abort();
	if ((r == 0) != (v != NULL) || (r != 0 && mp_reader_end(&read) == 0))
		abort();
	if (r != 0)
		return 0;
	mp_write_value(&again, v);
	if (buf_error(&again) != 0 || again.size != n || memcmp(again.data, data, n) != 0)
		abort();
	buf_clear(&again);
	canon_write(&again, v);
	if (!is_canon(again.data, again.size))
		abort();
	return 0;
}
