/*
 * The tables of place.c. Patterns are lower case: "x/" is a directory and all
 * beneath it, "x*" a prefix, everything else the whole.
 */
#pragma once

#include "base/effect.h"
#include "shield/shield.h"

enum place_where {
	PLACE_HOME,      /* beneath any user's home */
	PLACE_SYSTEM,    /* absolute */
	PLACE_WORKSPACE, /* at any depth of the workspace */
	PLACE_ANYWHERE,  /* at any depth */
	PLACE_NAME,      /* the last component */
	PLACE_SUFFIX,    /* the end of the last component */
};

struct place_row {
	enum place_where where;
	const char *pattern;
	const char *id;
	const char *what;
	enum label label;
	enum il_decision read, write, attributes, list;
};

extern const struct place_row place_rows[];
extern const size_t place_n_rows;
extern const char *const place_words[]; /* in names of personal documents */
extern const size_t place_n_words;
extern const char *const place_vital[];
extern const size_t place_n_vital;
extern const char *const place_artefacts[];
extern const size_t place_n_artefacts;
