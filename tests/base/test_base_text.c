#include "tests/support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/state.h"
#include "base/utf8.h"
#include "base/yaml.h"

static void numbers_are_whole_or_refused(void **state)
{
	uint64_t n = 0;
	uint32_t small = 0;

	(void)state;
	assert_int_equal(num_parse_u64("18446744073709551615", 0, UINT64_MAX, &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(num_parse_u64("18446744073709551616", 0, UINT64_MAX, &n), -ERANGE);
	assert_int_equal(num_parse_u32("7", 8, 9, &small), -ERANGE);
	assert_int_equal(num_parse_u32("7x", 0, 9, &small), -EINVAL);
	assert_int_equal(num_parse_u32("-1", 0, 9, &small), -EINVAL);
	assert_int_equal(num_parse_u32("", 0, 9, &small), -EINVAL);
	assert_int_equal(num_parse_size("2MiB", UINT64_MAX, &n), 0);
	assert_int_equal(n, 2 << 20);
	assert_int_equal(num_parse_duration_ms("5m", UINT64_MAX, &n), 0);
	assert_int_equal(n, 300000);
	assert_int_equal(num_parse_duration_ms("250ms", UINT64_MAX, &n), 0);
	assert_int_equal(n, 250);
}

static void hostile_text_is_shown_not_obeyed(void **state)
{
	auto_buf struct buf b = BUF_INIT(1000);

	(void)state;
	utf8_escape(&b, "a\x1b[2J\xe2\x80\xae\xff\\\n", 11, 100);
	assert_string_equal(buf_get_text(&b), "a\\x1b[2J\\u{202e}\\xff\\\\\\x0a");
	buf_clear(&b);
	utf8_escape(&b, "abcdef", 6, 3);
	assert_string_equal(buf_get_text(&b), "abc...(+3 bytes)");
}

static void only_real_utf8_is_utf8(void **state)
{
	(void)state;
	assert_true(is_utf8("\xf0\x9f\x98\x80", 4));
	assert_false(is_utf8("\xc0\xaf", 2));         /* overlong */
	assert_false(is_utf8("\xed\xa0\x80", 3));     /* surrogate */
	assert_false(is_utf8("\xf4\x90\x80\x80", 4)); /* over U+10FFFF */
	assert_false(is_utf8("\xe2\x82", 2));         /* cut */
}

static void times_round_trip(void **state)
{
	char text[RFC3339_SIZE];
	int64_t ns = 0;

	(void)state;
	rfc3339_format(INT64_C(1767225599123456789), text);
	assert_string_equal(text, "2025-12-31T23:59:59.123456789Z");
	assert_int_equal(rfc3339_parse(text, &ns), 0);
	assert_true(ns == INT64_C(1767225599123456789));
	assert_int_equal(rfc3339_parse("2025-13-01T00:00:00Z", &ns), -EINVAL);
	assert_int_equal(rfc3339_parse("2025-12-31T23:59:59+01:00", &ns), -EINVAL);
}

static void yaml_keeps_places_and_refuses_ambiguity(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
	} bad[] = {
		{ "a: 1\nb: 2\na: 3\n", 3 },
		{ "a: &x 1\nb: *x\n", 1 },
		{ "a: !!str 1\n", 1 },
		{ "<<: {a: 1}\n", 1 },
		{ "a: [1\n", 2 },
		{ "---\na: 1\n---\nb: 2\n", 3 },
	};
	static const char good[] = "deny:\n  - name: x\n    count: 12\n    on: true\n  - \"12\"\n";
	auto_arena struct arena a = { 0 };
	const struct value *deny;
	struct yaml_doc doc;
	struct diag diag;

	(void)state;
	arena_init(&a, 1 << 20);
	assert_int_equal(yaml_parse(&a, good, strlen(good), &doc, &diag), 0);
	deny = value_get(doc.root, "deny");
	assert_int_equal(deny->size, 2);
	assert_int_equal(value_get(&deny->items[0], "count")->integer, 12);
	assert_int_equal(deny->items[1].kind, VALUE_TEXT);
	assert_int_equal(yaml_place_get(&doc, &deny->items[1]).line, 5);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		diag = (struct diag){ 0 };
		assert_int_equal(
			yaml_parse(&a, bad[i].text, strlen(bad[i].text), &doc, &diag), -EBADMSG);
		assert_int_equal(diag.line, bad[i].line);
	}
}

static void a_workspace_id_is_readable_and_distinct(void **state)
{
	auto_free char *x = NULL;
	auto_free char *y = NULL;

	(void)state;
	assert_int_equal(state_id("/home/u/My App!", &x), 0);
	assert_int_equal(state_id("/home/v/My App!", &y), 0);
	assert_memory_equal(x, "my-app-", 7);
	assert_string_not_equal(x, y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_whole_or_refused),
		cmocka_unit_test(hostile_text_is_shown_not_obeyed),
		cmocka_unit_test(only_real_utf8_is_utf8),
		cmocka_unit_test(times_round_trip),
		cmocka_unit_test(yaml_keeps_places_and_refuses_ambiguity),
		cmocka_unit_test(a_workspace_id_is_readable_and_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
