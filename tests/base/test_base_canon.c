#include "tests/support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/canon.h"
#include "base/mp.h"

static const struct value *parse(struct arena *a, const char *json)
{
	const struct value *v = NULL;
	struct diag diag;

	assert_int_equal(value_from_json(a, json, strlen(json), &v, &diag), 0);
	return v;
}

static void equal_values_have_one_canonical_form(void **state)
{
	auto_arena struct arena a = { 0 };
	auto_buf struct buf x = BUF_INIT(1000), y = BUF_INIT(1000);

	(void)state;
	arena_init(&a, 1 << 20);
	canon_write(&x, parse(&a, "{\"b\":[1,-1,256],\"a\":{\"z\":null,\"aa\":true}}"));
	canon_write(&y, parse(&a, " {\"a\":{\"aa\":true,\"z\":null},\n\"b\":[1,-1,256]}"));
	assert_int_equal(x.size, y.size);
	assert_memory_equal(x.data, y.data, x.size);
	assert_true(is_canon(x.data, x.size));
	mp_write_nil(&x);
	assert_false(is_canon(x.data, x.size));
}

static void hostile_msgpack_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *what;
	} cases[] = {
		{ "\xcc\x01", 2, "a number not in its shortest form" },
		{ "\xd0\x01", 2, "a positive number in a signed form" },
		{ "\xd9\x01x", 3, "a text not in its shortest form" },
		{ "\xa2\xc3\x28", 3, "invalid UTF-8" },
		{ "\xa1\x00", 2, "a text with NUL" },
		{ "\x82\xa1x\x01\xa1x\x02", 7, "a duplicate key" },
		{ "\x81\x01\x02", 3, "a key that is no text" },
		{ "\xcb\x3f\xf0\0\0\0\0\0\0", 9, "a float" },
		{ "\xc7\x01\x01x", 4, "an extension" },
		{ "\xdd\xff\xff\xff\xff", 5, "a count beyond the bytes that are left" },
		{ "\xdf\x00\x01\x00\x00", 5, "a map count beyond the bytes that are left" },
		{ "\x92\x01", 2, "a cut array" },
		{ "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9, "a number over 2^63-1" },
		{ "", 0, "nothing" },
		{ "\xc1", 1, "the byte that is never used" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		auto_arena struct arena a = { 0 };
		const struct value *v;
		struct mp_reader r;

		arena_init(&a, 1 << 20);
		mp_reader_init(&r, cases[i].bytes, cases[i].n);
		if (mp_read_value(&r, &a, &v) != -EBADMSG)
			fail_msg("accepted %s", cases[i].what);
		assert_int_equal(mp_reader_end(&r), -EBADMSG);
	}
}

static void nesting_is_bounded_for_reading_and_skipping(void **state)
{
	uint8_t deep[VALUE_DEPTH_MAX + 2];
	auto_arena struct arena a = { 0 };
	const struct value *v;
	const uint8_t *bytes;
	struct mp_reader r;
	size_t n;

	(void)state;
	arena_init(&a, 1 << 20);
	memset(deep, 0x91, sizeof(deep));
	deep[VALUE_DEPTH_MAX] = 0xc0;
	mp_reader_init(&r, deep, VALUE_DEPTH_MAX + 1);
	assert_int_equal(mp_read_value(&r, &a, &v), 0);
	deep[VALUE_DEPTH_MAX] = 0x91;
	deep[VALUE_DEPTH_MAX + 1] = 0xc0;
	mp_reader_init(&r, deep, sizeof(deep));
	assert_int_equal(mp_read_value(&r, &a, &v), -EBADMSG);
	mp_reader_init(&r, deep, sizeof(deep));
	assert_int_equal(mp_skip(&r, VALUE_DEPTH_MAX, &bytes, &n), -EBADMSG);
	mp_reader_init(&r, "\x82\xa1x\x92\x01\x02\xa1y\xc0\x07", 10);
	assert_int_equal(mp_skip(&r, VALUE_DEPTH_MAX, &bytes, &n), 0);
	assert_int_equal(n, 9);
}

static void integers_survive_the_round_trip(void **state)
{
	static const int64_t cases[] = { 0, 1, 127, 128, 255, 256, 65535, 65536, UINT32_MAX,
		(int64_t)UINT32_MAX + 1, INT64_MAX, -1, -32, -33, -128, -129, -32768, -32769,
		INT32_MIN, (int64_t)INT32_MIN - 1, INT64_MIN };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		auto_buf struct buf b = BUF_INIT(16);
		struct mp_reader r;
		int64_t back = 0;

		mp_write_int(&b, cases[i]);
		mp_reader_init(&r, b.data, b.size);
		assert_int_equal(mp_read_int(&r, &back), 0);
		assert_true(back == cases[i]);
		assert_int_equal(mp_reader_end(&r), 0);
	}
}

static void json_that_means_two_things_is_refused(void **state)
{
	static const char *const cases[] = { "{\"a\":1,\"a\":2}", "1.5", "{\"a\":1}x", "[1,]",
		"\"\\u0000\"", "" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		auto_arena struct arena a = { 0 };
		const struct value *v;
		struct diag diag = { 0 };

		arena_init(&a, 1 << 20);
		assert_int_equal(
			value_from_json(&a, cases[i], strlen(cases[i]), &v, &diag), -EBADMSG);
		assert_true(diag.text[0] != '\0');
	}
}

static void the_action_hash_does_not_depend_on_the_order_of_fields(void **state)
{
	auto_arena struct arena a = { 0 };
	uint8_t x[SHA256_SIZE], y[SHA256_SIZE];

	(void)state;
	arena_init(&a, 1 << 20);
	assert_int_equal(
		canon_action_hash("write_file", parse(&a, "{\"path\":\"f\",\"content\":\"c\"}"), x),
		0);
	assert_int_equal(
		canon_action_hash("write_file", parse(&a, "{\"content\":\"c\",\"path\":\"f\"}"), y),
		0);
	assert_memory_equal(x, y, sizeof(x));
	assert_int_equal(
		canon_action_hash("read_file", parse(&a, "{\"content\":\"c\",\"path\":\"f\"}"), y),
		0);
	assert_memory_not_equal(x, y, sizeof(x));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_values_have_one_canonical_form),
		cmocka_unit_test(hostile_msgpack_is_refused),
		cmocka_unit_test(nesting_is_bounded_for_reading_and_skipping),
		cmocka_unit_test(integers_survive_the_round_trip),
		cmocka_unit_test(json_that_means_two_things_is_refused),
		cmocka_unit_test(the_action_hash_does_not_depend_on_the_order_of_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
