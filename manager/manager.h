/*
 * The process manager: spawns the engine, reads its stdout protocol, watches it
 * and starts it again (manager/restart.h), until told to stop.
 *
 *   STARTING --ready line--> RUNNING --exit--> WAITING --1 s--> STARTING
 *       |                       |                 |
 *       +--30 s or broken-------+----SIGTERM------+--> STOPPING --exit--> (done)
 *
 * The engine's stdin is a pipe that only the manager holds: when the manager dies
 * in whatever way, the engine reads the end of it and stops.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"

struct manager_options {
	const char *workspace; /* real path */
	const char *config;    /* file or NULL: the engine's default */
	const char *engine;    /* program; NULL: the installed one */
	int state_fd;          /* borrowed */
	const char *state_path;
	int ready_fd; /* gets "READY <endpoint> <web>\n" once, or "FAILED <why>\n"; -1: none. Taken.
		       */
	bool verbose;
};

/* Runs until the engine is done; the result is an exit status of base/exit.h. */
int manager_run(const struct manager_options *options) MUST_CHECK;
