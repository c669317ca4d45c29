/*
 * The words behind `interlock audit`, and the subcommands that show entries.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/audit.h"
#include "clients/workspace.h"

struct audit_command {
	const char *sub;       /* "verify" "list" "show" "export" "stats" "prune" */
	const char *workspace; /* NULL: the one around the current directory */
	const char *dir;       /* --dir: a log that belongs to no workspace; borrowed */
	char *own_dir;         /* owned: the workspace's log */
	const char *key_file, *anchor_file;
	bool json, follow, reference, csv;
	bool has_before;
	int64_t before_ns;
	uint64_t show_seq, to_seq;
	uint64_t lines; /* 0: all */
	struct il_audit_query query;
};

/* 0, or an exit status after a message. */
int audit_options_read(int argc, char **argv, struct audit_command *ret_command) MUST_CHECK;

/* Each returns an exit status. */
int audit_list(const struct audit_command *c);
int audit_show(const struct audit_command *c);
int audit_export(const struct audit_command *c);
int audit_stats(const struct audit_command *c);
