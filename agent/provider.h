/*
 * A provider turns a directive into words and proposals: the seam between the
 * agent's loop and a model. `scripted` follows a transcript that comes with the
 * directive; real models are providers that use agent_model_call().
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ipc/message.h"

struct agent;

struct provider_outcome {
	struct buf content; /* all that was said */
	struct buf problem; /* why it failed, for people; empty: it did not */
	const char *code;   /* of the failure: "EXPECTATION_FAILED" ...; a literal */
	uint64_t n_proposed;
};

struct provider {
	const char *name;
	/*
	 * Works on a `process` or `task` message, whose memory lasts until it returns. 0: outcome
	 * says how it went; AGENT_E_* or -errno when the stream broke off.
	 */
	int (*respond)(
		struct agent *a, const struct message *directive, struct provider_outcome *outcome);
};

extern const struct provider provider_scripted;
