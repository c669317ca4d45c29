/*
 * Events: what happens to actions and answers, told to those who subscribed and to the stream that
 * an action came from. A slow reader loses events (and is told how many), never delays anybody.
 */
#pragma once

#include "engine/approvals.h"
#include "engine/proposal.h"
#include "ipc/message.h"

struct subscriber {
	struct subscriber *next;
	struct connection *connection;
	uint64_t stream;
	char *session;    /* owned; NULL: all */
	uint32_t kinds;   /* bits of enum event_kind */
	uint64_t process; /* a message or replay under way: its stream to the agent; 0: a
			     subscription */
};

/* types may be NULL: all. -EINVAL for an unknown one. */
int events_subscribe(struct engine *e, struct connection *c, uint64_t stream,
	const struct value *types, const char *session, struct subscriber **ret_subscriber)
	MUST_CHECK;
void events_unsubscribe(struct engine *e, const struct connection *c, uint64_t stream);
/* All of this connection. */
void events_forget(struct engine *e, const struct connection *c);
void events_close(struct engine *e);

void events_send(struct engine *e, enum event_kind kind, const char *session, uint64_t action,
	const struct value *data);
void events_verdict(struct proposal *p);
void events_started(struct proposal *p);
void events_snapshot(struct proposal *p);
void events_completed(struct proposal *p);
void events_approval(struct proposal *p, const struct approval *a);
void events_approval_settled(struct engine *e, const struct approval *a, const char *how);
