/*
 * What the arguments of a command ask the network for. This is advice before the start and
 * no boundary: under `preflight` the network is open at run time.
 */
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/errors.h"
#include "base/grant.h"

/* -EPERM with the host in reterr_diag for the first one that the list does not allow. */
int preflight_check(const char *const *argv, size_t n_argv, const struct grant_host *hosts,
	size_t n_hosts, struct diag *reterr_diag) MUST_CHECK;
