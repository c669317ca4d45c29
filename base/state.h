/*
 * Where things are kept (docs/ARCHITECTURE.md, "State on disk").
 *
 *	$XDG_CONFIG_HOME/interlock/		config, policy, ceiling, exclusions
 *	$XDG_STATE_HOME/interlock/<id>/		one workspace's state, 0700
 *
 * <id> is a slug of the workspace's name and the first 16 hex digits of the
 * SHA-256 of its real path.
 */
#pragma once

#include <stddef.h>

#include "base/attr.h"

/* Each result is the caller's, to be freed. -ENOENT when HOME is needed and not set. */
int state_config_dir(char **ret_path) MUST_CHECK;
/* `workspace` must be a real path. The directory is not made. */
int state_id(const char *workspace, char **ret_id) MUST_CHECK;
int state_dir(const char *workspace, char **ret_path) MUST_CHECK;
/* The directory made 0700, checked to be ours and closed to others (-EPERM otherwise); an
 * O_PATH-less directory descriptor. */
int state_dir_open(const char *workspace, char **ret_path, int *ret_fd) MUST_CHECK;
/*
 * `name` ("engine.sock") in the state directory, or in $XDG_RUNTIME_DIR/interlock/<id>/ when that
 * path is too long for sockaddr_un.
 */
int state_socket_path(const char *workspace, const char *name, char **ret_path) MUST_CHECK;
/* The nearest directory from `start` upwards that has state or a .git or an interlock.yaml; real
 * path. */
int state_find_workspace(const char *start, char **ret_workspace) MUST_CHECK;
