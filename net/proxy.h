/*
 * The first bytes that a client says to a proxy, in any of the languages that programs
 * speak: HTTP CONNECT, HTTP with an absolute URL, SOCKS5. Pure; hostile bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "net/host.h"

#define PROXY_REQUEST_MAX ((size_t)16 << 10)

enum proxy_kind {
	PROXY_MORE,    /* not yet whole */
	PROXY_REFUSED, /* no language that we know, or no host in it */
	PROXY_CONNECT,
	PROXY_HTTP,        /* the bytes themselves go on to the server */
	PROXY_SOCKS_HELLO, /* answer 5 0 and read on */
	PROXY_SOCKS,
};

struct proxy_request {
	char host[HOST_SIZE];
	uint16_t port;
	size_t consumed; /* what follows belongs to the connection */
	size_t authority, n_authority; /* PROXY_HTTP: where "http://host" stands */
};

/* `greeted`: a SOCKS hello was answered on this connection. */
enum proxy_kind proxy_parse(
	const uint8_t *bytes, size_t n, bool greeted, struct proxy_request *ret_request) MUST_CHECK;

/*
 * PROXY_HTTP: the request as a server expects it, with its path alone and for this one
 * request, since the next may be for another host. bytes has room for PROXY_GROWTH more.
 */
#define PROXY_GROWTH 32
size_t proxy_rewrite(uint8_t *bytes, size_t n, const struct proxy_request *request);
