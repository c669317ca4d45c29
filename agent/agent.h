/*
 * The agent's side of its one stream: it takes directives, lets a model work
 * on each, and passes on what the model says and proposes. It holds no file,
 * no key and no descriptor but the stream; whatever it wants done it proposes.
 *
 *	agent_open(fd) → agent_join() (hello, canary report) → agent_run() → agent_done()
 *
 * One directive at a time: while one is under way, `shutdown` ends it, `cancel` on
 * its stream ends it, and a second one is answered "busy".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/provider.h"
#include "ipc/client.h"

#define AGENT_STREAM_FD 3

struct agent {
	struct client client; /* owned */
	enum role role;
	const struct provider *provider; /* borrowed */
	uint64_t stream;                 /* of the directive under way; 0: none */
	enum message_kind opened_by;
	bool cancelled, stopping;
};

enum {
	AGENT_E_CANCELLED = 1, /* the directive was withdrawn, or we are to stop */
	AGENT_E_REFUSED,       /* the engine answered `error` */
	AGENT_E_CLOSED,        /* the engine is gone */
};

/* Takes fd. */
int agent_open(struct agent *a, int fd, enum role role, const struct provider *provider) MUST_CHECK;
void agent_done(struct agent *a);
/* hello with the token, then the report of the canary. */
int agent_join(struct agent *a, const char *token, const char *report, size_t n_report) MUST_CHECK;
/* Until the engine stops us (0) or is gone (AGENT_E_CLOSED). */
int agent_run(struct agent *a) MUST_CHECK;

/* ---- for providers, while a directive is under way ---- */

int agent_say(struct agent *a, const char *text) MUST_CHECK;
/*
 * Proposes one action and waits for what became of it. Memory of ret_result is the client's and
 * ends with the next call.
 */
int agent_propose(struct agent *a, const char *call, const char *tool,
	const struct value *arguments, struct message *ret_result) MUST_CHECK;
/* Asks for the tools of these groups. */
int agent_tools(struct agent *a, const struct value *groups, struct message *ret_defs) MUST_CHECK;
int agent_remember(struct agent *a, const char *content) MUST_CHECK;
/*
 * One call of a model: body is the provider's request as JSON; URL, headers and key are added by
 * the fetcher. The answer's bytes are appended to answer (its limit holds), *ret_status is HTTP's.
 */
int agent_model_call(struct agent *a, const char *purpose, const char *body, struct buf *answer,
	unsigned *ret_status) MUST_CHECK;
