#include "agent/agent.h"

#include <string.h>

#define CONTENT_LIMIT (512u << 10)
#define CREDIT_STEP   (128u << 10)

static const char agent_program[] = "interlock-agent";

int agent_open(struct agent *a, int fd, enum role role, const struct provider *provider)
{
	*a = (struct agent){ .client = CLIENT_NONE, .role = role, .provider = provider };
	return client_adopt(&a->client, fd);
}

void agent_done(struct agent *a)
{
	client_done(&a->client);
}

static const struct value *text(struct arena *arena, const char *t)
{
	return value_text(arena, t, strlen(t));
}

/* The first error stays; NULL values mean that the arena was full. */
static void put(int *r, struct value *map, const char *key, const struct value *v)
{
	if (*r == 0)
		*r = value_put(map, key, v);
}

int agent_join(struct agent *a, const char *token, const char *report, size_t n_report)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	int r = client_hello(&a->client, a->role, token, agent_program, NULL);

	if (r != 0)
		return r;
	arena_init(&arena, 256u << 10);
	body = value_map(&arena, 1);
	put(&r, body, "report", value_text(&arena, report, n_report));
	return r == 0 ? client_send(&a->client, MESSAGE_CANARY, 0, body) : r;
}

/* ---- receiving, with what may come between ---- */

static int send_failure(struct agent *a, uint64_t stream, enum message_kind opened_by,
	const char *code, const char *message)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	int r = 0;

	arena_init(&arena, 64u << 10);
	body = value_map(&arena, 3);
	if (opened_by == MESSAGE_TASK) {
		put(&r, body, "error", value_text(&arena, message, strnlen(message, 4000)));
		return r == 0 ? client_send(&a->client, MESSAGE_TASK_FAILED, stream, body) : r;
	}
	put(&r, body, "code", text(&arena, code));
	put(&r, body, "message", value_text(&arena, message, strnlen(message, 4000)));
	put(&r, body, "recoverable", value_bool(&arena, true));
	return r == 0 ? client_send(&a->client, MESSAGE_AGENT_ERROR, stream, body) : r;
}

/* What the engine may say at any moment. True: it was that, and is dealt with. */
static bool take_aside(struct agent *a, const struct message *m, int *ret_r)
{
	*ret_r = 0;
	if (m->kind == MESSAGE_SHUTDOWN) {
		a->stopping = a->cancelled = true;
		*ret_r = client_send(&a->client, MESSAGE_OK, m->stream, NULL);
		return true;
	}
	if (m->kind == MESSAGE_CANCEL && m->stream == a->stream) {
		a->cancelled = true;
		return true;
	}
	if ((m->kind == MESSAGE_PROCESS || m->kind == MESSAGE_TASK) && a->stream != 0) {
		*ret_r = send_failure(a, m->stream, m->kind, "BUSY", "one directive at a time");
		return true;
	}
	return false;
}

/* The engine's answer on this stream, or a part of it; what else comes is seen to meanwhile. */
static int wait_on(struct agent *a, uint64_t stream, struct message *ret_message)
{
	for (;;) {
		struct message m;
		int r = client_receive(&a->client, 0, &m);

		if (r != 0)
			return r == CLIENT_E_CLOSED ? AGENT_E_CLOSED : err_fold(r);
		if (m.kind == MESSAGE_ERROR && m.stream == 0)
			return AGENT_E_CLOSED;
		if (take_aside(a, &m, &r)) {
			if (r != 0)
				return r;
			if (a->cancelled)
				return AGENT_E_CANCELLED;
			continue;
		}
		if (m.stream != stream)
			continue; /* of a stream we have given up */
		*ret_message = m;
		return m.kind == MESSAGE_ERROR ? AGENT_E_REFUSED : 0;
	}
}

/* ---- for providers ---- */

static int say_part(struct agent *a, const char *part, size_t n)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	int r = 0;

	arena_init(&arena, 256u << 10);
	body = value_map(&arena, 1);
	put(&r, body, "text", value_text(&arena, part, n));
	return r == 0 ? client_send(&a->client, MESSAGE_LLM_TOKEN, a->stream, body) : r;
}

int agent_say(struct agent *a, const char *said)
{
	size_t left = strlen(said);

	if (a->opened_by != MESSAGE_PROCESS)
		return 0; /* a task has no listener, only a result */
	while (left > 0) {
		size_t n = left < 32768 ? left : 32768;
		int r;

		while (n < left && ((unsigned char)said[n] & 0xc0) == 0x80)
			n--; /* never inside a character */
		r = say_part(a, said, n);
		if (r != 0)
			return r;
		said += n;
		left -= n;
	}
	return 0;
}

int agent_propose(struct agent *a, const char *call, const char *tool,
	const struct value *arguments, struct message *ret_result)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	uint64_t stream = 0;
	int r = 0;

	arena_init(&arena, 16u << 10);
	body = value_map(&arena, 4);
	put(&r, body, "process", value_int(&arena, (int64_t)a->stream));
	put(&r, body, "call", text(&arena, call));
	put(&r, body, "tool", text(&arena, tool));
	put(&r, body, "arguments", arguments);
	if (r == 0)
		r = client_open(&a->client, MESSAGE_TOOL_PROPOSAL, body, &stream);
	while (r == 0) {
		r = wait_on(a, stream, ret_result);
		if (r != 0 || ret_result->kind == MESSAGE_TOOL_RESULT)
			break;
	}
	return r;
}

int agent_tools(struct agent *a, const struct value *groups, struct message *ret_defs)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	uint64_t stream = 0;
	int r = 0;

	arena_init(&arena, 16u << 10);
	body = value_map(&arena, 1);
	put(&r, body, "groups", groups);
	if (r == 0)
		r = client_open(&a->client, MESSAGE_TOOL_DEFS_REQUEST, body, &stream);
	return r == 0 ? wait_on(a, stream, ret_defs) : r;
}

int agent_remember(struct agent *a, const char *content)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	int r = 0;

	arena_init(&arena, 256u << 10);
	body = value_map(&arena, 1);
	put(&r, body, "content", text(&arena, content));
	return r == 0 ? client_send(&a->client, MESSAGE_MEMORY_FLUSH, a->stream, body) : r;
}

static int give_credit(struct agent *a, uint64_t stream, size_t bytes)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	int r = 0;

	arena_init(&arena, 4096);
	body = value_map(&arena, 1);
	put(&r, body, "bytes", value_int(&arena, (int64_t)bytes));
	return r == 0 ? client_send(&a->client, MESSAGE_CREDIT, stream, body) : r;
}

static int take_model_answer(
	struct agent *a, uint64_t stream, struct buf *answer, unsigned *ret_status)
{
	size_t taken = 0;

	for (;;) {
		struct message m;
		int r = wait_on(a, stream, &m);

		if (r != 0)
			return r;
		if (m.kind == MESSAGE_MODEL_END) {
			*ret_status = (unsigned)message_int(&m, "status", 0);
			return 0;
		}
		if (m.kind != MESSAGE_CHUNK)
			continue;
		buf_bytes(answer, message_value(&m, "data")->text, message_value(&m, "data")->size);
		r = buf_error(answer);
		taken += message_value(&m, "data")->size;
		if (r == 0 && taken >= CREDIT_STEP) {
			r = give_credit(a, stream, taken);
			taken = 0;
		}
		if (r != 0)
			return r;
	}
}

int agent_model_call(struct agent *a, const char *purpose, const char *request, struct buf *answer,
	unsigned *ret_status)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	uint64_t stream = 0;
	int r = 0;

	arena_init(&arena, 2u << 20);
	body = value_map(&arena, 4);
	put(&r, body, "process", value_int(&arena, (int64_t)a->stream));
	put(&r, body, "purpose", text(&arena, purpose));
	put(&r, body, "body", text(&arena, request));
	put(&r, body, "streaming", value_bool(&arena, true));
	if (r == 0)
		r = client_open(&a->client, MESSAGE_MODEL_CALL, body, &stream);
	return r == 0 ? take_model_answer(a, stream, answer, ret_status) : r;
}

/* ---- the loop ---- */

static int send_success(struct agent *a, const struct provider_outcome *outcome)
{
	bool is_task = a->opened_by == MESSAGE_TASK;
	auto_arena struct arena arena = { 0 };
	struct value *body;
	int r = 0;

	arena_init(&arena, 1u << 20);
	body = value_map(&arena, 1);
	put(&r, body, is_task ? "result" : "content",
		text(&arena, buf_get_text(&outcome->content)));
	if (r != 0)
		return r;
	return client_send(&a->client, is_task ? MESSAGE_TASK_COMPLETE : MESSAGE_RESPONSE_COMPLETE,
		a->stream, body);
}

static int finish(struct agent *a, int r, const struct provider_outcome *outcome)
{
	if (r == AGENT_E_CLOSED || r < 0)
		return r;
	if (a->cancelled)
		return send_failure(a, a->stream, a->opened_by, "CANCELLED", "it was withdrawn");
	if (r == AGENT_E_REFUSED)
		return send_failure(a, a->stream, a->opened_by, "REFUSED", a->client.error.text);
	if (outcome->problem.size > 0)
		return send_failure(
			a, a->stream, a->opened_by, outcome->code, buf_get_text(&outcome->problem));
	return send_success(a, outcome);
}

/* The directive's memory must outlive the messages that come while it is worked on. */
static int work_on(struct agent *a, const struct message *m)
{
	struct provider_outcome outcome = {
		.content = BUF_INIT(CONTENT_LIMIT), .problem = BUF_INIT(4096), .code = "FAILED"
	};
	struct arena kept = a->client.arena;
	struct message directive = *m;
	int r;

	arena_init(&a->client.arena, kept.limit);
	a->stream = m->stream;
	a->opened_by = m->kind;
	a->cancelled = false;
	r = finish(a, a->provider->respond(a, &directive, &outcome), &outcome);
	a->stream = 0;
	arena_done(&kept);
	buf_done(&outcome.content);
	buf_done(&outcome.problem);
	return r;
}

/* Without a model there is no judgement: the question goes to a person. */
static int judge(struct agent *a, const struct message *m)
{
	auto_arena struct arena arena = { 0 };
	struct value *body;
	int r = 0;

	arena_init(&arena, 4096);
	body = value_map(&arena, 3);
	put(&r, body, "decision", text(&arena, "ask"));
	put(&r, body, "confidence", value_int(&arena, 0));
	put(&r, body, "reason", text(&arena, "no model is configured for this judge"));
	return r == 0 ? client_send(&a->client, MESSAGE_JUDGEMENT, m->stream, body) : r;
}

int agent_run(struct agent *a)
{
	while (!a->stopping) {
		struct message m;
		int r = client_receive(&a->client, 0, &m);

		if (r != 0)
			return r == CLIENT_E_CLOSED ? AGENT_E_CLOSED : err_fold(r);
		if (m.kind == MESSAGE_ERROR && m.stream == 0)
			return AGENT_E_CLOSED;
		if (take_aside(a, &m, &r))
			continue;
		if (m.kind == MESSAGE_PROCESS || m.kind == MESSAGE_TASK)
			r = work_on(a, &m);
		else if (m.kind == MESSAGE_JUDGE)
			r = judge(a, &m);
		if (r != 0)
			return r;
	}
	return 0;
}
