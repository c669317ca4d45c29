/*
 * What to do when the engine (or, inside the engine, the agent) has ended: a
 * pure decision over exit status and time.
 *
 *	exit 0			stop
 *	exit 75			again at once, not counted
 *	while stopping		stop: a death while stopping is no crash
 *	anything else		a crash: again after one second, unless it is the fifth
 *				inside 60 seconds: then give up
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESTART_CRASHES_MAX 5
#define RESTART_WINDOW_MS   60000
#define RESTART_DELAY_MS    1000

enum restart_decision {
	RESTART_STOP,
	RESTART_GIVE_UP,
	RESTART_NOW,
	RESTART_LATER, /* after RESTART_DELAY_MS */
};

struct restart_budget {
	uint64_t crashes_ms[RESTART_CRASHES_MAX]; /* times of the last crashes, oldest first */
	size_t n_crashes;
	uint64_t restarts; /* of both kinds, for status */
};

/* wait_status is what waitpid() gave; now_ms is monotonic. */
enum restart_decision restart_decide(
	struct restart_budget *b, int wait_status, bool stopping, uint64_t now_ms);
