/*
 * The error convention of the whole project: one int, three meanings.
 *
 *	  0   done, outputs are set
 *	< 0   -errno: nobody planned for it, hand it up unchanged
 *	> 0   a condition from the enum of the module called: the direct caller
 *	      decides, and never passes it on
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

IL_API_BEGIN

/* Turns a condition nobody handled into an error that may travel. */
static inline int err_fold(int r)
{
	return r > 0 ? -ENOTRECOVERABLE : r;
}

/*
 * Where and why a file that a person wrote was refused. line and column count
 * from 1; 0 means "the file as a whole". text is a complete sentence without
 * the place, always terminated.
 */
struct diag {
	uint32_t line;
	uint32_t column;
	char text[256];
};

/* Fills diag (which may be NULL) and returns r, so that callers can `return diag_set(...)`. */
int diag_set(struct diag *diag, int r, uint32_t line, uint32_t column, const char *format, ...)
	PRINTF_LIKE(5, 6);

IL_API_END
