#include "engine/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/engine.h"
#include "engine/fill.h"
#include "engine/pipeline.h"

struct append {
	struct handoff_item item;
	struct engine *engine;
	struct proposal *proposal; /* or NULL: nobody waits */
	int r;
};

void record_part_done(struct proposal *p)
{
	if (--p->n_pending == 0)
		pipeline_run(p);
}

static void on_appended(struct handoff_item *item)
{
	struct append *append = CONTAINER(item, struct append, item);
	struct engine *e = append->engine;
	struct proposal *p = append->proposal;
	int r = append->r;

	free(append);
	if (r != 0 && !e->audit_broken) {
		e->audit_broken = true;
		log_line(LOG_LEVEL_ERROR, "audit-broken err=%d: nothing is executed any more", r);
	}
	if (!p)
		return;
	if (r != 0) {
		p->record_error = r;
		p->record_failed = "audit log";
	}
	record_part_done(p);
}

static void on_durable(void *ctx, int r, const struct il_audit_receipt *receipt)
{
	struct append *append = ctx;

	(void)receipt;
	append->r = r;
	handoff_post(&append->engine->handoff, &append->item);
}

static int append_entry(struct engine *e, struct proposal *p, const struct il_audit_entry *entry)
{
	struct append *append = calloc(1, sizeof(*append));
	int r;

	if (!append)
		return -ENOMEM;
	append->item.fn = on_appended;
	append->engine = e;
	append->proposal = p;
	r = il_audit_append(e->audit, entry, on_durable, append);
	if (r != 0) {
		free(append);
		e->audit_broken = true;
		return r;
	}
	if (p)
		p->n_pending++;
	return 0;
}

static const char *origin_of(struct proposal *p)
{
	return arena_printf(
		&p->arena, "%s:%llu", role_name(p->role), (unsigned long long)p->connection_id);
}

/* What belongs to the decision is in the intent, what belongs to the deed in the outcome. */
static const struct value *details_of(struct proposal *p, bool intent)
{
	struct fill f = fill_start(&p->arena, 16);

	fill_int(&f, "action", (int64_t)p->number);
	if (intent) {
		fill_value(&f, "payload", p->redacted);
		fill_text(&f, "cwd", p->action.cwd);
		fill_text(&f, "rule", p->verdict.rule);
		fill_text(&f, "reason", p->verdict.reason);
		fill_int(&f, "tier", p->verdict.tier);
		fill_text(&f, "approval", p->approval);
		fill_hex(&f, "policy_hash", p->verdict.policy_hash, SHA256_SIZE);
		fill_hex(&f, "facts_hash", p->verdict.facts_hash, SHA256_SIZE);
		fill_value(&f, "grant", grant_to_value(&p->arena, &p->verdict.grant));
	} else {
		fill_text(&f, "status", proposal_status_name(p->status));
		fill_int(&f, "result_bytes", (int64_t)p->content.size);
		if (p->has_exit_status)
			fill_int(&f, "exit_status", p->exit_status);
		fill_value(&f, "changes", p->changes);
	}
	fill_text(&f, "error", p->error);
	return fill_end(&f);
}

int record_proposal(struct proposal *p, const char *event)
{
	bool outcome = p->intended;
	bool allowed = p->verdict.decision == IL_ALLOW;
	struct il_audit_entry entry = { .event = event,
		.session = p->session,
		.origin = origin_of(p),
		.action_type = p->action.type,
		.action_hash = p->analysis.action_hash,
		.details = details_of(p, !outcome),
		.verdict = il_decision_name(p->approved ? IL_ALLOW : p->verdict.decision),
		.grant_hash = allowed || p->approved ? p->verdict.grant_hash : NULL,
		.snapshot = p->begun ? p->snapshot : NULL,
		.attestation = p->attestation,
		.otr = p->otr };

	if (!entry.origin || !entry.details)
		return -ENOMEM;
	return append_entry(p->engine, p, &entry);
}

void record_event(struct engine *e, const char *event, const char *session, const char *origin,
	const struct value *details)
{
	struct il_audit_entry entry = {
		.event = event, .session = session, .origin = origin, .details = details
	};
	int r = append_entry(e, NULL, &entry);

	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "audit-append-failed event=%s err=%d", event, r);
}
