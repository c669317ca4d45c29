/* What echo and printf print, when all their words are known. */
#include "shield/shell_print.h"

#include <ctype.h>
#include <string.h>

static int hex_value(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

static size_t put_code(char *out, unsigned code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | (code >> 12 & 0x0f));
	out[1] = (char)(0x80 | (code >> 6 & 0x3f));
	out[2] = (char)(0x80 | (code & 0x3f));
	return 3;
}

/* One escape at text[i] (the backslash); returns how many bytes it has. */
static size_t decode_escape(const char *text, size_t n, char *out, size_t *n_out)
{
	static const char from[] = "abefnrtv\\'\"?", to[] = "\a\b\033\f\n\r\t\v\\'\"?";
	const char *at;
	size_t max, used = 2;
	unsigned code = 0;

	if (n < 2) {
		out[(*n_out)++] = '\\';
		return 1;
	}
	if (text[1] == 'x' || text[1] == 'u') {
		max = text[1] == 'x' ? 4 : 6;
		for (; used < n && used < max && hex_value(text[used]) >= 0; used++)
			code = code << 4 | (unsigned)hex_value(text[used]);
	} else if (text[1] >= '0' && text[1] <= '7') {
		max = text[1] == '0' ? 5 : 4;
		for (used = 1; used < n && used < max && text[used] >= '0' && text[used] <= '7'; used++)
			code = code << 3 | (unsigned)(text[used] - '0');
		code &= 0xff;
	} else {
		at = strchr(from, text[1]);
		if (!at)
			out[(*n_out)++] = '\\';
		out[(*n_out)++] = at ? to[at - from] : text[1];
		return 2;
	}
	if (code)
		*n_out += put_code(out + *n_out, code);
	return used;
}

static char *undo_escapes(struct arena *a, const char *text)
{
	size_t n = strlen(text), n_out = 0;
	char *out = arena_alloc(a, n * 2 + 4);

	for (size_t i = 0; out && i < n;) {
		if (text[i] == '\\')
			i += decode_escape(text + i, n - i, out, &n_out);
		else
			out[n_out++] = text[i++];
	}
	return out;
}

/* "-n", "-e", "-ne" ... of echo: true, and whether escapes are undone. */
static bool is_echo_option(const char *text, bool *escapes)
{
	if (text[0] != '-' || text[1] == '\0' || strspn(text + 1, "neE") != strlen(text + 1))
		return false;
	*escapes = *escapes || strchr(text, 'e') != NULL;
	return true;
}

const char *shell_printed(struct arena *a, const struct command_call *call)
{
	bool is_printf = strcmp(call->program, "printf") == 0, escapes = is_printf;
	size_t i = 1, total = 1;
	char *text, *at;

	for (size_t k = 1; k < call->n_argv; k++) {
		if (!call->argv[k])
			return NULL;
		total += strlen(call->argv[k]) + 1;
	}
	while (!is_printf && i < call->n_argv && is_echo_option(call->argv[i], &escapes))
		i++;
	if (is_printf && i + 1 < call->n_argv && strcmp(call->argv[i], "--") == 0)
		i++;
	/* A format that only passes its words on. */
	if (is_printf && i + 1 < call->n_argv &&
		(strncmp(call->argv[i], "%s", 2) == 0 || strncmp(call->argv[i], "%b", 2) == 0))
		i++;
	text = at = arena_alloc(a, total);
	if (!text)
		return NULL;
	for (; i < call->n_argv; i++) {
		at = stpcpy(at, call->argv[i]);
		if (i + 1 < call->n_argv)
			*at++ = ' ';
	}
	return escapes ? undo_escapes(a, text) : text;
}
