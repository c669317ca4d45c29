/*
 * System call filters: one allow-list a variant, built from one table
 * (sandbox/filter_table.h) into BPF when the project is built, so that nothing is
 * compiled when a process is confined.
 *
 * What a filter answers: allowed calls pass; calls that are denied on purpose are
 * EPERM; calls that nobody listed are ENOSYS, so that programs fall back; a foreign
 * architecture kills the process; x32 numbers are refused.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

enum filter_variant {
	FILTER_AGENT,
	FILTER_FETCH,
	FILTER_EGRESS,
	FILTER_FILES,
	FILTER_WEB,
	FILTER_COMMAND,           /* no socket() at all but socketpair */
	FILTER_COMMAND_TCP,       /* TCP sockets too: Landlock holds the ports */
	FILTER_COMMAND_UNIX,      /* as FILTER_COMMAND_TCP, with Unix sockets */
	FILTER_COMMAND_NAMESPACE, /* in a network namespace of its own */
	FILTER_N_
};

const char *filter_name(enum filter_variant v);

struct sock_filter;
/* The ready program; n instructions. */
const struct sock_filter *filter_program(enum filter_variant v, size_t *ret_n);
/* no_new_privs must be set. With TSYNC. */
int filter_install(enum filter_variant v) MUST_CHECK;
