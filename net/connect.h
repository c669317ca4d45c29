/*
 * Connecting out: name resolved once in a confined process, every address
 * classified, the *connected* descriptor returned. Blocks; call it on a thread.
 */
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "base/errors.h"
#include "base/grant.h"

enum net_condition {
	NET_E_HOST_DENIED = 1,	/* not on the list */
	NET_E_ADDRESS_DENIED,	/* resolves to an address that may not be reached */
	NET_E_UNRESOLVED,
	NET_E_UNREACHABLE,
};

int net_connect(const struct grant_host *hosts, size_t n_hosts, const char *host, uint16_t port,
	uint64_t timeout_ms, int *ret_fd, struct diag *reterr_diag) MUST_CHECK;
