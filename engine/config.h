/*
 * The engine's configuration: $XDG_CONFIG_HOME/interlock/config.yaml, or the file
 * that --config names. docs/engine.md has every key. It is the user's alone; the
 * workspace's own interlock.yaml is a policy that can only narrow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/errors.h"

struct engine_config {
	struct arena arena;        /* owns every text */
	const char *policy_preset; /* "default" */
	const char *policy_file;   /* absolute, or NULL */
	bool agent_enabled;
	const char *agent_transcript; /* JSON file: what the scripted model does; or NULL */
	bool sandbox_require;         /* refuse to run commands whose grant cannot be held */
	const char *web_program;      /* absolute, or NULL: no web front end */
	uint32_t web_port;
	uint64_t command_ms;   /* default time of a foreground command */
	uint64_t output_bytes; /* of a command */
	uint64_t result_bytes; /* of any result's content */
	uint64_t memory_bytes;
	uint64_t processes;
	uint64_t approval_ms;
	uint32_t approvals_per_hour;
	uint32_t keep_snapshots, keep_days;
	const char *const *exclude;
	size_t n_exclude;
};

/* path NULL: the user's file, or only defaults when there is none. 0, -EBADMSG with a place,
 * -errno. */
int engine_config_load(struct engine_config *c, const char *path, struct diag *reterr_diag)
	MUST_CHECK;
/* The text of a file with this name: tests and the loader. */
int engine_config_parse(
	struct engine_config *c, const char *text, size_t n, struct diag *reterr_diag) MUST_CHECK;
void engine_config_done(struct engine_config *c);
