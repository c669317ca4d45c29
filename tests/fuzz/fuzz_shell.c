/*
 * Shell text: whatever it is, the analysis ends with effects or an error, and every effect names an
 * object and stands inside the text.
 */
#include <stdlib.h>

#include "shield/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct command_context context = {
		.cwd = "/w", .workspace = "/w", .home = "/home/u", .field = "command"
	};
	auto_arena struct arena a = { 0 };
	struct command_result r = { 0 };
	int e;

	arena_init(&a, (size_t)16 << 20);
	for (size_t i = 0; i < size; i++) {
		if (data[i] == 0)
			return 0; /* refused before it comes here */
	}
	e = command_analyse(&a, &context, (const char *)data, size, &r);
	if (e > 0)
		abort();
	for (size_t i = 0; e == 0 && i < r.n_effects; i++) {
		if (!r.effects[i].object || (unsigned)r.effects[i].kind >= EFFECT_N_)
			abort();
	}
	return 0;
}
