/*
 * The temporary files of a rollback: named for the rollback's own snapshot, so that
 * what it left when it was killed is known as its own and nothing else is.
 */
#pragma once

#include "chronicle/record.h"

#define LEFTOVER_PREFIX    ".interlock-"
#define LEFTOVER_NAME_SIZE (sizeof(LEFTOVER_PREFIX) + ID_LENGTH + 24)

void leftover_name(const char *id, uint64_t number, char ret_name[static LEFTOVER_NAME_SIZE]);
/* Removes those of this rollback in all its places. */
int leftovers_remove(const struct record *begin) MUST_CHECK;
