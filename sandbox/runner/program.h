/*
 * The program of a command: found once, by its real path, and recorded by its hash.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/hash.h"

struct program {
	char path[PATH_MAX]; /* real */
	uint64_t device, inode;
	bool script; /* starts with #! */
	char hash[SHA256_HEX_SIZE];
};

/*
 * name: looked up in `path_list` (like PATH) when it has no slash, else relative to cwd.
 * -ENOENT: there is none; -EACCES: it is no executable file.
 */
int program_find(const char *name, const char *path_list, const char *cwd,
	struct program *ret_program) MUST_CHECK;
/* Runs code that is handed to it: shells, python, node ... by the name of the real file. */
bool program_is_interpreter(const char *real_path);
