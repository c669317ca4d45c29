/*
 * A directory of its own for each test of the log, and the few steps that all of them take.
 */
#pragma once

#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/exit.h"
#include "base/files.h"

PRINTF_LIKE(1, 2) static inline int run_shell(const char *format, ...)
{
	char command[1024];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return n > 0 && (size_t)n < sizeof(command) ? system(command) : -1;
}

PRINTF_LIKE(3, 4) static inline void put_path(char *ret_path, size_t size, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(ret_path, size, format, args);
	va_end(args);
	assert_true(n > 0 && (size_t)n < size);
}

static inline int make_dir(void **state)
{
	char *dir = strdup("/tmp/interlock-audit-XXXXXX");

	*state = dir;
	return dir && mkdtemp(dir) ? 0 : -1;
}

static inline int drop_dir(void **state)
{
	int r = run_shell("rm -rf '%s'", (char *)*state);

	free(*state);
	return r;
}

static inline struct il_audit *open_with(const struct il_audit_options *o)
{
	struct il_audit *log = NULL;
	struct diag diag = { 0 };
	int r = il_audit_open(o, &log, &diag);

	if (r != 0)
		fail_msg("open: %d %s", r, diag.text);
	return log;
}

static inline struct il_audit_report verify_with(
	const char *dir, const char *key, const char *anchor_file)
{
	struct il_audit_verify_options o = { .dir = dir, .key = key, .anchor_file = anchor_file };
	struct il_audit_report report = { 0 };

	assert_int_equal(il_audit_verify(&o, &report), 0);
	return report;
}

static inline void assert_intact(const char *dir, const char *key)
{
	struct il_audit_report report = verify_with(dir, key, NULL);

	if (report.status != EXIT_VERIFY_INTACT)
		fail_msg("%s at %s: %s", il_audit_damage_name(report.damage), report.where,
			report.text);
}
