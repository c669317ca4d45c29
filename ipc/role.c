#include "ipc/role.h"

#include <errno.h>
#include <string.h>

static const char *const names[ROLE_N_] = {
	[ROLE_NONE] = "none",
	[ROLE_AGENT] = "agent",
	[ROLE_SUB_AGENT] = "sub_agent",
	[ROLE_JUDGE] = "judge",
	[ROLE_CLIENT] = "client",
	[ROLE_APPROVER] = "approver",
	[ROLE_WORKER] = "worker",
	[ROLE_ENGINE] = "engine",
};

const char *role_name(enum role role)
{
	return (unsigned)role < ROLE_N_ ? names[role] : "none";
}

int role_parse(const char *name, enum role *ret_role)
{
	for (enum role role = ROLE_AGENT; role < ROLE_ENGINE; role++) {
		if (strcmp(name, names[role]) == 0) {
			*ret_role = role;
			return 0;
		}
	}
	return -EINVAL;
}
