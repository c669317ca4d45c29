#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define BUF_FIRST_CAPACITY 64

void buf_done(struct buf *b)
{
	int saved = errno;
	size_t limit = b->limit;

	free(b->data);
	*b = BUF_INIT(limit);
	errno = saved;
}

void buf_clear(struct buf *b)
{
	b->size = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = 0;
}

void buf_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->capacity);
	buf_done(b);
}

/* One byte more than asked for is kept for the NUL. */
static int buf_grow(struct buf *b, size_t n)
{
	size_t capacity = b->capacity ? b->capacity : BUF_FIRST_CAPACITY;
	uint8_t *data;

	if (b->error != 0)
		return b->error;
	if (n > b->limit || b->size > b->limit - n)
		return b->error = -E2BIG;
	if (b->data && b->size + n < b->capacity)
		return 0;
	while (capacity <= b->size + n)
		capacity *= 2;
	data = realloc(b->data, capacity);
	if (!data)
		return b->error = -ENOMEM;
	b->data = data;
	b->capacity = capacity;
	return 0;
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
	return buf_grow(b, n) == 0 ? b->data + b->size : NULL;
}

void buf_grew(struct buf *b, size_t n)
{
	b->size += n;
	b->data[b->size] = 0;
}

void buf_bytes(struct buf *b, const void *bytes, size_t n)
{
	if (buf_grow(b, n) != 0)
		return;
	if (n > 0)
		memcpy(b->data + b->size, bytes, n);
	buf_grew(b, n);
}

void buf_text(struct buf *b, const char *text)
{
	buf_bytes(b, text, strlen(text));
}

void buf_byte(struct buf *b, uint8_t byte)
{
	buf_bytes(b, &byte, 1);
}

void buf_hex(struct buf *b, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t *at;

	if (n > SIZE_MAX / 2) {
		b->error = -E2BIG;
		return;
	}
	at = buf_reserve(b, 2 * n);
	if (!at)
		return;
	for (size_t i = 0; i < n; i++) {
		at[2 * i] = (uint8_t)digits[bytes[i] >> 4];
		at[2 * i + 1] = (uint8_t)digits[bytes[i] & 15];
	}
	buf_grew(b, 2 * n);
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n < 0)
		b->error = b->error ? b->error : -EINVAL;
	else if (buf_grow(b, (size_t)n) == 0) {
		(void)vsnprintf((char *)b->data + b->size, (size_t)n + 1, format, again);
		buf_grew(b, (size_t)n);
	}
	va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void buf_consume(struct buf *b, size_t n)
{
	if (n > b->size)
		n = b->size;
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->size - n);
	b->size -= n;
	b->data[b->size] = 0;
}

int buf_error(const struct buf *b)
{
	return b->error;
}

const char *buf_get_text(const struct buf *b)
{
	return b->data ? (const char *)b->data : "";
}

int buf_take(struct buf *b, uint8_t **ret_data, size_t *ret_size)
{
	if (b->error != 0)
		return b->error;
	if (!b->data && !buf_reserve(b, 0))
		return b->error;
	b->data[b->size] = 0;
	*ret_size = b->size;
	*ret_data = take_ptr(b->data);
	*b = BUF_INIT(b->limit);
	return 0;
}

int buf_take_text(struct buf *b, char **ret_text)
{
	uint8_t *data;
	size_t size;
	int r = buf_take(b, &data, &size);

	if (r == 0)
		*ret_text = (char *)data;
	return r;
}
