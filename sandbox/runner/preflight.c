#include "sandbox/runner/preflight.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/address.h"
#include "net/host.h"

#define TOKEN_SIZE 1024

struct preflight {
	const struct grant_host *hosts;
	size_t n_hosts;
	struct diag *diag;
};

static uint16_t port_of_scheme(const char *token, size_t n)
{
	static const struct {
		const char *scheme;
		uint16_t port;
	} ports[] = { { "http", 80 }, { "ws", 80 }, { "https", 443 }, { "wss", 443 }, { "ssh", 22 },
		{ "git+ssh", 22 }, { "sftp", 22 }, { "ftp", 21 }, { "git", 9418 } };

	for (size_t i = 0; i < N_ELEMENTS(ports); i++) {
		if (strlen(ports[i].scheme) == n && strncasecmp(token, ports[i].scheme, n) == 0)
			return ports[i].port;
	}
	return 0;
}

/* An unknown port asks only whether the host is listed with any. */
static bool allows(const struct preflight *p, const char *host, uint16_t port)
{
	for (size_t i = 0; port == 0 && i < p->n_hosts; i++) {
		if (host_allowed(&p->hosts[i], 1, host, p->hosts[i].port ? p->hosts[i].port : 443))
			return true;
	}
	return port != 0 && host_allowed(p->hosts, p->n_hosts, host, port);
}

static int check_host(const struct preflight *p, const char *text, size_t n, uint16_t port)
{
	char token[TOKEN_SIZE], host[HOST_SIZE];
	uint16_t given = 0;

	if (n == 0)
		return 0;
	if (n >= sizeof(token))
		return diag_set(p->diag, -EPERM, 0, 0, "an argument names a host that is too long");
	memcpy(token, text, n);
	token[n] = '\0';
	if (host_parse(token, host, &given, NULL) == 0 && allows(p, host, given ? given : port))
		return 0;
	return diag_set(p->diag, -EPERM, 0, 0,
		"the arguments ask for the host %.120s, which is not allowed", token);
}

/* scheme://user@host:port/path */
static int check_url(const struct preflight *p, const char *token, const char *colon)
{
	const char *start = colon + 3;
	size_t n = strcspn(start, "/?#\\");

	if (colon - token == 4 && strncasecmp(token, "file", 4) == 0)
		return 0;
	for (size_t i = n; i > 0; i--) {
		if (start[i - 1] == '@') {
			n -= i;
			start += i;
			break;
		}
	}
	return check_host(p, start, n, port_of_scheme(token, (size_t)(colon - token)));
}

/* Dots and a last label of letters: a name of the Internet rather than a word. */
static bool looks_like_domain(const char *text, size_t n)
{
	size_t dot = n;

	if (n == 9 && strncasecmp(text, "localhost", 9) == 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("-._", text[i]))
			return false;
		dot = text[i] == '.' ? i : dot;
	}
	if (dot == n || n - dot < 3)
		return false;
	for (size_t i = dot + 1; i < n; i++) {
		if (!isalpha((unsigned char)text[i]))
			return false;
	}
	return true;
}

static bool looks_like_address(const char *text, size_t n)
{
	struct sockaddr_storage address;
	char copy[64];
	socklen_t size;
	size_t dots = 0;

	if (n == 0 || n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	for (size_t i = 0; i < n; i++)
		dots += copy[i] == '.';
	/* Plain and short numbers are numbers, unless a URL says otherwise. */
	return (dots == 3 || strstr(copy, "::")) && address_parse(copy, &address, &size) == 0;
}

static bool is_port(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n <= 5 && text[n] == '\0';
}

static int check_token(const struct preflight *p, const char *token, bool named)
{
	const char *colon = strstr(token, "://"), *at = strchr(token, '@'), *start = token;
	size_t n;

	if (colon && strcspn(token, "/:?#") == (size_t)(colon - token))
		return check_url(p, token, colon);
	if (at && strcspn(token, "/:") > (size_t)(at - token))
		start = at + 1;
	n = strcspn(start, ":/");
	if (looks_like_address(start, strlen(start)))
		return check_host(p, start, strlen(start), 0);
	if (start[n] == ':' && is_port(start + n + 1) &&
		(looks_like_domain(start, n) || looks_like_address(start, n)))
		return check_host(p, start, strlen(start), 0);
	/* user@host and user@host:path; a name alone only where the option says that it is one. */
	if ((start != token || named) &&
		(looks_like_domain(start, n) || looks_like_address(start, n)))
		return check_host(p, start, n, 0);
	return 0;
}

/* --host, -proxy, http_proxy, BASE_URL ... */
static bool names_host(const char *key, size_t n)
{
	static const char *const hints[] = { "host", "hostname", "server", "endpoint", "url", "uri",
		"domain", "proxy", "address", "addr" };

	for (size_t from = 0; from < n;) {
		size_t to = from;

		while (to < n && isalnum((unsigned char)key[to]))
			to++;
		for (size_t i = 0; i < N_ELEMENTS(hints); i++) {
			if (strlen(hints[i]) == to - from &&
				strncasecmp(key + from, hints[i], to - from) == 0)
				return true;
		}
		from = to + 1;
	}
	return false;
}

int preflight_check(const char *const *argv, size_t n_argv, const struct grant_host *hosts,
	size_t n_hosts, struct diag *reterr_diag)
{
	struct preflight p = { .hosts = hosts, .n_hosts = n_hosts, .diag = reterr_diag };
	bool named = false;
	int r = 0;

	for (size_t i = 1; r == 0 && i < n_argv; i++) {
		const char *arg = argv[i], *equals = strchr(arg, '=');
		bool option = arg[0] == '-';

		if (!option || !equals)
			r = check_token(&p, arg, named && !option);
		if (r == 0 && equals)
			r = check_token(&p, equals + 1, names_host(arg, (size_t)(equals - arg)));
		/* -xHOST:PORT, the value glued to a short option */
		if (r == 0 && option && !equals && arg[1] != '-' && strlen(arg) > 2)
			r = check_token(&p, arg + 2, false);
		named = option && !equals && names_host(arg, strlen(arg));
	}
	return r;
}
