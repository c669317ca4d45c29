/*
 * Executors: what carries an allowed action out. One row an action; single-file actions
 * work on a thread of the pool on descriptors, commands and the files program are children
 * of the loop.
 */
#pragma once

#include "engine/proposal.h"

struct executor {
	const char *action;
	/* On a thread: sets status, content and the like, or calls proposal_fail(). */
	void (*work)(struct proposal *p);
	/* On the loop: 0 and later pipeline_run(), or -errno. */
	int (*start)(struct proposal *p);
};

/* NULL: no executor here. */
const struct executor *executor_find(const char *action);
/* Ends what runs for p: SIGTERM, 3 s, then its grant's kill. */
void execute_cancel(struct proposal *p);
/* Executor's content beyond limits.result is cut with a mark that says so. */
void execute_cap(struct proposal *p);
