#include "tests/support/cmocka.h"

#include <string.h>

#include "base/attr.h"
#include "net/address.h"
#include "net/connect.h"
#include "net/host.h"
#include "net/proxy.h"

static void every_odd_spelling_of_an_address_has_its_class(void **state)
{
	static const struct {
		const char *text;
		enum address_class class;
	} cases[] = {
		{ "127.0.0.1", ADDRESS_LOOPBACK },
		{ "2130706433", ADDRESS_LOOPBACK },
		{ "0x7f000001", ADDRESS_LOOPBACK },
		{ "0x7f.1", ADDRESS_LOOPBACK },
		{ "0177.0.0.1", ADDRESS_LOOPBACK },
		{ "127.1", ADDRESS_LOOPBACK },
		{ "127.0.0.1.", ADDRESS_LOOPBACK },
		{ "[::1]", ADDRESS_LOOPBACK },
		{ "::ffff:127.0.0.1", ADDRESS_LOOPBACK },
		{ "::127.0.0.1", ADDRESS_LOOPBACK },
		{ "64:ff9b::7f00:1", ADDRESS_LOOPBACK },
		{ "64:ff9b:1::a00:1", ADDRESS_PRIVATE },
		{ "2002:7f00:1::", ADDRESS_LOOPBACK },
		{ "2001:0:1:2:3:4:80ff:fffe", ADDRESS_LOOPBACK }, /* Teredo of 127.0.0.1 */
		{ "0", ADDRESS_UNSPECIFIED },
		{ "::", ADDRESS_UNSPECIFIED },
		{ "10.1.2.3", ADDRESS_PRIVATE },
		{ "172.31.255.255", ADDRESS_PRIVATE },
		{ "172.32.0.0", ADDRESS_PUBLIC },
		{ "192.168.1.1", ADDRESS_PRIVATE },
		{ "100.64.0.1", ADDRESS_PRIVATE },
		{ "fd00::1", ADDRESS_PRIVATE },
		{ "169.254.169.254", ADDRESS_METADATA },
		{ "::ffff:a9fe:a9fe", ADDRESS_METADATA },
		{ "fd00:ec2::254", ADDRESS_METADATA },
		{ "169.254.1.1", ADDRESS_LINK_LOCAL },
		{ "fe80::1%lo", ADDRESS_LINK_LOCAL },
		{ "224.0.0.1", ADDRESS_MULTICAST },
		{ "ff02::1", ADDRESS_MULTICAST },
		{ "255.255.255.255", ADDRESS_RESERVED },
		{ "192.0.0.192", ADDRESS_RESERVED },
		{ "2001:db8::1", ADDRESS_RESERVED },
		{ "8.8.8.8", ADDRESS_PUBLIC },
		{ "2606:4700::1111", ADDRESS_PUBLIC },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct sockaddr_storage address;
		socklen_t size;

		assert_int_equal(address_parse(cases[i].text, &address, &size), 0);
		assert_string_equal(
			address_class_name(address_classify((const struct sockaddr *)&address)),
			address_class_name(cases[i].class));
	}
}

static void hosts_have_one_spelling(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
	} cases[] = {
		{ "Example.ORG.", "example.org", 0 },
		{ "example.org:8080", "example.org", 8080 },
		{ "[::1]:80", "::1", 80 },
		{ "0x7f.1:80", "127.0.0.1", 80 },
		{ ".example.org", ".example.org", 0 },
	};
	static const char *const refused[] = { "", ".", "a..b", "a b", "a/b", "-a.b", "a:0",
		"a:65536", "a:x", "[::1", "[::1]x", "a@b", "a%b", "[a.b]", "[.a]", "\xc3\xa4.de" };
	char host[HOST_SIZE];
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		assert_int_equal(host_parse(cases[i].text, host, &port, NULL), 0);
		assert_string_equal(host, cases[i].host);
		assert_int_equal(port, cases[i].port);
	}
	for (size_t i = 0; i < N_ELEMENTS(refused); i++)
		assert_int_equal(host_parse(refused[i], host, &port, NULL), -EINVAL);
}

static void a_list_allows_what_it_names_and_nothing_else(void **state)
{
	static const struct grant_host list[] = { { .host = "example.org" },
		{ .host = ".corp.test", .port = 8443 } };

	(void)state;
	assert_non_null(host_allowed(list, 2, "example.org", 443));
	assert_non_null(host_allowed(list, 2, "example.org", 80));
	assert_null(host_allowed(list, 2, "example.org", 22));
	assert_null(host_allowed(list, 2, "www.example.org", 443));
	assert_null(host_allowed(list, 2, "badexample.org", 443));
	assert_non_null(host_allowed(list, 2, "a.corp.test", 8443));
	assert_null(host_allowed(list, 2, "corp.test", 8443));
	assert_null(host_allowed(list, 2, ".corp.test", 8443));
	assert_null(host_allowed(list, 2, "a.corp.test", 443));
	assert_null(host_allowed(list, 0, "example.org", 443));
}

static void a_private_address_is_dialled_only_when_it_is_listed_itself(void **state)
{
	static const struct grant_host name[] = { { .host = "localhost", .port = 9 } };
	int fd = -1;

	(void)state;
	assert_int_equal(
		net_connect(name, 1, "localhost", 9, 1000, &fd, NULL), NET_E_ADDRESS_DENIED);
	assert_int_equal(net_connect(name, 1, "localhost", 10, 1000, &fd, NULL), NET_E_HOST_DENIED);
	assert_int_equal(net_connect(name, 1, "127.0.0.1", 9, 1000, &fd, NULL), NET_E_HOST_DENIED);
	assert_int_equal(fd, -1);
}

static void a_proxy_request_names_one_host(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool greeted;
		enum proxy_kind kind;
		const char *host;
		uint16_t port;
	} cases[] = {
#define TEXT(t) t, sizeof(t) - 1
		{ TEXT("CONNECT a.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\n"), false, PROXY_CONNECT,
			"a.test", 443 },
		{ TEXT("CONNECT [::1]:443 HTTP/1.1\r\n\r\n"), false, PROXY_CONNECT, "::1", 443 },
		{ TEXT("CONNECT a.test HTTP/1.1\r\n\r\n"), false, PROXY_REFUSED, NULL, 0 },
		{ TEXT("CONNECT .test:443 HTTP/1.1\r\n\r\n"), false, PROXY_REFUSED, NULL, 0 },
		{ TEXT("CONNECT a.test:443"), false, PROXY_MORE, NULL, 0 },
		{ TEXT("GET http://a.test/x HTTP/1.1\r\n\r\n"), false, PROXY_HTTP, "a.test", 80 },
		{ TEXT("GET http://a.test:81?x HTTP/1.1\r\n\r\n"), false, PROXY_HTTP, "a.test",
			81 },
		{ TEXT("GET http://a.test@b.test/ HTTP/1.1\r\n\r\n"), false, PROXY_REFUSED, NULL,
			0 },
		{ TEXT("GET http://a.test\\@b.test/ HTTP/1.1\r\n\r\n"), false, PROXY_REFUSED, NULL,
			0 },
		{ TEXT("GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"), false, PROXY_REFUSED, NULL, 0 },
		{ TEXT("\5\1\0"), false, PROXY_SOCKS_HELLO, NULL, 0 },
		{ TEXT("\5\1\2"), false, PROXY_REFUSED, NULL, 0 },
		{ TEXT("\5\1\0\3\6a.test\1\xbb"), true, PROXY_SOCKS, "a.test", 443 },
		{ TEXT("\5\1\0\1\x7f\0\0\1\0\x50"), true, PROXY_SOCKS, "127.0.0.1", 80 },
		{ TEXT("\5\1\0\3\6a\0test\1\xbb"), true, PROXY_REFUSED, NULL, 0 },
		{ TEXT("\5\2\0\1\x7f\0\0\1\0\x50"), true, PROXY_REFUSED, NULL, 0 },
		{ TEXT("\5\1\0\1\x7f\0\0\1\0\0"), true, PROXY_REFUSED, NULL, 0 },
		{ TEXT("\4\1\0\x50\x7f\0\0\1"), false, PROXY_MORE, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct proxy_request q;

		assert_int_equal(proxy_parse((const uint8_t *)cases[i].bytes, cases[i].n,
					 cases[i].greeted, &q),
			cases[i].kind);
		if (!cases[i].host)
			continue;
		assert_string_equal(q.host, cases[i].host);
		assert_int_equal(q.port, cases[i].port);
	}
}

static void a_request_for_a_url_becomes_one_for_a_path(void **state)
{
	static const char *const cases[][2] = {
		{ "GET http://a.test/x HTTP/1.1\r\nA: b\r\n\r\nrest",
			"GET /x HTTP/1.1\r\nConnection: close\r\nA: b\r\n\r\nrest" },
		{ "GET http://a.test HTTP/1.1\r\n\r\n",
			"GET / HTTP/1.1\r\nConnection: close\r\n\r\n" },
		{ "GET http://a.test?q HTTP/1.1\r\n\r\n",
			"GET /?q HTTP/1.1\r\nConnection: close\r\n\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		uint8_t bytes[256];
		struct proxy_request q;
		size_t n = strlen(cases[i][0]);

		memcpy(bytes, cases[i][0], n);
		assert_int_equal(proxy_parse(bytes, n, false, &q), PROXY_HTTP);
		n = proxy_rewrite(bytes, n, &q);
		assert_int_equal(n, strlen(cases[i][1]));
		assert_memory_equal(bytes, cases[i][1], n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_odd_spelling_of_an_address_has_its_class),
		cmocka_unit_test(hosts_have_one_spelling),
		cmocka_unit_test(a_list_allows_what_it_names_and_nothing_else),
		cmocka_unit_test(a_private_address_is_dialled_only_when_it_is_listed_itself),
		cmocka_unit_test(a_proxy_request_names_one_host),
		cmocka_unit_test(a_request_for_a_url_becomes_one_for_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
