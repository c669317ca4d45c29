/*
 * Hosts as text, in every notation that programs accept: 0x7f.1, 017700000001,
 * [::ffff:7f00:1], names that carry an address (nip.io). Nothing is resolved here.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shield/judgement.h"

/* inet_aton() semantics: one to four parts, each decimal, octal or hexadecimal. */
static bool parse_v4(const char *text, uint32_t *ret_address)
{
	uint64_t parts[4];
	size_t n = 0;
	uint64_t address = 0;

	while (n < 4) {
		char *end;

		if (!isdigit((unsigned char)*text))
			return false;
		parts[n] = strtoull(text, &end, 0);
		if (parts[n] > UINT32_MAX)
			return false;
		n++;
		text = end;
		if (*text != '.')
			break;
		text++;
	}
	if (*text != '\0')
		return false;
	for (size_t i = 0; i + 1 < n; i++) {
		if (parts[i] > 255)
			return false;
		address |= parts[i] << (24 - 8 * i);
	}
	if (n < 4 ? parts[n - 1] >= (uint64_t)1 << (8 * (5 - n)) : parts[3] > 255)
		return false;
	*ret_address = (uint32_t)(address | parts[n - 1]);
	return true;
}

/* An address spelled into a name: 169.254.169.254.nip.io, app-10-0-0-1.sslip.io. */
static bool parse_v4_name(const char *host, uint32_t *ret_address)
{
	static const char *const suffixes[] = { ".nip.io", ".sslip.io", ".xip.io", ".localtest.me",
		".lvh.me", ".rbndr.us" };
	size_t n = strlen(host);
	unsigned parts[4], count = 0;
	bool found = false;

	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		size_t n_suffix = strlen(suffixes[i]);

		if (n > n_suffix && strcasecmp(host + n - n_suffix, suffixes[i]) == 0)
			found = true;
	}
	if (!found)
		return false;
	/* Without a readable address such a name means "wherever I say": take it as internal. */
	*ret_address = 0x7f000001;
	for (const char *at = host; *at && count < 4;) {
		char *end;

		if (!isdigit((unsigned char)*at)) {
			at++;
			count = 0;
			continue;
		}
		parts[count++] = (unsigned)strtoul(at, &end, 10);
		at = end;
		if (*at != '.' && *at != '-')
			break;
		at++;
	}
	if (count == 4)
		*ret_address = parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3];
	return true;
}

static bool is_v4_internal(uint32_t a)
{
	static const struct {
		uint32_t net, mask;
	} nets[] = {
		{ 0x00000000, 0xff000000 }, { 0x0a000000, 0xff000000 }, { 0x64400000, 0xffc00000 },
		{ 0x7f000000, 0xff000000 }, { 0xa9fe0000, 0xffff0000 }, { 0xac100000, 0xfff00000 },
		{ 0xc0000000, 0xffffff00 }, { 0xc0a80000, 0xffff0000 }, { 0xc6120000, 0xfffe0000 },
		{ 0xe0000000, 0xe0000000 },
	};

	for (size_t i = 0; i < N_ELEMENTS(nets); i++) {
		if ((a & nets[i].mask) == nets[i].net)
			return true;
	}
	return false;
}

static bool parse_v6(const char *host, struct in6_addr *ret_address)
{
	char text[INET6_ADDRSTRLEN + 8];
	size_t n = strcspn(host, "%");

	if (n >= sizeof(text))
		return false;
	memcpy(text, host, n);
	text[n] = '\0';
	return inet_pton(AF_INET6, text, ret_address) == 1;
}

/* The IPv4 address inside ::ffff:a, ::a, 64:ff9b::a and 2002:a::. */
static bool v4_inside(const struct in6_addr *six, uint32_t *ret_address)
{
	const uint8_t *b = six->s6_addr;
	static const uint8_t zero[10];

	if (memcmp(b, zero, 10) == 0 &&
		((b[10] == 0xff && b[11] == 0xff) || (b[10] == 0 && b[11] == 0))) {
		*ret_address = (uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 |
			       (uint32_t)b[14] << 8 | b[15];
		return true;
	}
	if (b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b) {
		*ret_address = (uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 |
			       (uint32_t)b[14] << 8 | b[15];
		return true;
	}
	if (b[0] == 0x20 && b[1] == 0x02) {
		*ret_address = (uint32_t)b[2] << 24 | (uint32_t)b[3] << 16 |
			       (uint32_t)b[4] << 8 | b[5];
		return true;
	}
	return false;
}

bool is_host_loopback(const char *host)
{
	uint32_t four;
	struct in6_addr six;

	if (strcasecmp(host, "localhost") == 0 || strcasecmp(host, "localhost.") == 0 ||
		strcmp(host, "ip6-localhost") == 0)
		return true;
	if (parse_v4(host, &four))
		return four >> 24 == 127 || four == 0;
	if (!parse_v6(host, &six))
		return false;
	if (IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_UNSPECIFIED(&six))
		return true;
	return v4_inside(&six, &four) && four >> 24 == 127;
}

bool is_host_internal(const char *host)
{
	static const char *const suffixes[] = { ".internal", ".local", ".localhost", ".svc", ".lan",
		".intranet", ".corp", ".home.arpa" };
	size_t n = strlen(host);
	uint32_t four;
	struct in6_addr six;

	if (is_host_loopback(host))
		return true;
	if (parse_v4(host, &four) || parse_v4_name(host, &four))
		return is_v4_internal(four);
	if (parse_v6(host, &six)) {
		if (v4_inside(&six, &four) && is_v4_internal(four))
			return true;
		return (six.s6_addr[0] & 0xfe) == 0xfc || IN6_IS_ADDR_LINKLOCAL(&six) ||
		       IN6_IS_ADDR_MULTICAST(&six) || IN6_IS_ADDR_SITELOCAL(&six);
	}
	for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
		size_t n_suffix = strlen(suffixes[i]);

		if (n > n_suffix && strcasecmp(host + n - n_suffix, suffixes[i]) == 0)
			return true;
	}
	return strcasecmp(host, "metadata") == 0 || strcasecmp(host, "kubernetes") == 0;
}

bool is_host_metadata(const char *host)
{
	uint32_t four;
	struct in6_addr six;

	if (parse_v4(host, &four) || parse_v4_name(host, &four))
		return four >> 16 == 0xa9fe || four == 0x646464c8 || four == 0xc00000c0;
	if (parse_v6(host, &six)) {
		if (v4_inside(&six, &four) && four >> 16 == 0xa9fe)
			return true;
		return six.s6_addr[0] == 0xfd && six.s6_addr[1] == 0 && six.s6_addr[2] == 0x0e &&
		       six.s6_addr[3] == 0xc2;
	}
	return strcasecmp(host, "metadata.google.internal") == 0 ||
	       strcasecmp(host, "metadata.google.internal.") == 0 ||
	       strcasecmp(host, "metadata.goog") == 0 || strcasecmp(host, "metadata") == 0 ||
	       strcasecmp(host, "instance-data") == 0 || strcasecmp(host, "instance-data.ec2.internal") == 0;
}
