#include "manager/restart.h"

#include <string.h>
#include <sys/wait.h>

#include "base/exit.h"

/* Forgets crashes that are older than the window. */
static void forget_old(struct restart_budget *b, uint64_t now_ms)
{
	size_t old = 0;

	while (old < b->n_crashes && now_ms - b->crashes_ms[old] >= RESTART_WINDOW_MS)
		old++;
	b->n_crashes -= old;
	memmove(b->crashes_ms, b->crashes_ms + old, b->n_crashes * sizeof(b->crashes_ms[0]));
}

enum restart_decision restart_decide(
	struct restart_budget *b, int wait_status, bool stopping, uint64_t now_ms)
{
	if (stopping)
		return RESTART_STOP;
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_STATUS_OK)
		return RESTART_STOP;
	b->restarts++;
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_STATUS_RESTART)
		return RESTART_NOW;
	forget_old(b, now_ms);
	b->crashes_ms[b->n_crashes++] = now_ms;
	if (b->n_crashes == RESTART_CRASHES_MAX) {
		b->n_crashes--; /* stay in bounds whatever the caller does next */
		return RESTART_GIVE_UP;
	}
	return RESTART_LATER;
}
