/*
 * JSON into values, and a grant out of any value: a refusal says why, and a grant that was accepted
 * passes its own check, is within itself and keeps its hash.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena a = { 0 };
	uint8_t before[SHA256_SIZE], after[SHA256_SIZE];
	const struct value *v = NULL;
	struct grant g, again;
	struct diag diag = { 0 };
	int r;

	arena_init(&a, (size_t)1 << 24);
	r = value_from_json(&a, (const char *)data, size, &v, &diag);
	if (r == -EBADMSG && diag.text[0] == '\0')
		abort();
	if (r != 0 || grant_from_value(&a, v, &g, &diag) != 0)
		return 0;
	if (grant_check(&g, &diag) != 0 || !grant_subset(&g, &g, &diag) ||
		grant_hash(&g, before) != 0)
		abort();
	v = grant_to_value(&a, &g);
	if (!v || grant_from_value(&a, v, &again, &diag) != 0 || grant_hash(&again, after) != 0 ||
		memcmp(before, after, sizeof(before)) != 0)
		abort();
	return 0;
}
