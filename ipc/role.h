/*
 * Roles: what a connection may do. A role comes from where the connection
 * arrived, then from its token; never from what the peer says of itself.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"

enum role {
	ROLE_NONE, /* 0: memory nobody wrote may do nothing */
	ROLE_AGENT,
	ROLE_SUB_AGENT,
	ROLE_JUDGE,
	ROLE_CLIENT,
	ROLE_APPROVER, /* a client that may answer approvals too */
	ROLE_WORKER,
	ROLE_ENGINE, /* the other end of all these */
	ROLE_N_
};

#define ROLE_BIT(role) (1u << (role))

const char *role_name(enum role role);
/* -EINVAL for a name that no peer may claim ("none", "engine" and unknown ones). */
int role_parse(const char *name, enum role *ret_role) MUST_CHECK;
