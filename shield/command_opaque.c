/* Where nothing reads shell text, none of it is known. */
#include "shield/command.h"

int command_analyse(struct arena *a, const struct command_context *context, const char *text,
	size_t n, struct command_result *ret_result)
{
	struct effect *e = arena_alloc(a, sizeof(*e));

	(void)text;
	if (!e)
		return -ENOMEM;
	*e = (struct effect){ .kind = EFFECT_OPAQUE, .object = "shell text is not read here",
			      .field = context->field, .origin_size = (uint32_t)n };
	*ret_result = (struct command_result){ .effects = e, .n_effects = 1, .opaque = true };
	return 0;
}

int command_analyse_argv(struct arena *a, const struct command_context *context,
	const char *const *argv, size_t n_argv, struct command_result *ret_result)
{
	(void)argv;
	(void)n_argv;
	return command_analyse(a, context, "", 0, ret_result);
}
