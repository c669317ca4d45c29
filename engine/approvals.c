#include "engine/approvals.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/events.h"
#include "engine/fill.h"
#include "engine/pipeline.h"
#include "engine/record.h"

#define HOUR_MS 3600000u

static void approval_free(struct engine *e, struct approval *a)
{
	struct approval **link = &e->approvals;

	while (*link != a)
		link = &(*link)->next;
	*link = a->next;
	free(a->question);
	free(a->type);
	free(a->session);
	free(a);
}

static void record_answer(
	struct engine *e, const struct approval *a, const char *event, const char *origin)
{
	auto_arena struct arena arena = { 0 };
	struct fill f;

	arena_init(&arena, 64u << 10);
	f = fill_start(&arena, 6);
	fill_int(&f, "action", (int64_t)a->number);
	fill_text(&f, "approval", a->id);
	fill_text(&f, "type", a->type);
	fill_hex(&f, "action_hash", a->action_hash, SHA256_SIZE);
	fill_hex(&f, "grant_hash", a->grant_hash, SHA256_SIZE);
	record_event(e, event, a->session, origin, fill_end(&f));
}

static bool is_for(const struct approval *a, const struct proposal *p)
{
	const struct il_verdict *v = &p->verdict;

	return memcmp(a->action_hash, p->analysis.action_hash, SHA256_SIZE) == 0 &&
	       memcmp(a->grant_hash, v->grant_hash, SHA256_SIZE) == 0 &&
	       memcmp(a->policy_hash, v->policy_hash, SHA256_SIZE) == 0 &&
	       memcmp(a->facts_hash, v->facts_hash, SHA256_SIZE) == 0;
}

bool approvals_covers(struct proposal *p)
{
	for (struct approval *a = p->engine->approvals; a; a = a->next) {
		if (!a->approved || !is_for(a, p))
			continue;
		p->approved = true;
		p->approval = arena_text(&p->arena, a->id, strlen(a->id));
		approval_free(p->engine, a);
		return true;
	}
	return false;
}

/* At most approvals.per_hour questions in any hour. */
static bool may_ask(struct engine *e, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->n_approval_times; i++) {
		if (now_ms - e->approval_times_ms[i] < HOUR_MS)
			e->approval_times_ms[kept++] = e->approval_times_ms[i];
	}
	e->n_approval_times = kept;
	if (kept >= e->config.approvals_per_hour || kept == N_ELEMENTS(e->approval_times_ms))
		return false;
	e->approval_times_ms[e->n_approval_times++] = now_ms;
	return true;
}

static char *copy(const char *text)
{
	return strdup(text ? text : "");
}

static struct approval *approval_new(struct proposal *p, const char *question)
{
	struct engine *e = p->engine;
	struct approval *a = calloc(1, sizeof(*a));
	uint8_t random[16];

	if (!a)
		return NULL;
	randombytes_buf(random, sizeof(random));
	hex_encode(random, sizeof(random), a->id);
	memcpy(a->action_hash, p->analysis.action_hash, SHA256_SIZE);
	memcpy(a->grant_hash, p->verdict.grant_hash, SHA256_SIZE);
	memcpy(a->policy_hash, p->verdict.policy_hash, SHA256_SIZE);
	memcpy(a->facts_hash, p->verdict.facts_hash, SHA256_SIZE);
	a->number = p->number;
	a->asked_ms = engine_now_ms(e);
	a->expires_ms = a->asked_ms + e->config.approval_ms;
	a->question = copy(question);
	a->type = copy(p->action.type);
	a->session = copy(p->session);
	a->next = e->approvals;
	e->approvals = a;
	if (a->question && a->type && a->session)
		return a;
	approval_free(e, a);
	return NULL;
}

static struct approval *find_open(struct proposal *p)
{
	for (struct approval *a = p->engine->approvals; a; a = a->next) {
		if (!a->approved && !a->waiting && is_for(a, p))
			return a;
	}
	return NULL;
}

static struct approval *ask(struct proposal *p)
{
	struct approval *a = find_open(p); /* the same question again is one question */
	const char *question;

	if (a)
		return a;
	if (!may_ask(p->engine, engine_now_ms(p->engine))) {
		proposal_fail(p, STATUS_DENIED,
			"Denied: it needs an approval, and this hour's questions are used up.");
		return NULL;
	}
	if (il_approval_question(&p->arena, &p->analysis, &p->verdict, &question) != 0) {
		proposal_fail(p, STATUS_DENIED, "Denied: the question does not fit.");
		return NULL;
	}
	a = approval_new(p, question);
	if (!a) {
		proposal_fail(p, STATUS_DENIED, "Denied: out of memory.");
		return NULL;
	}
	record_answer(p->engine, a, "ApprovalAsked", role_name(p->role));
	events_approval(p, a);
	return a;
}

bool approvals_ask(struct proposal *p)
{
	struct approval *a = ask(p);

	if (!a)
		return false;
	p->approval = arena_text(&p->arena, a->id, strlen(a->id));
	if (!p->wait) {
		proposal_fail(p, STATUS_NEEDS_APPROVAL, "%s",
			p->verdict.reason ? p->verdict.reason : "A person must approve it.");
		return false;
	}
	a->waiting = p;
	return true;
}

static void resume(struct proposal *p, bool approved, const char *why)
{
	p->approved = approved;
	if (!approved)
		proposal_fail(p, p->cancelled ? STATUS_CANCELLED : STATUS_DENIED, "%s", why);
	pipeline_run(p);
}

void approvals_withdraw(struct proposal *p)
{
	for (struct approval *a = p->engine->approvals; a; a = a->next) {
		if (a->waiting != p)
			continue;
		events_approval_settled(p->engine, a, "withdrawn");
		approval_free(p->engine, a);
		resume(p, false, "Withdrawn while it waited for an approval.");
		return;
	}
}

int approvals_answer(
	struct engine *e, const char *id, bool approve, const char *action_hash, const char *origin)
{
	char hash[SHA256_HEX_SIZE];
	struct approval *a = e->approvals;
	struct proposal *p;

	while (a && (a->approved || strcmp(a->id, id) != 0))
		a = a->next;
	if (!a)
		return -ENOENT;
	hex_encode(a->action_hash, SHA256_SIZE, hash);
	if (action_hash && strcmp(hash, action_hash) != 0)
		return -ESTALE;
	p = a->waiting;
	record_answer(e, a, approve ? "ActionApproved" : "ApprovalDenied", origin);
	events_approval_settled(e, a, approve ? "approved" : "denied");
	a->waiting = NULL;
	if (approve && !p) {
		a->approved = true; /* waits for the same proposal, until its time is over */
		return 0;
	}
	approval_free(e, a);
	if (p)
		resume(p, approve, "Denied by the person who was asked.");
	return 0;
}

static void drop(
	struct engine *e, struct approval *a, const char *event, const char *word, const char *why)
{
	struct proposal *p = a->waiting;

	if (!a->approved) {
		record_answer(e, a, event, "engine");
		events_approval_settled(e, a, word);
	}
	approval_free(e, a);
	if (p)
		resume(p, false, why);
}

void approvals_tick(struct engine *e)
{
	uint64_t now_ms = engine_now_ms(e);
	struct approval *a = e->approvals;

	while (a) {
		if (now_ms < a->expires_ms) {
			a = a->next;
			continue;
		}
		drop(e, a, "ApprovalExpired", "expired", "Denied: nobody answered in time.");
		a = e->approvals; /* the resumed proposal may have changed the list */
	}
}

void approvals_close(struct engine *e)
{
	while (e->approvals)
		drop(e, e->approvals, "ApprovalExpired", "withdrawn", "Denied: the engine stops.");
}
