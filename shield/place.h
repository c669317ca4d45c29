/*
 * What a path is, by the tables of protection and of information flow: one
 * question answers both, so that no place is protected but unlabelled.
 */
#pragma once

#include <stdbool.h>

#include "base/effect.h"
#include "shield/shield.h"

struct place_context {
	const char *workspace, *home;
	const char *state_dir, *config_dir, *program_dir; /* or NULL */
};

struct place {
	enum label label;
	/* What protection says of each kind of access; IL_ALLOW: nothing. */
	enum il_decision read, write, attributes, list;
	const char *id;   /* "PROT-CREDENTIALS" ... of the strongest row; NULL: no row */
	const char *what; /* "private keys and tokens of the user" */
};

void place_of(const struct place_context *context, const char *path, struct place *ret_place);

/* True for directories whose loss is the loss of a machine or of a user's data: "/", "/usr", a
 * home. */
bool is_place_vital(const struct place_context *context, const char *path);
/* Made again by a build: node_modules, target, __pycache__, dist ... anywhere in the path. */
bool is_place_artefact(const char *path);
bool is_place_temporary(const char *path);
/* Belongs to some user: beneath a home that is not the workspace. */
bool is_place_home(const struct place_context *context, const char *path);
/* Names that documentation and examples use: .env.example, sample.pem ... */
bool is_place_example(const char *name);
