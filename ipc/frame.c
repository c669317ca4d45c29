#include "ipc/frame.h"

#include <string.h>

#include "base/be.h"
#include "base/mp.h"

void frame_decoder_init(struct frame_decoder *d, uint32_t limit)
{
	*d = (struct frame_decoder){ .limit = limit, .payload = BUF_INIT(FRAME_LIMIT) };
}

void frame_decoder_done(struct frame_decoder *d)
{
	buf_done(&d->payload);
	*d = (struct frame_decoder){ .limit = d->limit, .payload = BUF_INIT(FRAME_LIMIT) };
}

void frame_decoder_limit_set(struct frame_decoder *d, uint32_t limit)
{
	d->limit = limit;
}

bool frame_decoder_is_idle(const struct frame_decoder *d)
{
	return d->n_header == 0 || (d->size > 0 && d->payload.size == d->size);
}

static size_t take_bytes(uint8_t *to, size_t room, const uint8_t **in, size_t *n_in)
{
	size_t n = room < *n_in ? room : *n_in;

	memcpy(to, *in, n);
	*in += n;
	*n_in -= n;
	return n;
}

/* The frame before, if there was one, has been used by now. */
static void frame_decoder_restart(struct frame_decoder *d)
{
	d->n_header = 0;
	d->size = 0;
	if (d->payload.capacity > FRAME_LIMIT_CANARY)
		buf_done(&d->payload); /* one large frame does not pin its memory for ever */
	else
		buf_clear(&d->payload);
}

static int frame_decoder_header(struct frame_decoder *d, const uint8_t **in, size_t *n_in)
{
	d->n_header += (uint32_t)take_bytes(
		d->header + d->n_header, FRAME_HEADER_SIZE - d->n_header, in, n_in);
	if (d->n_header < FRAME_HEADER_SIZE)
		return FRAME_E_MORE;
	d->size = be_load32(d->header);
#ifndef MUTATION_FRAME_LIMIT
	if (d->size > d->limit)
		return FRAME_E_OVERSIZE;
#endif
	return d->size == 0 ? FRAME_E_OVERSIZE : 0;
}

int frame_decoder_push(struct frame_decoder *d, const uint8_t **in, size_t *n_in,
	const uint8_t **ret_payload, size_t *ret_size)
{
	size_t n;
	int r;

	if (d->size > 0 && d->payload.size == d->size)
		frame_decoder_restart(d);
	if (d->size == 0) {
		r = frame_decoder_header(d, in, n_in);
		if (r != 0)
			return r;
	}

	/* The whole payload lies in the input, as it does nearly always: no copy. */
	if (d->payload.size == 0 && *n_in >= d->size) {
		*ret_payload = *in;
		*ret_size = d->size;
		*in += d->size;
		*n_in -= d->size;
		frame_decoder_restart(d);
		return 0;
	}
	n = d->size - d->payload.size;
	if (n > *n_in)
		n = *n_in;
	buf_bytes(&d->payload, *in, n);
	r = buf_error(&d->payload);
	if (r != 0)
		return r;
	*in += n;
	*n_in -= n;
	if (d->payload.size < d->size)
		return FRAME_E_MORE;
	*ret_payload = d->payload.data;
	*ret_size = d->size;
	return 0;
}

int frame_parse(const uint8_t *payload, size_t size, struct frame *ret_frame)
{
	struct frame frame;
	struct mp_reader r;
	uint32_t n;

	mp_reader_init(&r, payload, size);
	if (mp_read_array(&r, 3, &n) != 0 || n != 3 ||
		mp_read_str(&r, FRAME_KIND_MAX, &frame.kind, &frame.n_kind) != 0 ||
		mp_read_uint(&r, FRAME_STREAM_MAX, &frame.stream) != 0 || mp_peek(&r) != MP_MAP ||
		mp_skip(&r, VALUE_DEPTH_MAX, &frame.body, &frame.n_body) != 0 ||
		mp_reader_end(&r) != 0)
		return FRAME_E_MALFORMED;
	*ret_frame = frame;
	return 0;
}

size_t frame_write_start(struct buf *b, const char *kind, uint64_t stream)
{
	static const uint8_t no_length[FRAME_HEADER_SIZE];
	size_t start = b->size;

	buf_bytes(b, no_length, sizeof(no_length));
	mp_write_array(b, 3);
	mp_write_text(b, kind);
	mp_write_uint(b, stream);
	return start;
}

int frame_write_end(struct buf *b, size_t start, uint32_t limit)
{
	size_t size;

	if (buf_error(b) != 0)
		return buf_error(b);
	size = b->size - start - FRAME_HEADER_SIZE;
	if (size > limit) {
		b->size = start;
		b->data[start] = 0;
		return FRAME_E_OVERSIZE;
	}
	be_store32(b->data + start, (uint32_t)size);
	return 0;
}
