/*
 * Checkpoints sent elsewhere: to syslog (and so to the journal) and to a command of the user's,
 * which gets the checkpoint as one line of JSON on its standard input. Best effort: an anchor that
 * cannot be reached does not stop the record.
 */
#pragma once

#include <stdbool.h>

#include "base/value.h"

/* command: argv, NULL-terminated, or NULL. Returns when the command has ended, or after two
 * seconds. */
void anchor_send(char *const *command, bool to_syslog, const struct value *checkpoint);
