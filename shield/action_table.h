/*
 * The rows of the action table, and the second names that actions and fields
 * answer to. Only action.c reads these; everybody else asks shield/action.h.
 */
#pragma once

#include <stddef.h>

#include "shield/action.h"

struct action_alias {
	const char *alias;
	const char *name;
};

/* In one action (or, with action NULL, in all) a field is also known by another name. */
struct action_field_alias {
	const char *action;
	const char *alias;
	const char *name;
};

extern const struct il_action_type action_rows[];
extern const size_t action_n_rows;
extern const struct action_alias action_aliases[];
extern const size_t action_n_aliases;
extern const struct action_field_alias action_field_aliases[];
extern const size_t action_n_field_aliases;
