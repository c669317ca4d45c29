/*
 * Addresses by class: which of them are the public Internet and which are not
 * to be reached unless they were listed. Sources: the IANA special-purpose
 * registries (RFC 6890, 8190), RFC 6052 and 8215 (NAT64), RFC 3056 (6to4).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/attr.h"

enum address_class {
	ADDRESS_UNSPECIFIED, /* 0: what nobody classified is not public */
	ADDRESS_LOOPBACK,
	ADDRESS_PRIVATE,
	ADDRESS_LINK_LOCAL,
	ADDRESS_METADATA, /* cloud metadata services */
	ADDRESS_MULTICAST,
	ADDRESS_RESERVED,
	ADDRESS_PUBLIC,
	ADDRESS_CLASS_N_
};

/* v4-mapped, v4-compatible, NAT64, 6to4 and Teredo addresses count as the class of what they embed, if that is worse. */
enum address_class address_classify(const struct sockaddr *address);
const char *address_class_name(enum address_class c);

/*
 * An address in any spelling that a resolver or URL parser somewhere accepts: dotted, decimal,
 * hexadecimal, octal, short forms, bracketed IPv6, with zone. -EINVAL when text is a name.
 */
int address_parse(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_size) MUST_CHECK;
/* The one canonical spelling. */
int address_format(const struct sockaddr *address, char *ret_text, size_t size) MUST_CHECK;
