#include "tests/support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/arms.h"
#include "base/grant.h"

static const char *const roots[] = { "/home/u/app", "/tmp/private" };
static const struct grant_path wide_paths[] = {
	{ .root = 0, .path = "", .rights = GRANT_WRITABLE },
	{ .root = 0, .path = "secret", .rights = 0, .hide = true },
	{ .root = 1, .path = "", .rights = GRANT_WRITABLE },
};
static const struct grant_host wide_hosts[] = {
	{ .host = ".example.org", .port = 443 },
	{ .host = "registry.test", .port = 0 },
};

static struct grant ceiling(void)
{
	return (struct grant){ .profile = "ceiling",
		.roots = roots,
		.n_roots = 2,
		.paths = wide_paths,
		.n_paths = 3,
		.system_readable = true,
		.net = GRANT_NET_HOSTS,
		.hosts = wide_hosts,
		.n_hosts = 2,
		.may_spawn = true,
		.interpreters = true,
		.git = GRANT_GIT_COMMIT,
		.limits = { .wall_ms = 1000 } };
}

static void a_grant_is_a_subset_of_itself(void **state)
{
	struct grant c = ceiling();
	struct diag diag = { 0 };

	(void)state;
	if (!grant_subset(&c, &c, &diag))
		fail_msg("%s", diag.text);
}

static void each_widening_is_found(void **state)
{
	static const struct grant_path elsewhere[] = {
		{ .root = 0, .path = "", .rights = GRANT_READ }
	};
	static const char *const other_roots[] = { "/home/u/application" };
	static const struct grant_path unhidden[] = {
		{ .root = 0, .path = "", .rights = GRANT_READ }
	};
	static const struct grant_host other_port[] = { { .host = "a.example.org", .port = 22 } };
	static const struct grant_host other_host[] = { { .host = "evilexample.org",
		.port = 443 } };
	static const struct grant_host private_host[] = {
		{ .host = "a.example.org", .port = 443, .private_ok = true }
	};
	struct grant c = ceiling();
	struct grant cases[8];
	struct diag diag;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		cases[i] = ceiling();
	cases[0].roots = other_roots;
	cases[0].n_roots = 1;
	cases[0].paths = elsewhere;
	cases[0].n_paths = 1;
	cases[1].paths = unhidden;
	cases[1].n_paths = 1;
	cases[2].hosts = other_port;
	cases[3].hosts = other_host;
	cases[4].hosts = private_host;
	for (size_t i = 2; i <= 4; i++)
		cases[i].n_hosts = 1;
	cases[5].net = GRANT_NET_OPEN;
	cases[6].limits.wall_ms = 0;
	cases[7].armed = GRANT_ARMED_WRITABLE;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		diag.text[0] = '\0';
		if (grant_subset(&cases[i], &c, &diag))
			fail_msg("case %zu passed", i);
		assert_true(diag.text[0] != '\0');
	}
}

static void narrowing_stays_a_subset(void **state)
{
	static const struct grant_host one[] = { { .host = "a.example.org", .port = 443 } };
	struct grant c = ceiling();
	struct grant g = ceiling();
	struct diag diag;

	(void)state;
	g.hosts = one;
	g.n_hosts = 1;
	g.limits.wall_ms = 10;
	g.may_spawn = false;
	assert_true(grant_subset(&g, &c, &diag));
	g.net = GRANT_NET_NONE;
	g.hosts = NULL;
	g.n_hosts = 0;
	assert_true(grant_subset(&g, &c, &diag));
	g = GRANT_NONE;
	assert_false(grant_subset(&g, &c, &diag)); /* no time limit is looser than one second */
	g.limits = c.limits;
	assert_true(grant_subset(&g, &c, &diag));
}

static void the_longest_place_decides(void **state)
{
	struct grant c = ceiling();

	(void)state;
	assert_int_equal(grant_rights_on(&c, "/home/u/app/src/main.c"), GRANT_WRITABLE);
	assert_int_equal(grant_rights_on(&c, "/home/u/app/secret/key"), 0);
	assert_int_equal(grant_rights_on(&c, "/home/u/app/secrets"), GRANT_WRITABLE);
	assert_int_equal(grant_rights_on(&c, "/home/u/app2"), 0);
	assert_int_equal(grant_rights_on(&c, "/home/u"), 0);
}

static void a_grant_survives_the_round_trip_and_extra_fields_do_not(void **state)
{
	auto_arena struct arena a = { 0 };
	struct grant c = ceiling(), back;
	uint8_t before[SHA256_SIZE], after[SHA256_SIZE];
	struct value *more;
	const struct value *v;
	struct diag diag = { 0 };

	(void)state;
	arena_init(&a, 1 << 20);
	v = grant_to_value(&a, &c);
	assert_non_null(v);
	if (grant_from_value(&a, v, &back, &diag) != 0)
		fail_msg("%s", diag.text);
	assert_int_equal(grant_hash(&c, before), 0);
	assert_int_equal(grant_hash(&back, after), 0);
	assert_memory_equal(before, after, sizeof(before));

	more = value_map(&a, v->size + 1);
	for (size_t i = 0; i < v->size; i++)
		assert_int_equal(value_put(more, v->pairs[i].key, v->pairs[i].value), 0);
	assert_int_equal(value_put(more, "everything", value_bool(&a, true)), 0);
	assert_int_equal(grant_from_value(&a, more, &back, &diag), -EINVAL);
}

static void a_path_with_dots_is_no_grant(void **state)
{
	static const char *const bad[] = { "..", "a/../b", "a//b", "a/", "./a", "/a" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct grant_path p = { .root = 0, .path = bad[i], .rights = GRANT_READ };
		struct grant g = ceiling();

		g.paths = &p;
		g.n_paths = 1;
		assert_int_equal(grant_check(&g, NULL), -EINVAL);
	}
}

static void armed_files_are_known_at_any_depth_and_in_any_case(void **state)
{
	static const struct {
		const char *path;
		enum arms_kind kind;
	} cases[] = {
		{ "/w/.git/hooks/pre-commit", ARMS_ITSELF },
		{ "/w/sub/.GIT/Hooks/x", ARMS_ITSELF },
		{ ".git/config", ARMS_ITSELF },
		{ ".git/config.lock", ARMS_NOT },
		{ ".git/objects/ab/cd", ARMS_NOT },
		{ ".git/modules/lib/hooks/post-checkout", ARMS_ITSELF },
		{ "/w/.envrc", ARMS_ITSELF },
		{ "/w/my.envrc", ARMS_NOT },
		{ "/w/CLAUDE.md", ARMS_ITSELF },
		{ "/w/lib/python/evil.pth", ARMS_ITSELF },
		{ "/w/Makefile", ARMS_PURPOSE },
		{ "/w/Makefile/x", ARMS_NOT },
		{ "/w/src/main.c", ARMS_NOT },
		{ "/w/.github/workflows/ci.yml", ARMS_PURPOSE },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		if (arms_match(cases[i].path, NULL) != cases[i].kind)
			fail_msg("%s", cases[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_grant_is_a_subset_of_itself),
		cmocka_unit_test(each_widening_is_found),
		cmocka_unit_test(narrowing_stays_a_subset),
		cmocka_unit_test(the_longest_place_decides),
		cmocka_unit_test(a_grant_survives_the_round_trip_and_extra_fields_do_not),
		cmocka_unit_test(a_path_with_dots_is_no_grant),
		cmocka_unit_test(armed_files_are_known_at_any_depth_and_in_any_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
