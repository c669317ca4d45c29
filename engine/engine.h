/*
 * The engine: one libuv loop that judges, records and executes what others propose.
 *
 *	engine_open() → engine_announce() → uv_run() → engine_stop() → loop ends → engine_close()
 *
 * engine_open() brings up, in this order: state directory and lock, audit, chronicle,
 * database, interrupted intents, policy, tokens and sockets. Whatever fails there ends the
 * start. Everything hangs off this one context; nothing of it is global.
 *
 * Stopping: no new proposals, commands get SIGTERM and after 3 s their grant's kill,
 * pending questions are withdrawn, and when the last proposal is recorded (4.5 s at the most) the
 *stores close.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "chronicle/chronicle.h"
#include "engine/config.h"
#include "engine/handoff.h"
#include "engine/proposal.h"
#include "engine/worker.h"
#include "ipc/connection.h"
#include "ipc/token.h"
#include "shield/shield.h"

struct approval;
struct subscriber;
struct command;
struct agent_child;
struct web_child;
struct database;
struct otr_session;

struct engine_options {
	const char *workspace; /* as given */
	const char *config;    /* or NULL */
	bool supervised;       /* standard input is the manager's lifeline: its end stops us */
	bool verbose;
};

struct engine {
	const struct engine_options *options;
	struct engine_config config;
	uv_loop_t loop;
	struct handoff handoff;
	struct worker chronicle_thread, database_thread;
	uv_signal_t sigterm, sigint, sighup;
	uv_pipe_t lifeline;
	char sink[64]; /* what comes on the lifeline is not looked at */
	uv_timer_t stop_timer, tick;
	bool has_lifeline, stopping, stopped, paused, restart_wanted;
	uint64_t started_ms;
	int exit_status;

	/* where things are; owned */
	char *workspace, *state_path, *config_dir, *home, *program_dir;
	char *engine_socket, *agent_socket;
	int state_fd, lock_fd, workspace_fd;
	uint64_t workspace_device, workspace_inode;

	struct il_audit *audit;
	bool audit_broken; /* a write failed: nothing may happen any more */
	struct il_chronicle *chronicle;
	struct il_policy *policy;
	struct il_judge_enforcer enforcer;
	char enforcer_reason[256];
	uint8_t redact_key[32];
	struct database *database;
	struct otr_session *otr_sessions;

	struct token_book tokens;
	struct connection_server *server;
	struct listener *engine_door, *agent_door;

	struct proposal *proposals;
	uint64_t next_number;
	struct subscriber *subscribers;
	struct approval *approvals;
	uint64_t approval_times_ms[64]; /* of the last questions, for the hour's limit */
	size_t n_approval_times;
	struct command *commands;
	uint64_t next_command;
	struct agent_child *agent;
	struct web_child *web;
	uint64_t n_executed, n_denied, n_failed;
	uint64_t n_interrupted;
};

int engine_open(struct engine *e, const struct engine_options *options) MUST_CHECK;
void engine_stop(struct engine *e, const char *why);
/* After a proposal or command ended: when stopping and nothing is left, the loop is let go. */
void engine_maybe_stopped(struct engine *e);
/* Loads the policy again. The old one stays when the new one is refused. */
int engine_load_policy(struct engine *e, struct diag *reterr_diag) MUST_CHECK;
void engine_close(struct engine *e);

static inline uint64_t engine_now_ms(const struct engine *e)
{
	(void)e;
	return clock_monotonic_ms(&clock_system);
}
