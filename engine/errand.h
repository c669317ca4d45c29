/*
 * A question that blocks: it is answered on a thread, and the answer goes to the asker if he is
 * still there. Everything is in its arena.
 */
#pragma once

#include "engine/engine.h"

struct errand {
	struct job job;
	uv_work_t req;
	struct engine *engine;
	struct arena arena;
	struct message message; /* a copy */
	uint64_t connection_id;
	void (*work)(struct errand *q);
	/* set by work */
	enum message_kind answer_kind;
	const struct value *answer;
	enum message_error error; /* when refused is set */
	const char *refused;
};

/* On a thread of the pool, or on the chronicle's. */
void errand_run(struct engine *e, struct connection *c, const struct message *m,
	void (*work)(struct errand *q), bool on_chronicle);
/* NULL: it is gone. */
struct connection *errand_connection(struct engine *e, uint64_t id);
