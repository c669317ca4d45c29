#include "net/connect.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/address.h"
#include "net/host.h"

/* May this very address be dialled for a name that is allowed? */
static bool address_fits(const struct grant_host *hosts, size_t n_hosts,
	const struct grant_host *entry, const struct sockaddr *address, uint16_t port)
{
	enum address_class class = address_classify(address);
	char text[HOST_SIZE];

#ifdef MUTATION_ADDRESS_CLASS
	return true;
#endif
	if (class == ADDRESS_PUBLIC)
		return true;
	if (entry->private_ok && (class == ADDRESS_PRIVATE || class == ADDRESS_LOOPBACK ||
					 class == ADDRESS_LINK_LOCAL))
		return true;
	return address_format(address, text, sizeof(text)) == 0 &&
	       host_allowed(hosts, n_hosts, text, port) != NULL;
}

static int dial(const struct addrinfo *a, uint64_t deadline_ms, int *ret_fd)
{
	auto_close int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	uint64_t now = clock_monotonic_ms(&clock_system);
	int error = 0;
	socklen_t size = sizeof(error);

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	if (now >= deadline_ms || poll(&p, 1, (int)(deadline_ms - now)) <= 0)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	if (error != 0)
		return -error;
	*ret_fd = take_fd(fd);
	return 0;
}

int net_connect(const struct grant_host *hosts, size_t n_hosts, const char *host, uint16_t port,
	uint64_t timeout_ms, int *ret_fd, struct diag *reterr_diag)
{
	const struct grant_host *entry = host_allowed(hosts, n_hosts, host, port);
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	uint64_t deadline = clock_monotonic_ms(&clock_system) + timeout_ms;
	int r = NET_E_ADDRESS_DENIED;
	char service[8];

	if (!entry)
		return diag_set(reterr_diag, NET_E_HOST_DENIED, 0, 0, "%.120s:%u is not allowed",
			host, (unsigned)port);
	(void)snprintf(service, sizeof(service), "%u", (unsigned)port);
	if (getaddrinfo(host, service, &hints, &list) != 0)
		return diag_set(reterr_diag, NET_E_UNRESOLVED, 0, 0, "%.120s has no address", host);
	/* The addresses of this one answer are checked and dialled; nothing asks again. */
	for (const struct addrinfo *a = list; a && r != 0; a = a->ai_next) {
		if (address_fits(hosts, n_hosts, entry, a->ai_addr, port))
			r = dial(a, deadline, ret_fd) == 0 ? 0 : NET_E_UNREACHABLE;
	}
	freeaddrinfo(list);
	if (r == 0)
		return 0;
	return diag_set(reterr_diag, r, 0, 0,
		r == NET_E_UNREACHABLE ? "%.120s:%u does not answer"
				       : "%.120s:%u has no address that may be reached",
		host, (unsigned)port);
}
