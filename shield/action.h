/*
 * The action table: the one list of all actions that an agent can propose.
 * Validation, tool lists, JSON schemas, information flow, snapshots, OTR and
 * the docs derive from it; nothing else knows what fields an action has.
 *
 * The reference's 67 names are all here, so that its users' policies load; those
 * without an executor are marked and answer `unsupported_action`. The 22 that
 * run today:
 *
 *	files	read_file write_file delete_file move_file copy_file create_directory
 *		list_directory search_files copy_directory move_directory delete_directory grep_files
 *	shell	execute_command
 *	git	git_status git_diff git_log git_commit git_push git_pull git_branch
 *		git_checkout git_clone
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/effect.h"
#include "base/errors.h"
#include "base/value.h"

enum il_field_type {
	IL_FIELD_TEXT,
	IL_FIELD_PATH, /* text; resolved against cwd, beneath what the grant gives */
	IL_FIELD_HOST_URL,
	IL_FIELD_BOOL,
	IL_FIELD_INT,
	IL_FIELD_TEXTS, /* array of text */
	IL_FIELD_PATHS,
	IL_FIELD_COMMAND, /* text for a shell, or array of text (argv) */
	IL_FIELD_ANY,	  /* any value: declared fields of actions that do not run here */
	IL_FIELD_N_
};

struct il_field {
	const char *name; /* NULL ends the list */
	enum il_field_type type;
	bool required;
	int64_t min, max; /* IL_FIELD_INT */
	uint32_t size_max;	/* bytes of a text, or of each of an array; 0: 4096 */
	uint32_t count_max;	/* IL_FIELD_TEXTS, _PATHS, _COMMAND as argv; 0: 256 */
	enum effect_kind effect; /* IL_FIELD_PATH(S): what happens to it */
	const char *description;
};

enum il_sink { IL_SINK_NONE, IL_SINK_EXTERNAL, IL_SINK_EXEC, IL_SINK_MEMORY, IL_SINK_WORKSPACE_WRITE, IL_SINK_WORKSPACE_READ, IL_SINK_N_ };

struct il_action_type {
	const char *name;	/* [a-z0-9_] */
	const char *group;	/* "files", "shell", "git", ... */
	const char *description; /* for tool lists */
	const struct il_field *fields;
	bool executable; /* has an executor in this build */
	bool mutates;
	bool otr_safe;
	bool recursive; /* always */
	const char *recursive_field; /* bool field that makes it recursive, or NULL */
	bool open_world; /* reaches outside this machine */
	enum il_sink sink;
};

/* The table, in the reference's order; n counts all names. */
IL_API const struct il_action_type *il_action_types(size_t *ret_n);
/* By name or alias (shell_command, file_read ...); NULL when unknown. */
IL_API const struct il_action_type *il_action_type_find(const char *name);
/* JSON schema (draft 2020-12) of the payload, as JSON text appended to b. */
struct buf;
IL_API void il_action_schema(struct buf *b, const struct il_action_type *type);

enum il_action_condition {
	IL_ACTION_E_UNKNOWN = 1, /* no such action */
	IL_ACTION_E_FIELD,	 /* unknown, missing, wrong type, NUL, oversize: reterr_diag names it */
};

/*
 * Checks a payload against the table. ret_payload is the payload with aliases of field names
 * (the reference's synonyms) brought to the table's names; it borrows from `payload` and the arena.
 */
IL_API int il_action_check(struct arena *a, const char *name, const struct value *payload,
	const struct il_action_type **ret_type, const struct value **ret_payload,
	struct diag *reterr_diag) MUST_CHECK;
