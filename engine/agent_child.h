/*
 * The built-in agent: a child on one end of a socketpair, confined before its first byte, with a
 * budget of five crashes a minute of its own. One request (send_message, replay) works at a time,
 *others wait.
 *
 *	ABSENT ──spawn──> STARTING ──hello, canary good──> READY ──process──> BUSY ──complete──>
 *READY └── dead: 1 s, again; budget spent: SPENT (the engine lives on)
 */
#pragma once

#include "engine/engine.h"

int agent_start(struct engine *e) MUST_CHECK;
void agent_kill(struct engine *e);
/* SIGTERM now; it is not started again. */
void agent_stop(struct engine *e);
bool agent_is_alive(const struct engine *e);
void agent_close(struct engine *e);
/* {pid, state} for status. */
void agent_describe(const struct engine *e, int *ret_pid, const char **ret_state);
/* The session that this stream of ours to the agent works for; NULL: none. */
const char *agent_session(const struct engine *e, uint64_t process);

void agent_on_ready(void *ctx, struct connection *c);
bool agent_on_canary(void *ctx, struct connection *c, const char *report, size_t n);
void agent_on_request(struct engine *e, struct connection *c, const struct message *m);
void agent_on_message(struct engine *e, struct connection *c, const struct message *m);
void agent_on_tool_defs(struct engine *e, struct connection *c, const struct message *m);
void agent_cancel_request(struct engine *e, struct connection *c, uint64_t stream);
void agent_connection_closed(struct engine *e, const struct connection *c);
