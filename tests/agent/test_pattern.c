#include <string.h>

#include "agent/pattern.h"
#include "base/attr.h"
#include "tests/support/cmocka.h"

static bool found(const char *text, const char *line, bool fold)
{
	auto_pattern struct pattern *p = NULL;
	struct diag diag;

	assert_int_equal(pattern_compile(text, fold, &p, &diag), 0);
	return pattern_matches(p, line, strlen(line));
}

static void patterns_find_what_they_say(void **state)
{
	static const struct {
		const char *pattern, *line;
		bool found;
	} cases[] = {
		{ "abc", "xxabcxx", true },
		{ "abc", "ab", false },
		{ "", "anything", true },
		{ "a.c", "abc", true },
		{ "a.c", "aéc", true },
		{ "a.c", "ac", false },
		{ "^abc$", "abc", true },
		{ "^abc$", "abcd", false },
		{ "^abc$", "xabc", false },
		{ "a*b", "b", true },
		{ "xa*b", "xaaab", true },
		{ "xa+b", "xb", false },
		{ "xa+b", "xaab", true },
		{ "xa?b", "xab", true },
		{ "xa?b", "xaab", false },
		{ "cat|dog", "hotdog", true },
		{ "^(cat|dog|cow)s?$", "cows", true },
		{ "^(cat|dog|cow)s?$", "cowss", false },
		{ "(a|b|)c", "c", true },
		{ "x(ab){2,3}y", "xababy", true },
		{ "x(ab){2,3}y", "xaby", false },
		{ "x(ab){2,3}y", "xababababy", false },
		{ "xa{3}y", "xaaay", true },
		{ "xa{3}y", "xaay", false },
		{ "xa{2,}y", "xaaaaaay", true },
		{ "xa{2,}y", "xay", false },
		{ "xa{0,1}y", "xy", true },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[^a-c]x", "dx", true },
		{ "[^a-c]x", "bx", false },
		{ "[]]", "]", true },
		{ "[a-]", "-", true },
		{ "[\\d_]+z", "12_z", true },
		{ "\\bint\\b", "an int here", true },
		{ "\\bint\\b", "printing", false },
		{ "\\d{4}-\\d\\d", "on 2024-01", true },
		{ "\\w+\\s*\\(", "main (", true },
		{ "\\S+@\\S+", "a@b", true },
		{ "\\.c$", "frame.c", true },
		{ "\\.c$", "framexc", false },
		{ "(a*)*b", "aaab", true },
		{ "((a|b)*c|d)+$", "abcd", true },
		{ "x*", "", true },
		{ "é+", "éé", true },
		{ "^é{2}$", "éé", true },
		{ "a|b|c|d", "d", true },
		{ "^(a|b|c|d){4}$", "dcba", true },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		if (found(cases[i].pattern, cases[i].line, false) != cases[i].found)
			fail_msg("%s in %s", cases[i].pattern, cases[i].line);
	}
	assert_true(found("HeLLo", "say hello", true));
	assert_false(found("HeLLo", "say hello", false));
	assert_true(found("[a-c]X", "Bx", true));
	assert_false(found("[^a-c]", "B", true));
}

static void what_is_no_pattern_is_refused_with_its_place(void **state)
{
	static const char *const bad[] = { "(", ")", "a)", "[", "[a", "[b-a]", "*", "+a", "a{",
		"a{x}", "a{3,2}", "a{256}", "\\", "\\q", "[é]", "a{1000,}", "(?=a)",
		"(((a{255}){255}){255})", "((((){255}){255}){255}){255}" };
	char *long_one = malloc(PATTERN_MAX + 2);

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		auto_pattern struct pattern *p = NULL;
		struct diag diag = { 0 };

		if (pattern_compile(bad[i], false, &p, &diag) != -EINVAL)
			fail_msg("%s", bad[i]);
		assert_true(diag.column > 0);
	}
	{
		auto_pattern struct pattern *p = NULL;
		char nested[80] = { 0 };
		struct diag diag;

		memset(nested, '(', 33);
		nested[33] = 'a';
		memset(nested + 34, ')', 33);
		assert_int_equal(pattern_compile(nested, false, &p, &diag), -EINVAL);
		assert_string_equal(diag.text, "groups are nested too deep");
	}
	assert_non_null(long_one);
	memset(long_one, 'a', PATTERN_MAX + 1);
	long_one[PATTERN_MAX + 1] = '\0';
	{
		auto_pattern struct pattern *p = NULL;
		struct diag diag;

		assert_int_equal(pattern_compile(long_one, false, &p, &diag), -EINVAL);
	}
	free(long_one);
}

/* The patterns that take backtracking matchers for ever: here they end, by construction. */
static void hard_patterns_are_easy(void **state)
{
	static const char *const hard[] = { "(a*)*$b", "(a|a)*b", "(a|aa)+$b", "(.*)(.*)(.*)(.*)x",
		"(x+x+)+y", "a{0,200}a{0,200}b" };
	char line[4096];

	(void)state;
	memset(line, 'a', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (size_t i = 0; i < N_ELEMENTS(hard); i++)
		assert_false(found(hard[i], line, false));
}

static void names_match_shell_patterns(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool found;
	} cases[] = {
		{ "*.c", "main.c", true },
		{ "*.c", "main.h", false },
		{ "main", "Domain.c", true },
		{ "?.c", "a.c", true },
		{ "?.c", "ab.c", false },
		{ "[a-m]*.h", "frame.h", true },
		{ "[!a-m]*.h", "frame.h", false },
		{ "a*b*c", "axxbxxbc", true },
		{ "a*b*c", "axxbxxb", false },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "*", "", true },
		{ "[", "x[y", false },
		{ "*****a", "bbba", true },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		if (name_matches(cases[i].pattern, cases[i].name) != cases[i].found)
			fail_msg("%s with %s", cases[i].pattern, cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_find_what_they_say),
		cmocka_unit_test(what_is_no_pattern_is_refused_with_its_place),
		cmocka_unit_test(hard_patterns_are_easy),
		cmocka_unit_test(names_match_shell_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
