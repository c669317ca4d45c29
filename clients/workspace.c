#include "clients/workspace.h"

#include <stdio.h>
#include <string.h>

#include "base/state.h"
#include "manager/registry.h"

int workspace_open(const char *name, struct workspace *ret_workspace)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	int r = registry_resolve(name, &w.path);

	if (r == REGISTRY_E_NONE) {
		if (name)
			(void)fprintf(stderr,
				"interlock: \"%s\" is no directory and no known workspace; "
				"`interlock list` shows them\n",
				name);
		else
			(void)fputs("interlock: no workspace here or above, and none is known; "
				    "name a directory\n",
				stderr);
		return -ENOENT;
	}
	if (r == REGISTRY_E_SEVERAL) {
		(void)fputs("interlock: more than one workspace is known; name one (`interlock "
			    "list`)\n",
			stderr);
		return -ENOTUNIQ;
	}
	if (r == 0)
		r = state_dir_open(w.path, &w.state_path, &w.state_fd);
	if (r != 0) {
		(void)fprintf(stderr, "interlock: cannot open the state of %s: %s\n",
			w.path ? w.path : (name ? name : "."), strerror(-r));
		return r;
	}
	*ret_workspace = (struct workspace){ .path = take_ptr(w.path),
		.state_path = take_ptr(w.state_path),
		.state_fd = take_fd(w.state_fd) };
	return 0;
}

void workspace_done(struct workspace *w)
{
	cleanup_free(&w->path);
	cleanup_free(&w->state_path);
	cleanup_close(&w->state_fd);
}
