/*
 * What echo and printf print, when all their words are known: the text that a shell
 * or a decoder behind the pipe gets.
 */
#pragma once

#include "shield/command.h"

/* NULL when a word is not known or the arena is full. */
const char *shell_printed(struct arena *a, const struct command_call *call) MUST_CHECK;
