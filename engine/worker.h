/*
 * One thread that works jobs off in order, for what blocks and has one user at a
 * time: the chronicle, the database.
 *
 *	worker_open() → worker_submit(): work() on the thread, then done() on the loop →
 *worker_close()
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "engine/handoff.h"

struct job {
	struct handoff_item item;
	void (*work)(struct job *job); /* on the worker's thread */
	void (*done)(struct job *job); /* on the loop; may free the job */
	struct job *next;
	struct worker *worker;
};

struct worker {
	uv_thread_t thread;
	uv_mutex_t lock;
	uv_cond_t wake;
	struct handoff *handoff;  /* borrowed */
	struct job *first, *last; /* under lock */
	bool stopping;            /* under lock */
	bool open;
};

int worker_open(struct worker *w, struct handoff *handoff) MUST_CHECK;
void worker_submit(struct worker *w, struct job *job);
/* Waits until everything submitted was worked off; their done() are queued to the handoff. */
void worker_close(struct worker *w);
