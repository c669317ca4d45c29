/*
 * Every exit status of every program of the project, in one place.
 * docs/exit-codes.md shows the same table to people.
 *
 * The manager decides restarts by the first group: RESTART is respawned at once
 * and not counted, OK stops, everything else is a crash.
 */
#pragma once

enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_FAILED = 1,      /* the command could not do what was asked */
	EXIT_STATUS_USAGE = 64,      /* wrong words on the command line */
	EXIT_STATUS_BUG = 70,        /* an assertion or an impossible state */
	EXIT_STATUS_UNCONFINED = 71, /* the sandbox could not be applied or not be proved */
	EXIT_STATUS_RESTART = 75,    /* the engine asks to be started again */
	EXIT_STATUS_CONFIG = 78,     /* a configuration or policy file was refused */

	/* interlock check */
	EXIT_CHECK_ALLOW = 0,
	EXIT_CHECK_BAD_INPUT = 2,
	EXIT_CHECK_DENY = 3,
	EXIT_CHECK_ASK = 4,

	/* interlock propose */
	EXIT_PROPOSE_EXECUTED = 0,
	EXIT_PROPOSE_DENIED = 3,
	EXIT_PROPOSE_NEEDS_APPROVAL = 4,
	EXIT_PROPOSE_FAILED = 5,

	/* interlock audit verify, interlock chronicle verify */
	EXIT_VERIFY_INTACT = 0,
	EXIT_VERIFY_BROKEN = 1,
	EXIT_VERIFY_CANNOT_TELL = 2,

	/* interlock run; otherwise the command's own status, or 128 + signal */
	EXIT_RUN_TIMED_OUT = 124,
	EXIT_RUN_FAILED = 125,
	EXIT_RUN_REFUSED = 126, /* refused by the grant, or not executable */
	EXIT_RUN_NOT_FOUND = 127,
	EXIT_RUN_SIGNAL = 128,

	/* interlock hook: the one status with which every client blocks the call */
	EXIT_HOOK_BLOCK = 2,
};
