#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "base/programs.h"
#include "clients/commands.h"

#define INTERNAL "internal-"

/* Sub-agents and judges are the agent program in another role. */
static const char *program_of(const char *command)
{
	const char *role = command + strlen(INTERNAL);

	if (strcmp(role, "sub-agent") == 0 || strcmp(role, "judge") == 0)
		return "interlock-agent";
	return NULL;
}

int cmd_internal(int argc, char **argv)
{
	auto_free char *name = NULL;
	auto_free char *path = NULL;
	const char *other = program_of(argv[0]);
	int r;

	(void)argc;
	if (asprintf(&name, "interlock-%s", argv[0] + strlen(INTERNAL)) < 0)
		return EXIT_STATUS_FAILED;
	r = program_path(other ? other : name, &path);
	if (r != 0) {
		(void)fprintf(stderr, "interlock: %s is not installed: %s\n", other ? other : name,
			strerror(-r));
		return EXIT_STATUS_FAILED;
	}
	(void)execv(path, argv);
	(void)fprintf(stderr, "interlock: cannot start %s: %s\n", path, strerror(errno));
	return EXIT_STATUS_FAILED;
}
