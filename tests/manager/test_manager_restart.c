#include "tests/support/cmocka.h"

#include <signal.h>
#include <string.h>

#include "base/exit.h"
#include "manager/restart.h"
#include "manager/startup.h"

#define EXITED(status) ((status) << 8)

static void the_fifth_crash_inside_a_minute_gives_up(void **state)
{
	struct restart_budget b = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(restart_decide(&b, SIGKILL, false, i * 1000), RESTART_LATER);
	assert_int_equal(restart_decide(&b, SIGKILL, false, 59999), RESTART_GIVE_UP);
}

static void crashes_spread_over_time_never_give_up(void **state)
{
	struct restart_budget b = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(restart_decide(&b, EXITED(1), false, i * 15001), RESTART_LATER);
}

static void a_restart_is_never_counted(void **state)
{
	struct restart_budget b = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(
			restart_decide(&b, EXITED(EXIT_STATUS_RESTART), false, i), RESTART_NOW);
	assert_int_equal(b.n_crashes, 0);
	assert_int_equal(b.restarts, 100);
}

static void a_death_while_stopping_is_no_crash(void **state)
{
	struct restart_budget b = { 0 };

	(void)state;
	assert_int_equal(restart_decide(&b, SIGKILL, true, 0), RESTART_STOP);
	assert_int_equal(restart_decide(&b, EXITED(EXIT_STATUS_OK), false, 0), RESTART_STOP);
	assert_int_equal(restart_decide(&b, EXITED(EXIT_STATUS_RESTART), true, 0), RESTART_STOP);
	assert_int_equal(b.n_crashes, 0);
}

static void the_start_lines_are_read_at_every_split(void **state)
{
	static const char text[] = "PORT:unix:/run/x/engine.sock\nWEB_DISABLED\n";

	(void)state;
	for (size_t split = 0; split < sizeof(text); split++) {
		struct startup s;

		startup_init(&s);
		(void)startup_push(&s, text, split);
		assert_int_equal(
			startup_push(&s, text + split, sizeof(text) - 1 - split), STARTUP_READY);
		assert_string_equal(s.endpoint, "unix:/run/x/engine.sock");
		assert_string_equal(s.web, "WEB_DISABLED");
	}
}

static void any_other_start_line_is_broken(void **state)
{
	static const char *const bad[] = { "WEB_DISABLED\n", "PORT:tcp:1\n", "PORT:unix:relative\n",
		"PORT:unix:/a\nPORT:unix:/a\n", "PORT:unix:/a\nWEB:0\n",
		"PORT:unix:/a\nWEB:65536\n", "PORT:unix:/a\nWEB_DISABLED\nmore\n", "hello\n",
		"\n" };
	char endless[STARTUP_LINE_MAX + 1];
	struct startup s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		startup_init(&s);
		if (startup_push(&s, bad[i], strlen(bad[i])) != STARTUP_BROKEN)
			fail_msg("accepted %s", bad[i]);
	}
	memset(endless, 'P', sizeof(endless));
	startup_init(&s);
	assert_int_equal(startup_push(&s, endless, sizeof(endless)), STARTUP_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fifth_crash_inside_a_minute_gives_up),
		cmocka_unit_test(crashes_spread_over_time_never_give_up),
		cmocka_unit_test(a_restart_is_never_counted),
		cmocka_unit_test(a_death_while_stopping_is_no_crash),
		cmocka_unit_test(the_start_lines_are_read_at_every_split),
		cmocka_unit_test(any_other_start_line_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
