/*
 * YAML files that people write (config, policy) into a value tree with places,
 * by libyaml. Strict: one document, no anchors, aliases, tags, merge or duplicate
 * keys, no floats; plain scalars true/false are booleans, decimal digits integers, "~"/null/empty
 * nil, everything else text. Limits: 1 MiB, nesting VALUE_DEPTH_MAX.
 *
 * Every node remembers its place, so that a refusal can say file:line:column.
 */
#pragma once

#include "base/arena.h"
#include "base/errors.h"
#include "base/value.h"

/* Places are found by the address of the value in the tree. */
struct yaml_place {
	const struct value *value;
	uint32_t line;
	uint32_t column;
};

struct yaml_doc {
	const struct value *root;
	const struct yaml_place *places;
	size_t n_places;
};

/* 0; or -EBADMSG with reterr_diag filled; -ENOMEM. Memory is the arena's. */
int yaml_parse(struct arena *a, const char *text, size_t n, struct yaml_doc *ret_doc,
	struct diag *reterr_diag) MUST_CHECK;
/* Line and column of a value of the tree; 0, 0 when it is none. */
struct yaml_place yaml_place_get(const struct yaml_doc *doc, const struct value *v);
