/*
 * Host names and allow-lists: the one place where "may host:port be reached"
 * is answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/errors.h"
#include "base/grant.h"

#define HOST_SIZE 254 /* 253 bytes and NUL */

/*
 * "example.org", "example.org:8080", "[::1]:80", ".example.org" → host (lower case, IDN as
 * punycode only, no trailing dot; an address in canonical spelling) and port (0: none given).
 */
int host_parse(const char *text, char ret_host[static HOST_SIZE], uint16_t *ret_port,
	struct diag *reterr_diag) MUST_CHECK;
/* The first entry that allows host:port, or NULL. Port 0 of an entry stands for 80 and 443. */
const struct grant_host *host_allowed(const struct grant_host *hosts, size_t n_hosts,
	const char *host, uint16_t port);
