/*
 * The tree of processes below this one: what it uses, and its end. This process must be
 * a subreaper or process 1 of its namespace, so that nothing can leave the tree.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct tree_use {
	size_t n_processes;
	uint64_t memory_bytes; /* resident and not shared with files */
	uint64_t cpu_ms;       /* of the living and of the dead */
};

int tree_measure(struct tree_use *ret_use) MUST_CHECK;
/* Stops, kills and reaps everything below; returns when nothing is left. */
void tree_kill(void);
