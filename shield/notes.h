/*
 * What the notes of the shell analysis are worth.
 */
#pragma once

#include "shield/shield.h"

/* A note that the table does not know asks. */
void note_weigh(const char *id, enum il_decision *ret_decision, enum il_severity *ret_severity);
