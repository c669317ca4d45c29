#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/files.h"
#include "base/hash.h"

static void a_buffer_refuses_to_pass_its_limit(void **state)
{
	auto_buf struct buf b = BUF_INIT(4);

	(void)state;
	buf_text(&b, "abcd");
	assert_int_equal(buf_error(&b), 0);
	buf_byte(&b, 'e');
	assert_int_equal(buf_error(&b), -E2BIG);
	assert_string_equal(buf_get_text(&b), "abcd");
	buf_clear(&b);
	buf_printf(&b, "%d", 12);
	assert_int_equal(buf_error(&b), 0);
	assert_string_equal(buf_get_text(&b), "12");
}

static void a_taken_buffer_is_the_callers(void **state)
{
	struct buf b = BUF_INIT(100);
	char *text = NULL;

	(void)state;
	buf_hex(&b, (const uint8_t *)"\x01\xff", 2);
	assert_int_equal(buf_take_text(&b, &text), 0);
	assert_string_equal(text, "01ff");
	assert_null(b.data);
	free(text);
}

static void an_arena_keeps_its_limit_and_zeroes(void **state)
{
	auto_arena struct arena a = { 0 };
	uint8_t *p;

	(void)state;
	arena_init(&a, 10000);
	p = arena_alloc(&a, 9000);
	assert_non_null(p);
	for (size_t i = 0; i < 9000; i++)
		assert_int_equal(p[i], 0);
	assert_null(arena_alloc(&a, 5000));
	assert_null(arena_alloc_array(&a, SIZE_MAX / 2, 4));
	arena_reset(&a);
	assert_non_null(arena_alloc(&a, 9000));
}

static void sha256_matches_the_published_vectors(void **state)
{
	uint8_t hash[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE];

	(void)state;
	sha256_bytes("abc", 3, hash);
	hex_encode(hash, sizeof(hash), hex);
	assert_string_equal(
		hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	/* RFC 4231, test case 2 */
	hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, hash);
	hex_encode(hash, sizeof(hash), hex);
	assert_string_equal(
		hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void hex_accepts_only_lower_case_of_the_right_length(void **state)
{
	uint8_t bytes[2];

	(void)state;
	assert_int_equal(hex_decode("0aff", bytes, 2), 0);
	assert_int_equal(bytes[1], 0xff);
	assert_int_equal(hex_decode("0AFF", bytes, 2), -EINVAL);
	assert_int_equal(hex_decode("0af", bytes, 2), -EINVAL);
	assert_int_equal(hex_decode("0aff0", bytes, 2), -EINVAL);
}

static void an_atomic_write_is_read_back_and_leaves_nothing_else(void **state)
{
	char dir[] = "/tmp/interlock-test-XXXXXX";
	auto_free char *data = NULL;
	auto_close int fd = -1;
	size_t size;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(file_write_atomic(fd, "f", "hello", 5, 0600), 0);
	assert_int_equal(file_write_atomic(fd, "f", "hello again", 11, 0600), 0);
	assert_int_equal(file_read(fd, "f", 100, &data, &size), 0);
	assert_string_equal(data, "hello again");
	assert_int_equal(file_read(fd, "f", 3, &data, &size), -EFBIG);
	assert_int_equal(file_read(AT_FDCWD, "/dev/null", 3, &data, &size), -EINVAL);
	assert_int_equal(unlinkat(fd, "f", 0), 0);
	assert_int_equal(rmdir(dir), 0); /* fails if a temporary is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_refuses_to_pass_its_limit),
		cmocka_unit_test(a_taken_buffer_is_the_callers),
		cmocka_unit_test(an_arena_keeps_its_limit_and_zeroes),
		cmocka_unit_test(sha256_matches_the_published_vectors),
		cmocka_unit_test(hex_accepts_only_lower_case_of_the_right_length),
		cmocka_unit_test(an_atomic_write_is_read_back_and_leaves_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
