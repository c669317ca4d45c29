#include "engine/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/approvals.h"
#include "engine/engine.h"
#include "engine/events.h"
#include "engine/execute.h"
#include "engine/facts.h"
#include "engine/record.h"
#include "engine/reply.h"
#include "engine/writers.h"

enum step_end {
	STEP_NEXT,
	STEP_WAIT
};

/* ---- work on the thread pool ---- */

struct pool_work {
	uv_work_t req;
	struct proposal *proposal;
	void (*work)(struct proposal *p);
};

static void on_pool(uv_work_t *req)
{
	struct pool_work *w = req->data;

	w->work(w->proposal);
}

static void on_pool_done(uv_work_t *req, int status)
{
	struct pool_work *w = req->data;
	struct proposal *p = w->proposal;

	free(w);
	if (status != 0)
		proposal_fail(p, STATUS_CANCELLED, "The engine is stopping.");
	pipeline_run(p);
}

static enum step_end on_thread(struct proposal *p, void (*work)(struct proposal *p))
{
	struct pool_work *w = calloc(1, sizeof(*w));

	if (!w) {
		proposal_fail(p, STATUS_FAILED, "out of memory");
		return STEP_NEXT;
	}
	w->req.data = w;
	w->proposal = p;
	w->work = work;
	if (uv_queue_work(&p->engine->loop, &w->req, on_pool, on_pool_done) == 0)
		return STEP_WAIT;
	free(w);
	proposal_fail(p, STATUS_FAILED, "no thread");
	return STEP_NEXT;
}

/* ---- the steps ---- */

static enum step_end step_analyse(struct proposal *p)
{
	int r = il_analyse(&p->arena, &p->action, &p->analysis);

	if (r != 0)
		proposal_fail(
			p, STATUS_DENIED, "analyse: the action does not fit (%s).", strerror(-r));
	return STEP_NEXT;
}

static void work_facts(struct proposal *p)
{
	int r = facts_gather(&p->arena, &p->analysis, &p->facts);

	if (r != 0)
		proposal_fail(p, STATUS_DENIED, "facts: could not be gathered (%s).", strerror(-r));
	else
		p->n_facts = p->analysis.n_wanted;
}

static enum step_end step_facts(struct proposal *p)
{
	return p->analysis.n_wanted == 0 ? STEP_NEXT : on_thread(p, work_facts);
}

/* The engine itself holds the grants of file actions: on descriptors, each checked. */
static const struct il_judge_enforcer own_enforcer = { .filesystem = true,
	.network = true,
	.net_hosts = true,
	.hide = true,
	.armed_readonly = true,
	.processes = true };

static bool check_ceiling(struct proposal *p)
{
	struct engine *e = p->engine;
	struct grant ceiling;
	struct diag diag = { 0 };
	int r = il_policy_ceiling(&p->arena, e->policy, e->workspace, e->home, &ceiling);

	if (r == 0 && grant_subset(&p->verdict.grant, &ceiling, &diag))
		return true;
	p->verdict.decision = IL_DENY;
	p->verdict.rule = "CEILING";
	p->verdict.reason =
		arena_printf(&p->arena, "The grant would be wider than the user's ceiling: %s",
			r == 0 ? diag.text : strerror(-r));
	p->verdict.grant = GRANT_NONE;
	return false;
}

static enum step_end step_judge(struct proposal *p)
{
	struct engine *e = p->engine;
	bool own = p->analysis.type && strcmp(p->analysis.type->group, "files") == 0;
	struct il_flow flow = { 0 };
	struct il_context context = { .policy = e->policy,
		.flow = &flow,
		.enforcer = own ? &own_enforcer : &e->enforcer,
		.can_ask = true,
		.otr = p->otr,
		.now_ms = engine_now_ms(e),
		.state_dir = e->state_path,
		.config_dir = e->config_dir,
		.program_dir = e->program_dir,
		.origin = role_name(p->role) };

	il_judge(&p->arena, &p->analysis, p->facts, p->n_facts, &context, &p->verdict);
	if (p->verdict.decision != IL_DENY)
		(void)check_ceiling(p); /* it denies by itself */
	if (p->kind == PROPOSAL_EVALUATE)
		return STEP_NEXT;
	events_verdict(p);
	if (p->verdict.decision == IL_DENY)
		proposal_fail(
			p, STATUS_DENIED, "%s", p->verdict.reason ? p->verdict.reason : "Denied.");
	else if (!p->analysis.type->executable || !executor_find(p->analysis.type->name))
		proposal_fail(p, STATUS_FAILED, "unsupported_action: %s has no executor here.",
			p->action.type);
	return STEP_NEXT;
}

static enum step_end step_redact(struct proposal *p)
{
	const struct engine *e = p->engine;

	p->redacted = il_redact(&p->arena, p->action.payload, e->redact_key, sizeof(e->redact_key));
	if (!p->redacted)
		proposal_fail(p, STATUS_FAILED, "The payload does not fit into a record.");
	return STEP_NEXT;
}

static enum step_end step_human(struct proposal *p)
{
	if (p->verdict.decision != IL_ASK || approvals_covers(p))
		return STEP_NEXT;
	return approvals_ask(p) ? STEP_WAIT : STEP_NEXT;
}

static enum step_end step_queue(struct proposal *p)
{
	if (places_of(p) != 0) {
		proposal_fail(p, STATUS_FAILED, "The action changes too many places at once.");
		return STEP_NEXT;
	}
	return writers_enter(p) ? STEP_NEXT : STEP_WAIT;
}

static enum step_end step_record(struct proposal *p)
{
	struct engine *e = p->engine;
	int r = e->audit_broken ? -EIO : 0;

	p->record_failed = "audit log";
	if (e->paused || e->stopping) {
		proposal_fail(p, STATUS_FAILED,
			e->stopping ? "The engine is stopping." : "The engine is paused.");
		return STEP_NEXT;
	}
	p->n_pending = 1; /* this step itself, so that no part resumes before all have started */
	if (r == 0)
		r = record_proposal(p, "ActionIntended");
	if (r == 0 && p->n_places > 0) {
		p->record_failed = "chronicle";
		r = record_begin(p);
	}
	if (r != 0)
		p->record_error = r;
	else
		p->record_failed = NULL;
	return --p->n_pending == 0 ? STEP_NEXT : STEP_WAIT;
}

static enum step_end step_recorded(struct proposal *p)
{
	if (p->record_error != 0)
		proposal_fail(p, STATUS_FAILED, "Not executed: the %s could not be written (%s).",
			p->record_failed,
			p->record_error < 0 ? strerror(-p->record_error) : "refused");
	p->intended = true;
	p->record_error = 0;
	if (p->begun)
		events_snapshot(p);
	return STEP_NEXT;
}

static void work_recheck(struct proposal *p)
{
	const char *changed = NULL;

	if (!facts_still_hold(&p->arena, p->facts, p->n_facts, &changed))
		proposal_fail(
			p, STATUS_FAILED, "Not executed: %s changed after it was judged.", changed);
}

static enum step_end step_recheck(struct proposal *p)
{
	if (!p->approved && engine_now_ms(p->engine) > p->verdict.expires_ms) {
		proposal_fail(
			p, STATUS_FAILED, "Not executed: the verdict expired; propose it again.");
		return STEP_NEXT;
	}
	return p->n_facts == 0 ? STEP_NEXT : on_thread(p, work_recheck);
}

static enum step_end step_execute(struct proposal *p)
{
	const struct executor *executor = executor_find(p->analysis.type->name);
	int r;

	events_started(p);
	if (executor->work)
		return on_thread(p, executor->work);
	r = executor->start(p);
	if (r == 0)
		return STEP_WAIT;
	proposal_fail(p, STATUS_FAILED, "Could not be started: %s.", strerror(r < 0 ? -r : EIO));
	return STEP_NEXT;
}

static enum step_end step_seal(struct proposal *p)
{
	int r;

	if (!p->begun)
		return STEP_NEXT;
	p->n_pending = 1;
	r = record_seal(p);
	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "seal-failed action=%llu err=%d",
			(unsigned long long)p->number, r);
	return --p->n_pending == 0 ? STEP_NEXT : STEP_WAIT;
}

static const char *outcome_event(const struct proposal *p)
{
	if (!p->intended)
		return p->status == STATUS_CANCELLED ? "ActionCancelled"
		       : p->status == STATUS_FAILED  ? "ActionFailed"
						     : "ActionBlocked";
	switch (p->status) {
	case STATUS_EXECUTED:
		return "ActionExecuted";
	case STATUS_CANCELLED:
		return "ActionCancelled";
	case STATUS_DENIED:
	case STATUS_NEEDS_APPROVAL:
	case STATUS_FAILED:
	case STATUS_INTERRUPTED:
	case STATUS_N_:
		break;
	}
	return "ActionFailed";
}

static enum step_end step_outcome(struct proposal *p)
{
	int r;

	writers_leave(p);
	p->n_pending = 1;
	r = p->status == STATUS_NEEDS_APPROVAL ? 0 : record_proposal(p, outcome_event(p));
	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "outcome-not-recorded action=%llu err=%d",
			(unsigned long long)p->number, r);
	return --p->n_pending == 0 ? STEP_NEXT : STEP_WAIT;
}

static enum step_end step_reply(struct proposal *p)
{
	struct engine *e = p->engine;

	if (p->kind != PROPOSAL_EVALUATE) {
		e->n_executed += p->status == STATUS_EXECUTED;
		e->n_denied += p->status == STATUS_DENIED;
		e->n_failed += p->status == STATUS_FAILED;
		events_completed(p);
	}
	reply_send(p);
	return STEP_NEXT;
}

static const struct step {
	const char *name;
	enum step_end (*run)(struct proposal *p);
	bool always;   /* also after a failure */
	bool evaluate; /* also for a mere question */
} steps[] = {
	{ "analyse", step_analyse, false, true },
	{ "facts", step_facts, false, true },
	{ "judge", step_judge, false, true },
	{ "redact", step_redact, true, false },
	{ "human", step_human, false, false },
	{ "queue", step_queue, false, false },
	{ "record", step_record, false, false },
	{ "recorded", step_recorded, false, false },
	{ "recheck", step_recheck, false, false },
	{ "execute", step_execute, false, false },
	{ "seal", step_seal, true, false },
	{ "outcome", step_outcome, true, false },
	{ "reply", step_reply, true, true },
};

static bool is_due(struct proposal *p, const struct step *s)
{
	if (p->kind == PROPOSAL_EVALUATE && !s->evaluate)
		return false;
	if (p->cancelled && !s->always)
		proposal_fail(p, STATUS_CANCELLED, "Withdrawn before the step \"%s\".", s->name);
	return s->always || !p->error;
}

void pipeline_run(struct proposal *p)
{
	struct engine *e = p->engine;

	while (p->step < N_ELEMENTS(steps)) {
		const struct step *s = &steps[p->step++];

		if (is_due(p, s) && s->run(p) == STEP_WAIT)
			return;
	}
	(void)proposal_free(p);
	engine_maybe_stopped(e);
}

void pipeline_cancel(struct proposal *p)
{
	p->cancelled = true;
	if (p->command || p->files) {
		execute_cancel(p);
	} else if (p->waits_turn) {
		p->waits_turn = false;
		pipeline_run(p);
	} else {
		approvals_withdraw(p);
	}
}
