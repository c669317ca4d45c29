/*
 * The messages of peers: one row a kind says who answers it. What the row lists without an
 * answer is told `unavailable` by name.
 */
#pragma once

#include "engine/engine.h"

extern const struct connection_callbacks service_callbacks;

/* Answers with this body, or with an internal error when it is NULL. */
void service_answer(
	struct connection *c, uint64_t stream, enum message_kind kind, const struct value *body);
/* A proposal from a message that carries one. */
void service_propose(struct engine *e, struct connection *c, const struct message *m);
