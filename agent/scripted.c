/*
 * The scripted model: does what the transcript of its directive says, step by
 * step, so that the whole way from a proposal to its record can be walked without
 * a model. It knows nothing of policy; what happens is the engine's answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"

struct script {
	struct agent *agent;
	struct provider_outcome *outcome;
	bool has_result;
	char status[16];
	struct buf answer; /* content of the last result */
};

static int wrong_step(struct script *s, size_t at, const char *why)
{
	s->outcome->code = "BAD_TRANSCRIPT";
	buf_printf(&s->outcome->problem, "step %zu: %s", at + 1, why);
	return 0;
}

static int step_say(struct script *s, const struct value *said)
{
	buf_bytes(&s->outcome->content, said->text, said->size);
	return agent_say(s->agent, said->text);
}

static int step_propose(struct script *s, size_t at, const struct value *proposal)
{
	const char *tool = value_get_text(proposal, "type");
	const struct value *payload = value_get(proposal, "payload");
	struct message result;
	char call[32];
	int r;

	if (!tool || !payload || payload->kind != VALUE_MAP || proposal->size != 2)
		return wrong_step(s, at, "propose is {type, payload}");
	(void)snprintf(call, sizeof(call), "call-%" PRIu64, ++s->outcome->n_proposed);
	r = agent_propose(s->agent, call, tool, payload, &result);
	buf_clear(&s->answer);
	s->has_result = true;
	if (r == AGENT_E_REFUSED) {
		(void)snprintf(s->status, sizeof(s->status), "error");
		buf_text(&s->answer, message_text(&result, "name"));
		return 0;
	}
	if (r != 0)
		return r;
	(void)snprintf(s->status, sizeof(s->status), "%s", message_text(&result, "status"));
	buf_text(&s->answer, message_text(&result, "content"));
	return 0;
}

/* {"status": "denied", "contains": "..."}: about the last proposal. */
static int step_expect(struct script *s, size_t at, const struct value *expected)
{
	const char *status = value_get_text(expected, "status");
	const char *contains = value_get_text(expected, "contains");

	if (!s->has_result || (!status && !contains) ||
		expected->size != (size_t)(status != NULL) + (size_t)(contains != NULL))
		return wrong_step(s, at, "expect is {status?, contains?} after a proposal");
	if (status && strcmp(status, s->status) != 0) {
		s->outcome->code = "EXPECTATION_FAILED";
		buf_printf(&s->outcome->problem, "step %zu: expected %s, got %s: %.400s", at + 1,
			status, s->status, buf_get_text(&s->answer));
	} else if (contains && !strstr(buf_get_text(&s->answer), contains)) {
		s->outcome->code = "EXPECTATION_FAILED";
		buf_printf(&s->outcome->problem, "step %zu: the answer does not contain \"%.200s\"",
			at + 1, contains);
	}
	return 0;
}

static int step_tools(struct script *s, const struct value *groups)
{
	struct message defs;
	int r = agent_tools(s->agent, groups, &defs);

	return r == AGENT_E_REFUSED ? 0 : r;
}

static int step_model(struct script *s, size_t at, const struct value *call)
{
	const char *purpose = value_get_text(call, "purpose");
	const char *body = value_get_text(call, "body");
	unsigned status = 0;
	int r;

	if (!purpose || !body || call->size != 2)
		return wrong_step(s, at, "model is {purpose, body}");
	buf_clear(&s->answer);
	r = agent_model_call(s->agent, purpose, body, &s->answer, &status);
	s->has_result = true;
	if (r == AGENT_E_REFUSED) {
		(void)snprintf(s->status, sizeof(s->status), "error");
		return 0;
	}
	(void)snprintf(s->status, sizeof(s->status), "%u", status);
	return r;
}

static int run_step(struct script *s, size_t at, const struct value *step)
{
	static const struct value nothing = { .kind = VALUE_NIL };
	const char *what = step->size == 1 ? step->pairs[0].key : "";
	const struct value *v = step->size == 1 ? step->pairs[0].value : &nothing;

	if (strcmp(what, "say") == 0 && v->kind == VALUE_TEXT)
		return step_say(s, v);
	if (strcmp(what, "propose") == 0 && v->kind == VALUE_MAP)
		return step_propose(s, at, v);
	if (strcmp(what, "expect") == 0 && v->kind == VALUE_MAP)
		return step_expect(s, at, v);
	if (strcmp(what, "tools") == 0 && v->kind == VALUE_ARRAY)
		return step_tools(s, v);
	if (strcmp(what, "remember") == 0 && v->kind == VALUE_TEXT)
		return agent_remember(s->agent, v->text);
	if (strcmp(what, "model") == 0 && v->kind == VALUE_MAP)
		return step_model(s, at, v);
	return wrong_step(s, at, "is none of say, propose, expect, tools, remember, model");
}

static int scripted_respond(
	struct agent *a, const struct message *directive, struct provider_outcome *outcome)
{
	const struct value *transcript = message_value(directive, "transcript");
	struct script s = { .agent = a, .outcome = outcome, .answer = BUF_INIT(4u << 20) };
	int r = 0;

	if (!transcript) {
		outcome->code = "NO_MODEL";
		buf_text(&outcome->problem,
			"no model is configured, and no transcript came with the message");
		return 0;
	}
	/* A failed expectation ends the script: what follows was written for another world. */
	for (size_t i = 0; r == 0 && i < transcript->size && outcome->problem.size == 0; i++)
		r = run_step(&s, i, &transcript->items[i]);
	buf_done(&s.answer);
	return r;
}

const struct provider provider_scripted = { .name = "scripted", .respond = scripted_respond };
