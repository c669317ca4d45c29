#include "net/proxy.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static enum proxy_kind host_of(
	const char *text, size_t n, uint16_t fallback, struct proxy_request *q)
{
	char copy[HOST_SIZE + 8];
	uint16_t port = 0;

	if (n == 0 || n >= sizeof(copy) || memchr(text, '\0', n))
		return PROXY_REFUSED;
	memcpy(copy, text, n);
	copy[n] = '\0';
	/* A leading dot stands for many names in lists; nobody can connect to it. */
	if (host_parse(copy, q->host, &port, NULL) != 0 || q->host[0] == '.')
		return PROXY_REFUSED;
	q->port = port ? port : fallback;
	return q->port ? PROXY_CONNECT : PROXY_REFUSED;
}

static enum proxy_kind parse_http(const char *text, size_t n, struct proxy_request *q)
{
	const char *end = text ? memmem(text, n, "\r\n\r\n", 4) : NULL, *space, *target;
	size_t n_target, n_authority;
	uint16_t port = 80;

	if (!end)
		return n < PROXY_REQUEST_MAX ? PROXY_MORE : PROXY_REFUSED;
	space = memchr(text, ' ', n);
	if (!space || space > end)
		return PROXY_REFUSED;
	target = space + 1;
	n_target = 0;
	while (target + n_target < end && target[n_target] > ' ')
		n_target++;
	if (target[n_target] != ' ')
		return PROXY_REFUSED;
	if (space - text == 7 && memcmp(text, "CONNECT", 7) == 0) {
		q->consumed = (size_t)(end - text) + 4;
		return host_of(target, n_target, 0, q);
	}
	if (n_target < 8 || strncasecmp(target, "http://", 7) != 0)
		return PROXY_REFUSED;
	target += 7;
	n_target -= 7;
	for (n_authority = 0; n_authority < n_target; n_authority++) {
		if (strchr("/?#\\@", target[n_authority]))
			break;
	}
	if (n_authority < n_target && (target[n_authority] == '@' || target[n_authority] == '\\'))
		return PROXY_REFUSED; /* two readers may see two hosts in it */
	q->consumed = 0;
	q->authority = (size_t)(target - 7 - text);
	q->n_authority = n_authority + 7;
	return host_of(target, n_authority, port, q) == PROXY_CONNECT ? PROXY_HTTP : PROXY_REFUSED;
}

static enum proxy_kind parse_hello(const uint8_t *b, size_t n, struct proxy_request *q)
{
	if (n < 2 || n < 2 + (size_t)b[1])
		return PROXY_MORE;
	q->consumed = 2 + (size_t)b[1];
	return memchr(b + 2, 0, b[1]) ? PROXY_SOCKS_HELLO : PROXY_REFUSED;
}

/* 5 1 0 type address port */
static enum proxy_kind parse_socks(const uint8_t *b, size_t n, struct proxy_request *q)
{
	char text[256];
	size_t n_address, start = 4;

	if (n < 5)
		return PROXY_MORE;
	if (b[1] != 1 || b[2] != 0)
		return PROXY_REFUSED;
	n_address = b[3] == 1 ? 4 : b[3] == 4 ? 16 : b[3] == 3 ? b[4] : 0;
	start += b[3] == 3;
	if (n_address == 0)
		return PROXY_REFUSED;
	if (n < start + n_address + 2)
		return PROXY_MORE;
	if (b[3] == 3) {
		memcpy(text, b + start, n_address);
		text[n_address] = '\0';
		/* A colon would be a second port. */
		if (memchr(text, ':', n_address) || memchr(text, '[', n_address))
			return PROXY_REFUSED;
	} else if (!inet_ntop(b[3] == 1 ? AF_INET : AF_INET6, b + start, text, sizeof(text))) {
		return PROXY_REFUSED;
	}
	q->consumed = start + n_address + 2;
	if (host_of(text, strlen(text) < n_address && b[3] == 3 ? n_address : strlen(text), 1, q) !=
		PROXY_CONNECT)
		return PROXY_REFUSED;
	q->port = (uint16_t)(b[start + n_address] << 8 | b[start + n_address + 1]);
	return q->port ? PROXY_SOCKS : PROXY_REFUSED;
}

enum proxy_kind proxy_parse(
	const uint8_t *bytes, size_t n, bool greeted, struct proxy_request *ret_request)
{
	*ret_request = (struct proxy_request){ 0 };
	if (n == 0)
		return PROXY_MORE;
	if (bytes[0] == 5)
		return greeted ? parse_socks(bytes, n, ret_request)
			       : parse_hello(bytes, n, ret_request);
	return greeted ? PROXY_REFUSED : parse_http((const char *)bytes, n, ret_request);
}

size_t proxy_rewrite(uint8_t *bytes, size_t n, const struct proxy_request *request)
{
	static const char once[] = "\r\nConnection: close";
	size_t at = request->authority, cut = request->n_authority, n_line;

	if (bytes[at + cut] != '/') /* no path, or a query alone */
		bytes[at + --cut] = '/';
	memmove(bytes + at, bytes + at + cut, n - at - cut);
	n -= cut;
	n_line = (size_t)((uint8_t *)memmem(bytes, n, "\r\n", 2) - bytes);
	memmove(bytes + n_line + sizeof(once) - 1, bytes + n_line, n - n_line);
	memcpy(bytes + n_line, once, sizeof(once) - 1);
	return n + sizeof(once) - 1;
}
