/*
 * UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing
 * above U+10FFFF.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

bool is_utf8(const void *bytes, size_t n);

/*
 * Decodes one code point at bytes[0..n); returns its length in bytes (1-4), or
 * 0 when the bytes there are not valid UTF-8.
 */
size_t utf8_decode(const uint8_t *bytes, size_t n, uint32_t *ret_code_point);
/* Appends one code point; values that are no code point become U+FFFD. */
void utf8_append(struct buf *b, uint32_t code_point);

/*
 * Text from outsiders, safe to show on a terminal or write into a log line:
 * control, bidirectional, zero-width and invalid bytes appear as \xNN or
 * \u{NNNN}, backslash as \\; nothing is hidden. When the result would pass max bytes it
 * is cut and says how much is missing: "...(+123 bytes)".
 */
void utf8_escape(struct buf *b, const void *bytes, size_t n, size_t max);
