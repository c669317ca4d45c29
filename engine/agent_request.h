/*
 * What the agent is asked to do: one send_message or replay at a time, in the order they
 * came. The asker's stream gets the events of that session until `ok` or `error` ends it.
 */
#pragma once

#include "engine/agent_child.h"
#include "ipc/bucket.h"

enum agent_state {
	AGENT_ABSENT,
	AGENT_STARTING,
	AGENT_READY,
	AGENT_BUSY,
	AGENT_STOPPED,
	AGENT_SPENT
};

struct agent_request {
	struct agent_request *next;
	struct arena arena;
	struct connection *asker; /* NULL: gone */
	uint64_t stream;          /* the asker's */
	const char *session, *content, *mode, *message;
	const struct value *transcript;
	uint64_t process; /* our stream to the agent while it works; 0: waits */
};

struct agent_child {
	struct engine *engine;
	uv_process_t process;
	uv_pipe_t errors;
	uv_timer_t timer;
	struct connection *connection; /* NULL: none */
	enum agent_state state;
	bool alive;
	int n_handles;
	uint64_t crashes_ms[16];
	size_t n_crashes;
	struct bucket log_bucket;
	struct agent_request *requests; /* the first one works */
	char input[4096];
};

void agent_requests_next(struct engine *e);
void agent_requests_fail(struct engine *e, const char *why);
void agent_requests_forget(struct engine *e, const struct connection *c);
