/*
 * Running commands: one struct a child of the runner, in the foreground of its proposal. Its output
 *is sent as it comes and kept for the result.
 *
 *	command_start() → output ... → on_exit → the proposal goes on
 */
#pragma once

#include "engine/engine.h"
#include "sandbox/runner/runner.h"

#define COMMAND_GRACE_MS 3000

struct command {
	struct command *next; /* in engine.commands */
	struct engine *engine;
	struct proposal *proposal; /* borrowed: it lives until its command has ended */
	struct il_run *run;        /* borrowed from the runner until on_exit */
	char id[24];
	char *text; /* owned, for lists */
	uint64_t started_ms;
	bool cancelled;
};

/* What the runner can prove here, for the judge. */
void commands_probe(struct engine *e);
void commands_kill_all(struct engine *e, uint64_t grace_ms);
bool commands_any_running(const struct engine *e);
void commands_forget(struct engine *e, const struct connection *c);
void commands_on_credit(void *ctx, struct connection *c, uint64_t stream);
void commands_close(struct engine *e);
void service_commands(struct engine *e, struct connection *c, const struct message *m);
void service_command_logs(struct engine *e, struct connection *c, const struct message *m);
void service_command_kill(struct engine *e, struct connection *c, const struct message *m);
