/*
 * Frames: 4 bytes big-endian length, then that many bytes of msgpack that are
 * [kind, stream, body]. docs/protocol.md has the words and the test vectors.
 *
 *	bytes → frame_decoder_push() → payload → frame_parse() → struct frame
 *	frame_write_start(), body, frame_write_end() → bytes in a struct buf
 *
 * The decoder is a push parser: it takes what there is, keeps what is half,
 * and refuses a length over the limit before it keeps a byte for it. Memory
 * grows with the bytes that really came, so that a length alone pins nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define FRAME_HEADER_SIZE  4
#define FRAME_LIMIT_HELLO  4096u
#define FRAME_LIMIT_CANARY 65536u
#define FRAME_LIMIT        1048576u
#define FRAME_KIND_MAX     32
#define FRAME_STREAM_MAX   INT64_MAX

enum {
	FRAME_E_MORE = 1,  /* all input taken, the frame is not complete yet */
	FRAME_E_OVERSIZE,  /* longer than the limit, or empty */
	FRAME_E_MALFORMED, /* not [kind, stream, body] to the last byte */
};

struct frame_decoder {
	uint8_t header[FRAME_HEADER_SIZE];
	uint32_t n_header;
	uint32_t limit; /* of the next payload; set anew when the connection's state changes */
	uint32_t size;  /* of the payload under way */
	struct buf payload;
};

void frame_decoder_init(struct frame_decoder *d, uint32_t limit);
void frame_decoder_done(struct frame_decoder *d);
void frame_decoder_limit_set(struct frame_decoder *d, uint32_t limit);
/*
 * Takes bytes from *in, moving it. 0: one payload is complete and *in stands behind it; it is
 * borrowed until the next call (it may lie in the input itself). FRAME_E_MORE, FRAME_E_OVERSIZE or
 * -ENOMEM otherwise; after the last two the decoder must not be used again.
 */
int frame_decoder_push(struct frame_decoder *d, const uint8_t **in, size_t *n_in,
	const uint8_t **ret_payload, size_t *ret_size) MUST_CHECK;
/* True between frames: a connection that ends here was not cut. */
bool frame_decoder_is_idle(const struct frame_decoder *d);

struct frame {
	const char *kind; /* borrowed from the payload, not terminated */
	size_t n_kind;
	uint64_t stream;
	const uint8_t *body; /* one msgpack map, nested at most 16, whole but not looked into */
	size_t n_body;
};

int frame_parse(const uint8_t *payload, size_t size, struct frame *ret_frame) MUST_CHECK;

/* Begins a frame at the end of b; the caller writes one map, then ends it. Errors are the buffer's.
 */
size_t frame_write_start(struct buf *b, const char *kind, uint64_t stream);
/* FRAME_E_OVERSIZE when over the limit: the frame is then removed from b again. */
int frame_write_end(struct buf *b, size_t start, uint32_t limit) MUST_CHECK;
