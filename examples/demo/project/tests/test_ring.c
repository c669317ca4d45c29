#include <stdio.h>

#include "ring.h"

static int failures;

static void check(bool ok, const char *what)
{
	printf("%s %s\n", ok ? "ok    " : "FAILED", what);
	failures += !ok;
}

int main(void)
{
	struct ring r = { 0 };
	int item = -1;
	bool pushed = true;

	check(!ring_pop(&r, &item), "an empty ring gives nothing");
	for (int i = 0; i < RING_CAPACITY; i++)
		pushed = ring_push(&r, i) && pushed;
	check(pushed, "a ring takes as many as its capacity");
	check(!ring_push(&r, 99), "a full ring refuses one more");
	check(ring_pop(&r, &item) && item == 0, "the first in is the first out");
	return failures != 0;
}
