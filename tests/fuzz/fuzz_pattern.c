/* A pattern, a line feed, a text: compiled or refused with a place, matched in bounded time. */
#include <stdlib.h>
#include <string.h>

#include "agent/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t n_pattern = end ? (size_t)(end - data) : size;
	size_t n_text = end ? size - n_pattern - 1 : 0;
	auto_pattern struct pattern *p = NULL;
	char *pattern = strndup((const char *)data, n_pattern);
	char *text = end ? strndup((const char *)end + 1, n_text) : strdup("");
	struct diag diag = { 0 };

	if (!pattern || !text)
		abort();
	if (pattern_compile(pattern, (size & 1) != 0, &p, &diag) == 0) {
		bool once = pattern_matches(p, text, strlen(text));

		if (pattern_matches(p, text, strlen(text)) != once)
			abort(); /* working memory of the last match must not matter */
	} else if (p || diag.column == 0) {
		if (strlen(pattern) <= PATTERN_MAX)
			abort();
	}
	(void)name_matches(pattern, text);
	free(pattern);
	free(text);
	return 0;
}
