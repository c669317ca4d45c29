#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/token.h"
#include "tests/support/cmocka.h"

static void make(
	struct token_book *b, enum role role, bool once, uint64_t expires_ms, char *ret_token)
{
	struct token_entry what = {
		.role = role, .uid = 1000, .tag = 7, .single_use = once, .expires_ms = expires_ms
	};

	assert_int_equal(token_make(ret_token), 0);
	assert_int_equal(token_book_add(b, ret_token, &what, 10), 0);
}

static void a_token_is_good_for_its_role_and_user_alone(void **state)
{
	struct token_book *b = malloc(sizeof(*b));
	char token[TOKEN_SIZE];
	uint64_t tag = 0;

	(void)state;
	assert_non_null(b);
	assert_int_equal(token_book_init(b), 0);
	make(b, ROLE_CLIENT, false, 0, token);
	assert_int_equal(
		token_book_check(b, token, ROLE_APPROVER, 1000, 10, &tag), TOKEN_E_MISMATCH);
	assert_int_equal(token_book_check(b, token, ROLE_CLIENT, 1001, 10, &tag), TOKEN_E_MISMATCH);
	assert_int_equal(token_book_check(b, "", ROLE_CLIENT, 1000, 10, &tag), TOKEN_E_MISMATCH);
	assert_int_equal(token_book_check(b, token, ROLE_NONE, 1000, 10, &tag), TOKEN_E_MISMATCH);
	assert_int_equal(tag, 0);
	assert_int_equal(token_book_check(b, token, ROLE_CLIENT, 1000, 10, &tag), 0);
	assert_int_equal(tag, 7);
	token_book_revoke(b, 7);
	assert_int_equal(token_book_check(b, token, ROLE_CLIENT, 1000, 10, &tag), TOKEN_E_MISMATCH);
	free(b);
}

static void an_expired_token_is_gone(void **state)
{
	struct token_book *b = malloc(sizeof(*b));
	char token[TOKEN_SIZE];
	uint64_t tag;

	(void)state;
	assert_non_null(b);
	assert_int_equal(token_book_init(b), 0);
	make(b, ROLE_AGENT, true, 100, token);
	assert_int_equal(token_book_check(b, token, ROLE_AGENT, 1000, 101, &tag), TOKEN_E_EXPIRED);
	assert_int_equal(token_book_check(b, token, ROLE_AGENT, 1000, 50, &tag), TOKEN_E_MISMATCH);
	make(b, ROLE_AGENT, true, 100, token);
	assert_int_equal(token_book_check(b, token, ROLE_AGENT, 1000, 100, &tag), 0);
	assert_int_equal(token_book_check(b, token, ROLE_AGENT, 1000, 100, &tag), TOKEN_E_MISMATCH);
	free(b);
}

static void the_book_has_an_end_and_expired_ones_make_room(void **state)
{
	struct token_book *b = malloc(sizeof(*b));
	struct token_entry what = { .role = ROLE_AGENT, .uid = 1000, .expires_ms = 100 };
	char token[TOKEN_SIZE];

	(void)state;
	assert_non_null(b);
	assert_int_equal(token_book_init(b), 0);
	for (size_t i = 0; i < TOKEN_BOOK_MAX; i++)
		make(b, ROLE_AGENT, true, 100, token);
	assert_int_equal(token_book_add(b, token, &what, 10), TOKEN_E_FULL);
	assert_int_equal(token_book_add(b, token, &what, 101), 0);
	free(b);
}

static void a_token_file_is_its_owners_alone(void **state)
{
	char directory[] = "/tmp/token.XXXXXX", token[TOKEN_SIZE], again[TOKEN_SIZE];
	struct stat st;
	int dirfd;

	(void)state;
	assert_non_null(mkdtemp(directory));
	dirfd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(token_make(token), 0);
	assert_int_equal(token_file_write(dirfd, "t", token), 0);
	assert_int_equal(fstatat(dirfd, "t", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(token_file_read(dirfd, "t", again), 0);
	assert_string_equal(token, again);
	assert_int_equal(fchmodat(dirfd, "t", 0640, 0), 0);
	assert_int_equal(token_file_read(dirfd, "t", again), -EPERM);
	assert_int_equal(symlinkat("t", dirfd, "link"), 0);
	assert_int_equal(token_file_read(dirfd, "link", again), -ELOOP);
	assert_int_equal(token_file_write(dirfd, "t", "short"), -EINVAL);
	assert_int_equal(token_file_read(dirfd, "none", again), -ENOENT);
	(void)unlinkat(dirfd, "t", 0);
	(void)unlinkat(dirfd, "link", 0);
	(void)close(dirfd);
	assert_int_equal(rmdir(directory), 0);
}

/* In a program of its own, since the bytes in question are those the kernel shows of its start. */
static void the_environment_shows_no_token_afterwards(void **state)
{
	char token[TOKEN_SIZE], taken[TOKEN_SIZE], shown[65536];
	ssize_t n;
	int fd;

	(void)state;
	if (!getenv("TOKEN_OF_THE_TEST")) {
		assert_int_equal(token_make(token), 0);
		assert_int_equal(setenv("TOKEN_OF_THE_TEST", token, 1), 0);
		(void)execl("/proc/self/exe", "test_ipc_token", (char *)NULL);
		fail();
	}
	memcpy(token, getenv("TOKEN_OF_THE_TEST"), TOKEN_SIZE);
	assert_int_equal(token_take_environment("TOKEN_OF_THE_TEST", taken), 0);
	assert_string_equal(token, taken);
	assert_null(getenv("TOKEN_OF_THE_TEST"));
	assert_int_equal(token_take_environment("TOKEN_OF_THE_TEST", taken), -ENOENT);
	fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	n = read(fd, shown, sizeof(shown));
	assert_true(n > 0);
	assert_null(memmem(shown, (size_t)n, token, TOKEN_SIZE - 1));
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_shows_no_token_afterwards),
		cmocka_unit_test(a_token_is_good_for_its_role_and_user_alone),
		cmocka_unit_test(an_expired_token_is_gone),
		cmocka_unit_test(the_book_has_an_end_and_expired_ones_make_room),
		cmocka_unit_test(a_token_file_is_its_owners_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
