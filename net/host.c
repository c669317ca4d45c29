#include "net/host.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "net/address.h"

static int refuse(struct diag *diag, const char *text, const char *why)
{
	return diag_set(diag, -EINVAL, 0, 0, "\"%.120s\" is no host: %s", text, why);
}

/* Cuts "[address]:port" or "name:port" apart. More than one colon without brackets is an address.
 */
static int split(const char *text, char *host, uint16_t *ret_port, struct diag *diag)
{
	const char *start = text, *end = text + strlen(text), *port = NULL;
	uint32_t number = 0;

	if (text[0] == '[') {
		start = text + 1;
		end = strchr(text, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return refuse(diag, text, "the bracket is not closed");
		port = end[1] == ':' ? end + 2 : NULL;
	} else if (strchr(text, ':') && strchr(text, ':') == strrchr(text, ':')) {
		end = strchr(text, ':');
		port = end + 1;
	}
	if (port && num_parse_u32(port, 1, 65535, &number) != 0)
		return refuse(diag, text, "the port is not between 1 and 65535");
	if (end == start || (size_t)(end - start) >= HOST_SIZE)
		return refuse(diag, text, "it is empty or too long");
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = '\0';
	*ret_port = (uint16_t)number;
	return 0;
}

static bool is_label(const char *label, size_t n)
{
	if (n == 0 || n > 63 || label[0] == '-' || label[n - 1] == '-')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)label[i]) && label[i] != '-' && label[i] != '_')
			return false;
	}
	return true;
}

static bool is_name(const char *name)
{
	name += name[0] == '.';
	for (;;) {
		size_t n = strcspn(name, ".");

		if (!is_label(name, n))
			return false;
		if (name[n] == '\0')
			return true;
		name += n + 1;
	}
}

int host_parse(const char *text, char ret_host[static HOST_SIZE], uint16_t *ret_port,
	struct diag *reterr_diag)
{
	struct sockaddr_storage address;
	char host[HOST_SIZE];
	socklen_t size;
	uint16_t port = 0;
	size_t n;
	int r = split(text, host, &port, reterr_diag);

	if (r != 0)
		return r;
	n = strlen(host);
	if (n > 1 && host[n - 1] == '.')
		host[--n] = '\0';
	if (address_parse(host, &address, &size) == 0) {
		r = address_format((const struct sockaddr *)&address, host, sizeof(host));
		if (r != 0)
			return r;
	} else if (text[0] == '[' || !is_name(host)) {
		return refuse(
			reterr_diag, text, "only letters, digits, dashes and dots make a name");
	}
	for (char *c = host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	memcpy(ret_host, host, strlen(host) + 1);
	*ret_port = port;
	return 0;
}

static bool matches(const char *entry, const char *host)
{
	size_t n_entry = strlen(entry), n_host = strlen(host);

	if (entry[0] != '.')
		return strcmp(entry, host) == 0;
	/* At least one label stands before the suffix. */
	return n_host > n_entry && strcmp(host + n_host - n_entry, entry) == 0;
}

const struct grant_host *host_allowed(
	const struct grant_host *hosts, size_t n_hosts, const char *host, uint16_t port)
{
	for (size_t i = 0; i < n_hosts; i++) {
		bool port_fits =
			hosts[i].port == 0 ? port == 80 || port == 443 : hosts[i].port == port;

		if (port_fits && matches(hosts[i].host, host))
			return &hosts[i];
	}
	return NULL;
}
