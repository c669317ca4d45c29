/*
 * Where the project's own programs are: beside the running program (build
 * folder), in ../libexec/interlock from it (any prefix), or where they were
 * installed. Never through PATH or the environment.
 */
#pragma once

#include "base/attr.h"

/* An absolute path that exists and is executable; -ENOENT otherwise. Caller frees. */
int program_path(const char *name, char **ret_path) MUST_CHECK;
