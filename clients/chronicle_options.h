/*
 * What `interlock chronicle` was asked to do.
 */
#pragma once

#include "chronicle/chronicle.h"
#include "clients/workspace.h"

struct chronicle_command {
	const char *sub;
	const char *workspace, *dir; /* or NULL */
	const char *session, *path;  /* filters of list */
	int64_t since_ns;
	const char *id;           /* or NULL */
	const char *const *paths; /* borrowed from argv */
	size_t n_paths;
	enum il_side side;
	bool side_set, json, dry_run, force;
	struct il_chronicle *c;
};

/* 0; a positive exit status after a message; -1 when help was shown. */
int chronicle_options_read(int argc, char **argv, struct chronicle_command *ret_command);

/* chronicle_show.c */
int chronicle_list(struct chronicle_command *c);
int chronicle_show(struct chronicle_command *c);
int chronicle_history(struct chronicle_command *c);
int chronicle_stats(struct chronicle_command *c);
void chronicle_print_text(const char *text); /* escaped for a terminal */
const char *chronicle_change_name(enum il_change_kind kind);
/* chronicle_diff.c */
int chronicle_diff(struct chronicle_command *c);
/* chronicle_back.c */
int chronicle_back(struct chronicle_command *c);
int chronicle_undo(struct chronicle_command *c);
int chronicle_redo(struct chronicle_command *c);

/* An exit status, after a message for what went wrong. */
int chronicle_result(const char *what, int r, const struct diag *diag);
/* The snapshot that an abbreviation (or "last") means; fills ret_id. */
int chronicle_find(
	struct chronicle_command *c, const char *text, char ret_id[static IL_SNAPSHOT_ID_SIZE]);
