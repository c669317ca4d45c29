#include "base/programs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static int take_if_executable(char **candidate, char **ret_path)
{
	if (access(*candidate, X_OK) < 0)
		return -errno;
	*ret_path = take_ptr(*candidate);
	return 0;
}

int program_path(const char *name, char **ret_path)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return -errno;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	for (size_t i = 0; i < 3; i++) {
		auto_free char *candidate = NULL;
		int made;

		if (i == 0)
			made = asprintf(&candidate, "%s/%s", self, name);
		else if (i == 1)
			made = asprintf(&candidate, "%s/../libexec/interlock/%s", self, name);
		else
			made = asprintf(&candidate, "%s/%s", INTERLOCK_LIBEXECDIR, name);
		if (made < 0)
			return -ENOMEM;
		if (take_if_executable(&candidate, ret_path) == 0)
			return 0;
	}
	return -ENOENT;
}
