/*
 * The canary: the same forbidden deeds tried twice - by an unconfined twin, where they
 * must work (the positive control), and by the confined process, where they must not.
 *
 *	control worked, confined did not	blocked: the guarantee is proved
 *	control worked, confined did too	failed: it is broken
 *	control did not work			skipped: impossible here anyway
 *
 * The twin makes targets of its own in a temporary directory and on loopback; no
 * probe ever goes to an address outside.
 */
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include "sandbox/sandbox.h"

#define CANARY_PROBES_MAX 48

/* What the probes aim at; made by the twin. */
struct canary_targets {
	char dir[64]; /* "" when none could be made */
	char secret[96], victim[96], fresh[96], renamed[96], linked[96], socket_path[96],
		environ_path[64];
	char abstract[32];
	uint16_t tcp_port, udp_port;
	pid_t twin;
	int inherited_fd; /* open before the lock-down, not in the plan */
};

#define CANARY_VARIABLE "INTERLOCK_CANARY_SECRET"

/* 0 when the deed was done, else the errno that stopped it. */
typedef int (*canary_try_fn)(const struct canary_targets *t);

struct canary_probe {
	const char *name;
	enum il_guarantee guarantee;
	canary_try_fn try;
	unsigned profiles;     /* bit a profile: must be blocked there */
	bool control_is_given; /* works outside by construction: nothing to try in the twin */
};

/* Ended by a NULL name. */
extern const struct canary_probe canary_probes[];
