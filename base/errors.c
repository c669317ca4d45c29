#include "base/errors.h"

#include <stdarg.h>
#include <stdio.h>

int diag_set(struct diag *diag, int r, uint32_t line, uint32_t column, const char *format, ...)
{
	va_list args;

	if (!diag)
		return r;
	diag->line = line;
	diag->column = column;
	va_start(args, format);
	(void)vsnprintf(
		diag->text, sizeof(diag->text), format, args); /* cut is fine: it is for reading */
	va_end(args);
	return r;
}
