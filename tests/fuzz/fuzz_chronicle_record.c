/*
 * The manifest readers: records, trees and attributes, as a damaged or hostile store would hold
 * them. What is accepted is in one spelling only: written again it is the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "chronicle/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(const uint8_t *data, size_t size)
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	struct record r;
	struct arena a;

	arena_init(&a, (size_t)64 << 20);
	if (record_read(&a, data, size, &r) == 0) {
		record_write(&b, &r);
		if (buf_error(&b) != 0 || b.size != size || memcmp(b.data, data, size) != 0)
			abort();
		for (uint32_t i = 0; i < r.n_places; i++) {
			if (!path_is_relative(r.places[i].path) || r.places[i].entry.name.n != 0)
				abort();
		}
	}
	buf_done(&b);
	arena_done(&a);
}

struct walk {
	struct buf out;
	uint32_t n;
};

static int on_entry(void *ctx, const struct entry *e)
{
	struct walk *w = ctx;

	if (e->name.n == 0 || memchr(e->name.bytes, '/', e->name.n))
		abort();
	entry_write(&w->out, e);
	w->n++;
	return 0;
}

static void check_tree(const uint8_t *data, size_t size)
{
	struct walk w = { .out = BUF_INIT((size_t)16 << 20) };
	struct buf head = BUF_INIT(64);

	if (tree_read(data, size, on_entry, &w) == 0) {
		tree_begin(&head, w.n);
		if (head.size + w.out.size != size || memcmp(head.data, data, head.size) != 0 ||
			(w.out.size > 0 && memcmp(w.out.data, data + head.size, w.out.size) != 0))
			abort();
	}
	buf_done(&w.out);
	buf_done(&head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_record(data, size);
	check_tree(data, size);
	return 0;
}
