#include "engine/events.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/fill.h"
#include "engine/reply.h"

static int kinds_of(const struct value *types, uint32_t *ret_kinds)
{
	uint32_t kinds = 0;

	for (size_t i = 0; types && i < types->size; i++) {
		unsigned kind = 0;

		while (kind < EVENT_N_ &&
			strcmp(event_name((enum event_kind)kind), types->items[i].text) != 0)
			kind++;
		if (kind == EVENT_N_)
			return -EINVAL;
		kinds |= 1u << kind;
	}
	*ret_kinds = types ? kinds : UINT32_MAX;
	return 0;
}

int events_subscribe(struct engine *e, struct connection *c, uint64_t stream,
	const struct value *types, const char *session, struct subscriber **ret_subscriber)
{
	struct subscriber *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = kinds_of(types, &s->kinds);
	if (r == 0 && session) {
		s->session = strdup(session);
		r = s->session ? 0 : -ENOMEM;
	}
	if (r != 0) {
		free(s);
		return r;
	}
	s->connection = c;
	s->stream = stream;
	s->next = e->subscribers;
	e->subscribers = s;
	*ret_subscriber = s;
	return 0;
}

static void forget(struct engine *e, const struct connection *c, uint64_t stream, bool all)
{
	struct subscriber **link = &e->subscribers;

	while (*link) {
		struct subscriber *s = *link;

		if (s->connection != c || (!all && s->stream != stream)) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		free(s->session);
		free(s);
	}
}

void events_unsubscribe(struct engine *e, const struct connection *c, uint64_t stream)
{
	forget(e, c, stream, false);
}

void events_forget(struct engine *e, const struct connection *c)
{
	forget(e, c, 0, true);
}

void events_close(struct engine *e)
{
	while (e->subscribers)
		events_forget(e, e->subscribers->connection);
}

static const struct value *body_of(struct arena *a, enum event_kind kind, const char *session,
	uint64_t action, const struct value *data)
{
	struct fill f = fill_start(a, 6);

	fill_text(&f, "type", event_name(kind));
	fill_value(&f, "data", data);
	fill_text(&f, "session", session);
	if (action)
		fill_int(&f, "action", (int64_t)action);
	fill_int(&f, "time_ns", clock_wall_ns(&clock_system));
	return fill_end(&f);
}

void events_send(struct engine *e, enum event_kind kind, const char *session, uint64_t action,
	const struct value *data)
{
	auto_arena struct arena a = { 0 };
	const struct value *body = NULL;

	if (!data)
		return;
	arena_init(&a, 64u << 10);
	for (struct subscriber *s = e->subscribers; s; s = s->next) {
		if ((s->kinds & (1u << kind)) == 0)
			continue;
		if (s->session && (!session || strcmp(s->session, session) != 0))
			continue;
		if (!body)
			body = body_of(&a, kind, session, action, data);
		/* Dropped for a slow reader and counted there; a closed one is forgotten by its
		 * callback. */
		if (body && connection_event(s->connection, s->stream, body) < 0)
			continue;
	}
}

static struct fill start(struct proposal *p, size_t capacity)
{
	struct fill f = fill_start(&p->arena, capacity + 2);

	fill_text(&f, "type", p->action.type);
	if (p->call)
		fill_text(&f, "call", p->call);
	return f;
}

static bool is_heard(const struct proposal *p)
{
	return p->engine->subscribers != NULL;
}

static void tell(struct proposal *p, enum event_kind kind, const struct fill *f)
{
	events_send(p->engine, kind, p->session, p->number, fill_end(f));
}

void events_verdict(struct proposal *p)
{
	struct fill f;

	if (!is_heard(p))
		return;
	f = start(p, 2);
	fill_value(&f, "payload",
		il_redact(&p->arena, p->action.payload, p->engine->redact_key,
			sizeof(p->engine->redact_key)));
	tell(p, EVENT_ACTION_PROPOSED, &f);
	f = start(p, 8);
	fill_value(&f, "verdict", il_verdict_to_value(&p->arena, &p->verdict));
	fill_text(&f, "decision", il_decision_name(p->verdict.decision));
	fill_text(&f, "rule", p->verdict.rule);
	fill_text(&f, "reason", p->verdict.reason);
	fill_int(&f, "tier", p->verdict.tier);
	tell(p, EVENT_SHIELD_VERDICT, &f);
	if (p->otr && p->verdict.rule && strcmp(p->verdict.rule, "OTR") == 0) {
		f = start(p, 1);
		fill_text(&f, "reason", p->verdict.reason);
		tell(p, EVENT_OTR_BLOCKED, &f);
	}
}

void events_started(struct proposal *p)
{
	struct fill f;

	if (!is_heard(p))
		return;
	f = start(p, 1);
	fill_hex(&f, "grant_hash", p->verdict.grant_hash, SHA256_SIZE);
	tell(p, EVENT_ACTION_STARTED, &f);
}

void events_snapshot(struct proposal *p)
{
	struct fill f;

	if (!is_heard(p))
		return;
	f = start(p, 2);
	fill_text(&f, "snapshot", p->snapshot);
	fill_int(&f, "places", (int64_t)p->n_places);
	tell(p, EVENT_SNAPSHOT_TAKEN, &f);
}

void events_completed(struct proposal *p)
{
	struct fill f;

	if (!is_heard(p))
		return;
	f = start(p, 10);
	fill_text(&f, "status", proposal_status_name(p->status));
	fill_text(&f, "error", p->error);
	if (p->begun)
		fill_text(&f, "snapshot", p->snapshot);
	fill_int(&f, "result_bytes", (int64_t)p->content.size);
	if (p->has_exit_status)
		fill_int(&f, "exit_status", p->exit_status);
	fill_value(&f, "changes", p->changes);
	fill_value(&f, "attestation", p->attestation);
	tell(p, EVENT_ACTION_COMPLETED, &f);
}

static const struct value *approval_data(
	struct arena *arena, const struct approval *a, const char *how)
{
	struct fill f = fill_start(arena, 6);

	fill_text(&f, "approval", a->id);
	fill_text(&f, "type", a->type);
	fill_text(&f, "question", a->question);
	fill_hex(&f, "action_hash", a->action_hash, SHA256_SIZE);
	fill_int(&f, "expires_in_ms", (int64_t)(a->expires_ms - a->asked_ms));
	fill_text(&f, "settled", how);
	return fill_end(&f);
}

void events_approval(struct proposal *p, const struct approval *a)
{
	const struct value *data = approval_data(&p->arena, a, NULL);

	events_send(p->engine, EVENT_APPROVAL_REQUIRED, a->session, a->number, data);
	if (p->kind == PROPOSAL_PROPOSE && p->connection && data) {
		const struct value *body =
			body_of(&p->arena, EVENT_APPROVAL_REQUIRED, a->session, a->number, data);

		/* A failure means that the connection closes, which cancels p. */
		if (body)
			(void)!connection_event(p->connection, p->stream, body);
	}
}

void events_approval_settled(struct engine *e, const struct approval *a, const char *how)
{
	auto_arena struct arena arena = { 0 };

	arena_init(&arena, 128u << 10);
	events_send(
		e, EVENT_APPROVAL_SETTLED, a->session, a->number, approval_data(&arena, a, how));
}
