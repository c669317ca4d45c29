/*
 * The workspaces that the user has: each state directory holds a file `workspace`
 * with the real path, so that no second list can disagree with what is there.
 *
 * A workspace is trusted once: `trust` holds the SHA-256 of its interlock.yaml
 * ("none" when there is none), so that a changed file asks again.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"

/* Remembers the workspace in its state directory. */
int registry_add(int state_fd, const char *workspace) MUST_CHECK;
typedef int (*registry_fn)(void *ctx, const char *id, const char *workspace);
/* Every workspace; a non-zero result of fn ends the walk and is returned. */
int registry_each(registry_fn fn, void *ctx) MUST_CHECK;

enum registry_condition {
	REGISTRY_E_NONE = 1, /* no workspace fits */
	REGISTRY_E_SEVERAL,  /* more than one fits */
};
/*
 * Which workspace is meant: a directory, a registered id or base name, or with NULL the one found
 * upwards from the current directory, else the only registered one. Result: the real path, to be
 * freed.
 */
int registry_resolve(const char *name, char **ret_workspace) MUST_CHECK;

int registry_is_trusted(int state_fd, const char *workspace, bool *ret_trusted) MUST_CHECK;
int registry_trust(int state_fd, const char *workspace) MUST_CHECK;
