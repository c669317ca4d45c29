/*
 * The only way out of a command's network namespace. It listens on the namespace's
 * loopback, reads what clients want (net/proxy.h), asks for a connection (net/broker.h)
 * and carries bytes. It cannot open a socket itself.
 *
 *	READING --request--> ASKING --descriptor--> CARRYING --both ends done--> (free)
 */
#pragma once

#include "base/attr.h"

/* Until the broker goes away; 0, or -errno. The descriptors are borrowed. */
int egress_run(int listener, int broker) MUST_CHECK;
