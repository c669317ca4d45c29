/*
 * Frames in any cut: the first byte says how the rest is cut. Whatever the cut,
 * the same payloads come out, and never one over the limit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ipc/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT FRAME_LIMIT_HELLO

struct seen {
	struct sha256 hash;
	size_t n;
	int end;
};

static void take(struct seen *seen, const uint8_t *payload, size_t size)
{
	struct frame frame;

	if (size == 0 || size > LIMIT)
		abort();
	if (frame_parse(payload, size, &frame) == 0 &&
		(frame.body < payload || frame.body + frame.n_body != payload + size))
		abort(); /* a frame ends with its body */
	sha256_update(&seen->hash, payload, size);
	seen->n++;
}

static void feed(struct seen *seen, const uint8_t *data, size_t size, size_t step)
{
	struct frame_decoder d;
	int r = FRAME_E_MORE;

	*seen = (struct seen){ .n = 0 };
	sha256_init(&seen->hash);
	frame_decoder_init(&d, LIMIT);
	while (size > 0 && (r == 0 || r == FRAME_E_MORE)) {
		size_t n = step < size ? step : size;
		const uint8_t *in = data;

		data += n;
		size -= n;
		do {
			const uint8_t *payload;
			size_t n_payload;

			r = frame_decoder_push(&d, &in, &n, &payload, &n_payload);
			if (r == 0)
				take(seen, payload, n_payload);
		} while (r == 0);
	}
	seen->end = r;
	frame_decoder_done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t a[SHA256_SIZE], b[SHA256_SIZE];
	struct seen whole, cut;

	if (size < 1)
		return 0;
	feed(&whole, data + 1, size - 1, size);
	feed(&cut, data + 1, size - 1, (size_t)data[0] % 17 + 1);
	sha256_final(&whole.hash, a);
	sha256_final(&cut.hash, b);
	if (whole.n != cut.n || whole.end != cut.end || memcmp(a, b, sizeof(a)) != 0)
		abort();
	return 0;
}
