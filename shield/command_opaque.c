/* Where nothing reads shell text, none of it is known. */
#include "shield/command.h"

int command_analyse(struct arena *a, const struct command_context *context, const char *text,
	size_t n, struct command_result *ret_result)
{
	struct effect *e = arena_alloc(a, sizeof(*e));

	struct command_note *note = arena_alloc(a, sizeof(*note));

	(void)text;
	if (!e || !note)
		return -ENOMEM;
	*e = (struct effect){ .kind = EFFECT_OPAQUE, .object = "shell text is not read here",
			      .field = context->field, .origin_size = (uint32_t)n };
	*note = (struct command_note){ .id = "NOTE-UNREAD",
		.text = "The command is not read by this build, so that nothing of it is known." };
	*ret_result = (struct command_result){ .effects = e, .n_effects = 1, .opaque = true,
		.notes = note, .n_notes = 1 };
	return 0;
}

int command_analyse_argv(struct arena *a, const struct command_context *context,
	const char *const *argv, size_t n_argv, struct command_result *ret_result)
{
	(void)argv;
	(void)n_argv;
	return command_analyse(a, context, "", 0, ret_result);
}
