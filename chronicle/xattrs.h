/*
 * Extended attributes (ACLs among them) of one object, packed and sorted by name:
 * name length (2), value length (4), name, value.
 *
 * The object is named by the descriptor of its directory and one component; links
 * are never followed.
 */
#pragma once

#include "base/buf.h"
#include "chronicle/entry.h"

int xattrs_get(int dir_fd, const char *name, struct buf *ret_packed) MUST_CHECK;
/* Makes them what `packed` says; only differences are touched. */
int xattrs_set(int dir_fd, const char *name, struct slice packed) MUST_CHECK;
