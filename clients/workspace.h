/*
 * The workspace that a command means, with its state directory. What most
 * commands do first; failures are told on stderr with the remedy.
 */
#pragma once

#include "base/attr.h"
#include "base/cleanup.h"

struct workspace {
	char *path;       /* owned: the real path */
	char *state_path; /* owned */
	int state_fd;     /* owned */
};

#define WORKSPACE_NONE ((struct workspace){ .state_fd = -1 })

/*
 * name: a directory, a registered name, or NULL for the one found upwards from the current
 * directory, else the only registered one. 0, or -errno after a message.
 */
int workspace_open(const char *name, struct workspace *ret_workspace) MUST_CHECK;
void workspace_done(struct workspace *w);

#define auto_workspace CLEANUP(workspace_done)
