/*
 * YAML of people: a refusal always says where, and what was read can be shown as JSON and read
 * again.
 */
#include <stdlib.h>

#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena a = { 0 };
	auto_buf struct buf json = BUF_INIT((size_t)1 << 24);
	const struct value *v;
	struct yaml_doc doc = { 0 };
	struct diag diag = { 0 };
	int r;

	arena_init(&a, (size_t)1 << 24);
	r = yaml_parse(&a, (const char *)data, size, &doc, &diag);
	if (r == -ENOMEM)
		return 0;
	if (r > 0 || (r == 0) != (doc.root != NULL) || (r != 0 && diag.text[0] == '\0'))
		abort();
	if (r != 0)
		return 0;
	value_to_json(&json, doc.root);
	if (buf_error(&json) == 0 &&
		value_from_json(&a, buf_get_text(&json), json.size, &v, &diag) == -EBADMSG)
		abort();
	return 0;
}
