/*
 * Gathering facts: what the judge wants to know of the machine. Called on a thread of
 * the pool; reads, decides nothing. A fact that cannot be had is `known = false`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "shield/shield.h"

#define FACT_SCRIPT_LIMIT (256u << 10)

/* ret_facts has analysis->n_wanted of them, in that order. */
int facts_gather(struct arena *a, const struct il_analysis *analysis, struct il_fact **ret_facts)
	MUST_CHECK;
/* Gathers again and compares; false names the first that changed. */
bool facts_still_hold(
	struct arena *a, const struct il_fact *facts, size_t n_facts, const char **ret_changed);
