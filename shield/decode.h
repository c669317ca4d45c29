/*
 * Text that hides text: base64, hexadecimal and URL escapes, decoded to be looked at
 * again. Bounded: one level a call, at most 64 KiB.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"

/* The decoded text when all of it is printable; NULL when it is none of these. */
const char *decode_text(struct arena *a, const char *text) MUST_CHECK;
/* What printf would make of \x41 and \101; NULL when there is no such escape. */
const char *decode_escapes(struct arena *a, const char *text) MUST_CHECK;
