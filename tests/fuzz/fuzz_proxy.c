/*
 * What a command says to its proxy: whatever is understood names one host that host_parse()
 * itself would write so, and a rewritten request is still one for the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "net/proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rewrite(const uint8_t *bytes, size_t n, const struct proxy_request *q)
{
	uint8_t *copy = malloc(n + PROXY_GROWTH);
	size_t n_after;

	if (!copy)
		return;
	memcpy(copy, bytes, n);
	n_after = proxy_rewrite(copy, n, q);
	if (n_after > n + PROXY_GROWTH || !memmem(copy, n_after, "\r\nConnection: close", 19))
		abort();
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy_request q;
	enum proxy_kind kind;
	char host[HOST_SIZE];
	uint16_t port;

	if (size == 0)
		return 0;
	kind = proxy_parse(data + 1, size - 1, data[0] & 1, &q);
	if (q.consumed > size - 1 && kind != PROXY_MORE && kind != PROXY_REFUSED)
		abort();
	if (kind == PROXY_HTTP)
		check_rewrite(data + 1, size - 1, &q);
	if (kind != PROXY_CONNECT && kind != PROXY_HTTP && kind != PROXY_SOCKS)
		return 0;
	if (q.port == 0 || q.host[0] == '.')
		abort();
	if (host_parse(q.host, host, &port, NULL) != 0 || strcmp(host, q.host) != 0)
		abort();
	return 0;
}
