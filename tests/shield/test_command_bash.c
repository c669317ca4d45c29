/* Quoting, braces and splitting, word by word beside bash itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shield/command.h"
#include "tests/support/cmocka.h"

static const struct command_context context = { .cwd = "/w", .workspace = "/w", .home = "/home/u",
						.field = "command" };

/* bash's words, each ended by a NUL. */
static size_t bash_words(const char *words, char *ret_text, size_t max)
{
	char command[1024];
	auto_fclose FILE *script = tmpfile();
	FILE *pipe;
	size_t n;

	assert_non_null(script);
	assert_true(fprintf(script, "HOME=/home/u; A='p q'; B=r; printf '%%s\\0' %s", words) > 0);
	assert_int_equal(fflush(script), 0);
	assert_true(snprintf(command, sizeof(command), "bash --norc --noprofile /proc/%d/fd/%d", (int)getpid(),
			    fileno(script)) > 0);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	n = fread(ret_text, 1, max, pipe);
	assert_int_equal(pclose(pipe), 0);
	return n;
}

static void words_are_the_words_of_bash(void **state)
{
	static const char *const cases[] = { "a b  c", "'a b' c", "\"a b\" c", "a\\ b", "'a'\"b\"c", "\"\"", "'' x",
		"a\"\"b", "\"a\\\"b\"", "\"a\\b\"", "'a\\b'", "$'a\\tb'", "$'\\x41\\101'", "{a,b}c", "x{1,2}{3,4}",
		"{a,{b,c}}", "'{a,b}'", "{a}", "{a,b", "a{b,c}d{e", "$B", "\"$B\"", "$A", "\"$A\"", "x$A.y", "${B}s",
		"'$B'", "\\$B", "~/x", "\"~/x\"", "a#b", "a\\\nb", "$\"a b\"", "\"a'b\"", "'a\"b'", "-n --x=\"y z\"",
		"a=b c=$B", "\"$A\"\"$B\"", "$A$B", "\"a\nb\"", "[a]", "a\\;b", "'a;b'", "\"a|b\"" };

	(void)state;
	if (system("command -v bash >/dev/null 2>&1") != 0)
		skip();
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		auto_arena struct arena a = { 0 };
		struct command_result r;
		char text[1024], want[4096], got[4096] = "";
		size_t n_want = bash_words(cases[i], want, sizeof(want)), n = 0;

		arena_init(&a, (size_t)1 << 24);
		assert_true(snprintf(text, sizeof(text), "A='p q'; B=r; prog %s", cases[i]) > 0);
		assert_int_equal(command_analyse(&a, &context, text, strlen(text), &r), 0);
		if (r.n_calls != 1)
			fail_msg("%zu calls: %s", r.n_calls, cases[i]);
		for (size_t k = 1; k < r.calls[0].n_argv; k++) {
			const char *word = r.calls[0].argv[k];

			if (!word)
				fail_msg("a word is not known: %s", cases[i]);
			memcpy(got + n, word, strlen(word) + 1);
			n += strlen(word) + 1;
		}
		if (n != n_want || memcmp(got, want, n) != 0)
			fail_msg("other words than bash's: %s", cases[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(words_are_the_words_of_bash) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
