/*
 * Resolution beneath a root by descriptors: no link is followed, no component leads
 * up or out, whatever others rename meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

/*
 * The directory that holds the object at path ("" is the root itself, named "."), and the object's
 * name in it (borrowed from path). -ELOOP when a component is a link, -ENOENT, -ENOTDIR.
 */
int beneath_parent(int root_fd, const char *path, int *ret_fd, const char **ret_name) MUST_CHECK;
/* A recorded root, opened anew; -ELOOP when any part of its path is a link now. */
int beneath_open_root(const char *root, int *ret_fd) MUST_CHECK;
/*
 * The path without links, where a link beneath the root led elsewhere beneath it; for a path whose
 * directory does not exist (or is none), the path of the topmost component that is missing (or is
 * no directory). ret_topmost is true then. Caller frees.
 */
int beneath_normalize(int root_fd, const char *path, char **ret_path, bool *ret_topmost) MUST_CHECK;
