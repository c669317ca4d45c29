#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

static const char *const names[] = {
	[ADDRESS_UNSPECIFIED] = "unspecified",
	[ADDRESS_LOOPBACK] = "loopback",
	[ADDRESS_PRIVATE] = "private",
	[ADDRESS_LINK_LOCAL] = "link-local",
	[ADDRESS_METADATA] = "metadata",
	[ADDRESS_MULTICAST] = "multicast",
	[ADDRESS_RESERVED] = "reserved",
	[ADDRESS_PUBLIC] = "public",
};
_Static_assert(N_ELEMENTS(names) == ADDRESS_CLASS_N_, "name every class");

const char *address_class_name(enum address_class c)
{
	return (unsigned)c < ADDRESS_CLASS_N_ ? names[c] : "unknown";
}

/* The first match counts. */
static const struct {
	uint32_t network;
	unsigned bits;
	enum address_class class;
} ranges4[] = {
	{ 0xa9fea9fe, 32, ADDRESS_METADATA }, /* 169.254.169.254 */
	{ 0xa9feaa02, 32, ADDRESS_METADATA }, /* 169.254.170.2, containers */
	{ 0x646464c8, 32, ADDRESS_METADATA }, /* 100.100.100.200 */
	{ 0xc0000000, 24, ADDRESS_RESERVED }, /* 192.0.0.0, with 192.0.0.192 of one cloud */
	{ 0x00000000, 8, ADDRESS_UNSPECIFIED },
	{ 0x0a000000, 8, ADDRESS_PRIVATE },
	{ 0x64400000, 10, ADDRESS_PRIVATE }, /* shared address space */
	{ 0x7f000000, 8, ADDRESS_LOOPBACK },
	{ 0xa9fe0000, 16, ADDRESS_LINK_LOCAL },
	{ 0xac100000, 12, ADDRESS_PRIVATE },
	{ 0xc0000200, 24, ADDRESS_RESERVED },
	{ 0xc0586300, 24, ADDRESS_RESERVED }, /* 6to4 relays */
	{ 0xc0a80000, 16, ADDRESS_PRIVATE },
	{ 0xc6120000, 15, ADDRESS_RESERVED },
	{ 0xc6336400, 24, ADDRESS_RESERVED },
	{ 0xcb007100, 24, ADDRESS_RESERVED },
	{ 0xe0000000, 4, ADDRESS_MULTICAST },
	{ 0xf0000000, 4, ADDRESS_RESERVED },
};

static enum address_class classify4(uint32_t address)
{
	for (size_t i = 0; i < N_ELEMENTS(ranges4); i++) {
		if ((address ^ ranges4[i].network) >> (32 - ranges4[i].bits) == 0)
			return ranges4[i].class;
	}
	return ADDRESS_PUBLIC;
}

static uint32_t be32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool starts(const uint8_t *address, const char *prefix, size_t n)
{
	return memcmp(address, prefix, n) == 0;
}

/* What an address of a translation mechanism stands for; false when it embeds none. */
static bool embedded4(const uint8_t *a, uint32_t *ret_address)
{
	static const char zero[12] = "", mapped[12] = "\0\0\0\0\0\0\0\0\0\0\xff\xff",
			  translated[12] = "\0\0\0\0\0\0\0\0\xff\xff\0\0",
			  nat64[12] = "\0\x64\xff\x9b\0\0\0\0\0\0\0\0";

	if (starts(a, mapped, 12) || starts(a, translated, 12) || starts(a, nat64, 12) ||
		starts(a, "\0\x64\xff\x9b\0\1", 6) || (starts(a, zero, 12) && be32(a + 12) > 1))
		*ret_address = be32(a + 12);
	else if (starts(a, "\x20\x02", 2)) /* 6to4 */
		*ret_address = be32(a + 2);
	else if (starts(a, "\x20\x01\0\0", 4)) /* Teredo: the client, inverted */
		*ret_address = ~be32(a + 12);
	else
		return false;
	return true;
}

static enum address_class classify6(const uint8_t *a)
{
	static const uint8_t zero[16] = { 0 }, one[16] = { [15] = 1 },
			     metadata[16] = { 0xfd, 0, 0x0e, 0xc2, [14] = 2, [15] = 0x54 };
	uint32_t inner;

	if (memcmp(a, zero, 16) == 0)
		return ADDRESS_UNSPECIFIED;
	if (memcmp(a, one, 16) == 0)
		return ADDRESS_LOOPBACK;
	if (memcmp(a, metadata, 16) == 0)
		return ADDRESS_METADATA;
	if (embedded4(a, &inner))
		return classify4(inner);
	if (a[0] == 0xff)
		return ADDRESS_MULTICAST;
	if (a[0] == 0xfe && (a[1] & 0xc0) == 0x80)
		return ADDRESS_LINK_LOCAL;
	if ((a[0] & 0xfe) == 0xfc || (a[0] == 0xfe && (a[1] & 0xc0) == 0xc0))
		return ADDRESS_PRIVATE;
	if (starts(a, "\x20\x01\x0d\xb8", 4) || starts(a, "\x3f\xff", 2) ||
		(starts(a, "\x20\x01", 2) && a[2] < 2))
		return ADDRESS_RESERVED;
	return (a[0] & 0xe0) == 0x20 ? ADDRESS_PUBLIC : ADDRESS_RESERVED;
}

enum address_class address_classify(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, address, sizeof(in));
		return classify4(ntohl(in.sin_addr.s_addr));
	}
	if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, address, sizeof(in6));
		return classify6(in6.sin6_addr.s6_addr);
	}
	return ADDRESS_UNSPECIFIED;
}

/* "[::1]" and "::1%zone" without brackets and zone; false when they do not pair. */
static bool strip(const char *text, char *ret_text, size_t size, char *ret_zone)
{
	size_t n = strlen(text);
	char *zone;

	if (n > 0 && text[0] == '[') {
		if (text[n - 1] != ']')
			return false;
		text++;
		n -= 2;
	}
	if (n == 0 || n >= size)
		return false;
	memcpy(ret_text, text, n);
	ret_text[n] = '\0';
	ret_zone[0] = '\0';
	zone = strchr(ret_text, '%');
	if (!zone)
		return true;
	*zone = '\0';
	if (strlen(zone + 1) >= IF_NAMESIZE)
		return false;
	memcpy(ret_zone, zone + 1, strlen(zone + 1) + 1);
	return strchr(ret_text, ':') != NULL;
}

int address_parse(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_size)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	char bare[128], zone[IF_NAMESIZE];
	size_t n;

	if (!strip(text, bare, sizeof(bare), zone))
		return -EINVAL;
	memset(ret_address, 0, sizeof(*ret_address));
	if (strchr(bare, ':')) {
		if (inet_pton(AF_INET6, bare, &in6.sin6_addr) != 1)
			return -EINVAL;
		in6.sin6_scope_id = zone[0] ? if_nametoindex(zone) : 0;
		memcpy(ret_address, &in6, sizeof(in6));
		*ret_size = sizeof(in6);
		return 0;
	}
	n = strlen(bare);
	if (n > 1 && bare[n - 1] == '.')
		bare[n - 1] = '\0';
	/* inet_aton() stops at blanks; nobody writes an address with one. */
	if (strpbrk(bare, " \t\n") || inet_aton(bare, &in.sin_addr) == 0)
		return -EINVAL;
	memcpy(ret_address, &in, sizeof(in));
	*ret_size = sizeof(in);
	return 0;
}

int address_format(const struct sockaddr *address, char *ret_text, size_t size)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	const void *bytes;

	memset(&in, 0, sizeof(in));
	memset(&in6, 0, sizeof(in6));
	if (address->sa_family == AF_INET) {
		memcpy(&in, address, sizeof(in));
		bytes = &in.sin_addr;
	} else if (address->sa_family == AF_INET6) {
		memcpy(&in6, address, sizeof(in6));
		bytes = &in6.sin6_addr;
	} else {
		return -EAFNOSUPPORT;
	}
	return inet_ntop(address->sa_family, bytes, ret_text, (socklen_t)size) ? 0 : -errno;
}
