/*
 * Shell text to effects: ordinary commands, and text of the largest legal size that was made to be
 * slow, beside the floor of one pass over the same bytes that counts its words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/attr.h"
#include "shield/command.h"

#define ROUNDS	  2000
#define SLOW_SIZE 65536

static const struct command_context context = { .cwd = "/home/dev/work/app",
	.workspace = "/home/dev/work/app", .home = "/home/dev", .field = "command" };

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static int compare(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

static size_t count_words(const char *text, size_t n)
{
	size_t words = 0;

	for (size_t i = 1; i < n; i++)
		words += text[i] == ' ' && text[i - 1] != ' ';
	return words;
}

static void measure(struct arena *a, const char *what, const char *text, size_t n, int rounds, double budget_us)
{
	static uint64_t times_ns[ROUNDS], floor_ns[ROUNDS];
	struct command_result result;
	volatile size_t words = 0;

	for (int i = 0; i < rounds; i++) {
		uint64_t begin = now_ns();
		int r;

		arena_reset(a);
		r = command_analyse(a, &context, text, n, &result);
		times_ns[i] = now_ns() - begin;
		if (r != 0 && r != -E2BIG)
			exit(1);
		begin = now_ns();
		words = words + count_words(text, n);
		floor_ns[i] = now_ns() - begin;
	}
	qsort(times_ns, (size_t)rounds, sizeof(times_ns[0]), compare);
	qsort(floor_ns, (size_t)rounds, sizeof(floor_ns[0]), compare);
	printf("%-34.34s p50 %9.2f us (budget %6.0f, one pass %7.2f)  max %9.2f us\n", what,
		(double)times_ns[rounds / 2] / 1000, budget_us, (double)floor_ns[rounds / 2] / 1000,
		(double)times_ns[rounds - 1] / 1000);
}

int main(void)
{
	static const char *const ordinary[] = { "git status", "npm install && npm test",
		"grep -rn 'needle' src | head -20", "for f in *.c; do wc -l \"$f\"; done",
		"cd build && cmake .. -DCMAKE_BUILD_TYPE=Debug && make -j4 2>&1 | tail -5" };
	static const char *const slow[] = { "(", "$(", "{a,", "{a,b}", "`", "a=1;", "f(){ f;};f;", "<<a ",
		"a|", "eval ", "rm a;", "cat <(a) ", "if a;then b=1;fi;" };
	static char text[SLOW_SIZE];
	struct arena a;

	arena_init(&a, (size_t)64 << 20);
	for (size_t i = 0; i < N_ELEMENTS(ordinary); i++)
		measure(&a, ordinary[i], ordinary[i], strlen(ordinary[i]), ROUNDS, 10);
	for (size_t i = 0; i < N_ELEMENTS(slow); i++) {
		char what[64];
		size_t n = strlen(slow[i]);

		for (size_t at = 0; at < SLOW_SIZE; at++)
			text[at] = slow[i][at % n];
		(void)snprintf(what, sizeof(what), "64 KiB of \"%s\"", slow[i]);
		measure(&a, what, text, SLOW_SIZE, 9, 5000);
	}
	arena_done(&a);
	return 0;
}
