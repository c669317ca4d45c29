/*
 * What a confined child shows of itself in its `canary` message, and how the
 * engine judges it: a list of forbidden things that it tried, each with whether it
 * could be done before the confinement (the control) and what came of it after.
 *
 *	{"profile": "agent", "probes": [{"name": "file_read", "control": true, "error": 13}, ...]}
 *
 * Nothing in the report is believed beyond that: every name of the list must be
 * there once, possible before and refused (error is an errno, not 0) after.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/errors.h"
#include "base/value.h"

enum probe {
	PROBE_FILE_READ,
	PROBE_LISTING,
	PROBE_FILE_WRITE,
	PROBE_UNIX_SOCKET,
	PROBE_INET_SOCKET,
	PROBE_CHILD,
	PROBE_EXEC,
	PROBE_PTRACE,
	PROBE_N_
};

struct probe_result {
	bool control; /* possible before */
	int error;    /* errno after; 0: it got through */
};

const char *probe_name(enum probe probe);
/* As JSON, appended to b. */
int probes_report(struct buf *b, const char *profile, const struct probe_result results[PROBE_N_])
	MUST_CHECK;
/* 0; -EPERM with what got through or is missing; -EBADMSG for what is no report. */
int probes_judge(const char *report, size_t n, const char *profile, struct diag *reterr_diag)
	MUST_CHECK;
