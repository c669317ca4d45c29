/*
 * A growing byte buffer with a hard limit.
 *
 * Errors are sticky: after the first failure every further append does nothing
 * and buf_error() says why, so that a writer checks once at its end.
 *
 *	struct buf b = BUF_INIT(64 * 1024);
 *	buf_text(&b, "seq=");
 *	buf_printf(&b, "%u", n);
 *	if ((r = buf_error(&b)) != 0) ...
 *
 * The bytes are always followed by one NUL that is not counted, so text may be
 * read as a C string. buf_done() leaves an empty, reusable buffer.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

IL_API_BEGIN

struct buf {
	uint8_t *data; /* owned; NULL while nothing was written */
	size_t size;
	size_t capacity;
	size_t limit; /* most bytes this buffer may ever hold; 0: nothing */
	int error;    /* 0, -ENOMEM or -E2BIG */
};

#define BUF_INIT(limit_) ((struct buf){ .limit = (limit_) })

void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory and the limit, forgets the error */
void buf_wipe(struct buf *b);  /* as buf_done(), after overwriting: for secrets */

void buf_bytes(struct buf *b, const void *bytes, size_t n);
void buf_text(struct buf *b, const char *text);
void buf_byte(struct buf *b, uint8_t byte);
void buf_hex(struct buf *b, const uint8_t *bytes, size_t n); /* lower case */
void buf_printf(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *b, const char *format, va_list args) PRINTF_LIKE(2, 0);

/* Room for n more bytes, to be filled by the caller and then counted by buf_grew(); NULL on error.
 */
uint8_t *buf_reserve(struct buf *b, size_t n) MUST_CHECK;
void buf_grew(struct buf *b, size_t n);

/* Removes the first n bytes. */
void buf_consume(struct buf *b, size_t n);

int buf_error(const struct buf *b) MUST_CHECK;
const char *buf_get_text(const struct buf *b); /* borrowed; "" when empty */

/* The bytes become the caller's, to be freed with free(); the buffer is empty afterwards. */
int buf_take(struct buf *b, uint8_t **ret_data, size_t *ret_size) MUST_CHECK;
int buf_take_text(struct buf *b, char **ret_text) MUST_CHECK;

#define auto_buf CLEANUP(buf_done)

IL_API_END
