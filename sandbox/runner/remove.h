/*
 * Removing what a command left, whatever rights it took away. Follows no link.
 */
#pragma once

/* What cannot be removed stays. */
void remove_tree(const char *path);
