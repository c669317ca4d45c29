#include "engine/reply.h"

#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "engine/engine.h"
#include "engine/fill.h"

/* Results are text: what is no UTF-8 is shown escaped, a piece cut in its middle is left out. */
static const struct value *content_value(struct proposal *p)
{
	const void *bytes = p->content.data ? (const void *)p->content.data : "";

	if (p->error && p->content.size == 0)
		return value_text(&p->arena, p->error, strlen(p->error));
	if (is_utf8(bytes, p->content.size) && !memchr(bytes, '\0', p->content.size))
		return value_text(&p->arena, bytes, p->content.size);
	{
		auto_buf struct buf text = BUF_INIT(768u << 10);

		utf8_escape(&text, bytes, p->content.size, 512u << 10);
		if (buf_error(&text) != 0)
			return NULL;
		return value_text(&p->arena, buf_get_text(&text), text.size);
	}
}

static const struct value *verdict_summary(struct proposal *p)
{
	struct fill f = fill_start(&p->arena, 8);

	fill_text(&f, "decision", il_decision_name(p->verdict.decision));
	fill_text(&f, "rule", p->verdict.rule);
	fill_text(&f, "reason", p->verdict.reason);
	fill_int(&f, "tier", p->verdict.tier);
	fill_text(&f, "alternative", p->verdict.alternative);
	fill_hex(&f, "grant_hash", p->verdict.grant_hash, SHA256_SIZE);
	return fill_end(&f);
}

static const struct value *result_body(struct proposal *p)
{
	struct fill f = fill_start(&p->arena, 16);

	fill_text(&f, "status", proposal_status_name(p->status));
	fill_value(&f, "content", content_value(p));
	fill_int(&f, "action", (int64_t)p->number);
	fill_hex(&f, "action_hash", p->analysis.action_hash, SHA256_SIZE);
	fill_value(&f, "verdict", verdict_summary(p));
	fill_value(&f, "data", p->data);
	if (p->truncated)
		fill_int(&f, "truncated_at", (int64_t)p->truncated_at);
	if (p->has_exit_status)
		fill_int(&f, "exit_status", p->exit_status);
	fill_text(&f, "label", label_name(p->verdict.label));
	if (p->begun)
		fill_text(&f, "snapshot", p->snapshot);
	fill_text(&f, "approval", p->approval);
	fill_value(&f, "attestation", p->attestation);
	fill_text(&f, "error", p->error);
	return fill_end(&f);
}

static const struct value *tool_body(struct proposal *p)
{
	struct fill f = fill_start(&p->arena, 6);

	fill_text(&f, "call", p->call);
	fill_value(&f, "content", content_value(p));
	fill_bool(&f, "is_error", p->status != STATUS_EXECUTED);
	fill_text(&f, "status", proposal_status_name(p->status));
	fill_text(&f, "label", label_name(p->verdict.label));
	fill_value(&f, "data", p->data);
	return fill_end(&f);
}

static const struct value *effects_of(struct proposal *p)
{
	struct value *list = value_array(&p->arena, p->verdict.n_effects);

	for (size_t i = 0; list && i < p->verdict.n_effects; i++) {
		if (value_push(list, effect_to_value(&p->arena, &p->verdict.effects[i])) != 0)
			return NULL;
	}
	return list;
}

static const struct value *verdict_body(struct proposal *p)
{
	const struct il_verdict *v = &p->verdict;
	struct fill f = fill_start(&p->arena, 16);

	/* A failed step is a deny that names the step. */
	fill_text(&f, "decision", il_decision_name(p->error ? IL_DENY : v->decision));
	fill_int(&f, "tier", v->tier);
	fill_text(&f, "reason", p->error ? p->error : v->reason ? v->reason : "");
	fill_text(&f, "rule", v->rule);
	fill_hex(&f, "action_hash", p->analysis.action_hash, SHA256_SIZE);
	fill_hex(&f, "policy_hash", v->policy_hash, SHA256_SIZE);
	fill_hex(&f, "grant_hash", v->grant_hash, SHA256_SIZE);
	if (p->explain) {
		fill_value(&f, "grant", grant_to_value(&p->arena, &v->grant));
		fill_value(&f, "effects", effects_of(p));
		fill_value(&f, "data", il_verdict_to_value(&p->arena, v));
	}
	return fill_end(&f);
}

void reply_send(struct proposal *p)
{
	const struct value *body = NULL;
	enum message_kind kind = MESSAGE_RESULT;
	int r;

	if (!p->connection || !connection_stream_is_open(p->connection, p->stream))
		return;
	switch (p->kind) {
	case PROPOSAL_EVALUATE:
		kind = MESSAGE_VERDICT;
		body = verdict_body(p);
		break;
	case PROPOSAL_TOOL:
		kind = MESSAGE_TOOL_RESULT;
		body = tool_body(p);
		break;
	case PROPOSAL_PROPOSE:
		body = result_body(p);
		break;
	}
	r = body ? connection_send(p->connection, kind, p->stream, body) : -ENOMEM;
	if (r != 0 && r != -EPIPE) {
		log_line(LOG_LEVEL_ERROR, "reply-failed action=%llu err=%d",
			(unsigned long long)p->number, r);
		(void)!connection_error(p->connection, p->stream, MESSAGE_ERROR_INTERNAL,
			"the answer does not fit");
	}
}
