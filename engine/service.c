#include "engine/service.h"

#include <string.h>

#include "base/log.h"
#include "engine/agent_child.h"
#include "engine/approvals.h"
#include "engine/events.h"
#include "engine/fill.h"
#include "engine/pipeline.h"
#include "engine/record.h"
#include "engine/service_data.h"

typedef void (*answer_fn)(struct engine *e, struct connection *c, const struct message *m);

void service_answer(
	struct connection *c, uint64_t stream, enum message_kind kind, const struct value *body)
{
	int r = body ? connection_send(c, kind, stream, body) : -ENOMEM;

	if (r != 0 && r != -EPIPE) {
		log_line(LOG_LEVEL_ERROR, "answer-failed kind=%s err=%d", message_name(kind), r);
		(void)!connection_error(
			c, stream, MESSAGE_ERROR_INTERNAL, "the answer does not fit");
	}
}

static void refuse(
	struct connection *c, const struct message *m, enum message_error error, const char *text)
{
	(void)!connection_error(
		c, m->stream, error, text); /* a closed connection needs no answer */
}

static void answer_ok(struct connection *c, const struct message *m, const char *detail)
{
	auto_arena struct arena a = { 0 };
	struct fill f;

	arena_init(&a, 16u << 10);
	f = fill_start(&a, 1);
	fill_text(&f, "detail", detail);
	service_answer(c, m->stream, MESSAGE_OK, fill_end(&f));
}

/* ---- actions ---- */

static bool fill_proposal(struct proposal *p, const struct message *m)
{
	struct engine *e = p->engine;
	bool tool = m->kind == MESSAGE_TOOL_PROPOSAL;
	const struct value *payload = message_value(m, tool ? "arguments" : "payload");
	const char *type = message_text(m, tool ? "tool" : "type");
	const char *cwd = tool ? NULL : message_text(m, "cwd");
	const char *session = tool ? agent_session(e, p->process) : message_text(m, "session");

	p->action = (struct il_action){ .type = arena_text(&p->arena, type, strlen(type)),
		.payload = value_copy(&p->arena, payload),
		.cwd = cwd ? arena_text(&p->arena, cwd, strlen(cwd)) : e->workspace,
		.workspace = e->workspace,
		.home = e->home };
	if (session) {
		p->session = arena_text(&p->arena, session, strlen(session));
		p->otr = sessions_is_otr(e, session);
	}
	return p->action.type && p->action.payload && p->action.cwd && (!session || p->session);
}

void service_propose(struct engine *e, struct connection *c, const struct message *m)
{
	enum proposal_kind kind = m->kind == MESSAGE_EVALUATE        ? PROPOSAL_EVALUATE
				  : m->kind == MESSAGE_TOOL_PROPOSAL ? PROPOSAL_TOOL
								     : PROPOSAL_PROPOSE;
	struct proposal *p;

	if (e->stopping && kind != PROPOSAL_EVALUATE) {
		refuse(c, m, MESSAGE_ERROR_STOPPING, "the engine is stopping");
		return;
	}
	p = proposal_new(e, kind);
	if (!p) {
		refuse(c, m, MESSAGE_ERROR_INTERNAL, "out of memory");
		return;
	}
	p->connection = c;
	p->connection_id = connection_id(c);
	p->role = connection_role(c);
	p->stream = m->stream;
	p->explain = message_bool(m, "explain", false);
	p->wait = kind == PROPOSAL_TOOL || message_bool(m, "wait", false);
	if (kind == PROPOSAL_TOOL) {
		const char *call = message_text(m, "call");

		p->process = (uint64_t)message_int(m, "process", 0);
		p->call = arena_text(&p->arena, call, strlen(call));
	}
	if (kind != PROPOSAL_EVALUATE)
		p->number = e->next_number++;
	if (!fill_proposal(p, m))
		proposal_fail(p, STATUS_FAILED, "The action does not fit.");
	pipeline_run(p);
}

/* ---- control ---- */

static void origin_of(struct connection *c, char *text, size_t size)
{
	(void)snprintf(text, size, "%s:%llu", role_name(connection_role(c)),
		(unsigned long long)connection_id(c));
}

static void record_control(
	struct engine *e, struct connection *c, const struct message *m, const char *event)
{
	auto_arena struct arena a = { 0 };
	char origin[64];
	struct fill f;

	arena_init(&a, 16u << 10);
	f = fill_start(&a, 1);
	fill_text(&f, "reason", message_text(m, "reason"));
	origin_of(c, origin, sizeof(origin));
	record_event(e, event, NULL, origin, fill_end(&f));
}

static void tell_state(struct engine *e, const char *state)
{
	auto_arena struct arena a = { 0 };
	struct fill f;

	arena_init(&a, 16u << 10);
	f = fill_start(&a, 1);
	fill_text(&f, "state", state);
	events_send(e, EVENT_ENGINE_STATE, NULL, 0, fill_end(&f));
}

static void on_pause(struct engine *e, struct connection *c, const struct message *m)
{
	e->paused = true;
	record_control(e, c, m, "Paused");
	tell_state(e, "paused");
	answer_ok(c, m, "no new executions until resume");
}

static void on_resume(struct engine *e, struct connection *c, const struct message *m)
{
	e->paused = false;
	record_control(e, c, m, "Resumed");
	tell_state(e, "running");
	answer_ok(c, m, "running");
}

static void on_panic(struct engine *e, struct connection *c, const struct message *m)
{
	e->paused = true;
	record_control(e, c, m, "Panic");
	commands_kill_all(e, 0);
	agent_kill(e);
	while (e->approvals)
		approvals_close(e);
	tell_state(e, "panic");
	answer_ok(c, m, "commands and agent were killed; paused until resume");
}

static void on_restart(struct engine *e, struct connection *c, const struct message *m)
{
	answer_ok(c, m, "restarting");
	e->restart_wanted = true;
	engine_stop(e, "restart");
}

static void on_shutdown(struct engine *e, struct connection *c, const struct message *m)
{
	answer_ok(c, m, "stopping");
	engine_stop(e, "shutdown message");
}

static void on_reload(struct engine *e, struct connection *c, const struct message *m)
{
	struct diag diag = { 0 };
	int r = engine_load_policy(e, &diag);

	if (r != 0) {
		refuse(c, m, MESSAGE_ERROR_CONFLICT, diag.text);
		return;
	}
	answer_ok(c, m, "policy loaded");
}

static void on_health(struct engine *e, struct connection *c, const struct message *m)
{
	answer_ok(c, m,
		e->audit_broken ? "the audit log cannot be written: nothing is executed"
		: e->paused     ? "paused"
				: "running");
}

static void on_subscribe(struct engine *e, struct connection *c, const struct message *m)
{
	struct subscriber *s;
	int r = events_subscribe(
		e, c, m->stream, message_value(m, "types"), message_text(m, "session"), &s);

	if (r != 0)
		refuse(c, m, MESSAGE_ERROR_BAD_FIELD, "types: no such event");
}

static void on_token_create(struct engine *e, struct connection *c, const struct message *m)
{
	auto_arena struct arena a = { 0 };
	auto_token char token[TOKEN_SIZE] = { 0 };
	uint64_t seconds = (uint64_t)message_int(m, "seconds", 300);
	struct token_entry entry = { .role = ROLE_AGENT,
		.uid = geteuid(),
		.single_use = true,
		.expires_ms = engine_now_ms(e) + seconds * 1000 };
	struct fill f;

	arena_init(&a, 32u << 10);
	if (token_make(token) != 0 ||
		token_book_add(&e->tokens, token, &entry, engine_now_ms(e)) != 0) {
		refuse(c, m, MESSAGE_ERROR_QUOTA, "no room for another token");
		return;
	}
	record_control(e, c, m, "TokenCreated");
	f = fill_start(&a, 3);
	fill_text(&f, "token", token);
	fill_int(&f, "seconds", (int64_t)seconds);
	fill_text(&f, "socket", e->agent_socket);
	service_answer(c, m->stream, MESSAGE_TOKEN, fill_end(&f));
}

static void on_approvals(struct engine *e, struct connection *c, const struct message *m)
{
	auto_arena struct arena a = { 0 };
	struct value *list;
	struct fill f;

	arena_init(&a, 4u << 20);
	list = value_array(&a, APPROVALS_MAX);
	for (const struct approval *q = e->approvals; q && list; q = q->next) {
		uint64_t now = engine_now_ms(e);

		f = fill_start(&a, 8);
		fill_text(&f, "approval", q->id);
		fill_int(&f, "action", (int64_t)q->number);
		fill_text(&f, "type", q->type);
		fill_text(&f, "question", q->question);
		fill_hex(&f, "action_hash", q->action_hash, SHA256_SIZE);
		fill_int(&f, "expires_in_ms",
			now < q->expires_ms ? (int64_t)(q->expires_ms - now) : 0);
		fill_bool(&f, "approved", q->approved);
		if (!fill_end(&f) || value_push(list, f.map) != 0)
			break;
	}
	f = fill_start(&a, 1);
	fill_value(&f, "approvals", list);
	service_answer(c, m->stream, MESSAGE_APPROVAL_LIST, fill_end(&f));
}

static void on_approval_answer(struct engine *e, struct connection *c, const struct message *m)
{
	bool approve = message_bool(m, "approve", false);
	char origin[64];
	int r;

	origin_of(c, origin, sizeof(origin));
	r = approvals_answer(
		e, message_text(m, "approval"), approve, message_text(m, "action_hash"), origin);
	if (r == -ENOENT)
		refuse(c, m, MESSAGE_ERROR_NOT_FOUND, "no such open question");
	else if (r != 0)
		refuse(c, m, MESSAGE_ERROR_CONFLICT, "the question is about another action");
	else
		answer_ok(c, m, approve ? "approved" : "denied");
}

static const answer_fn answers[MESSAGE_N_] = {
	[MESSAGE_PROPOSE] = service_propose,
	[MESSAGE_EVALUATE] = service_propose,
	[MESSAGE_TOOL_PROPOSAL] = service_propose,
	[MESSAGE_PAUSE] = on_pause,
	[MESSAGE_RESUME] = on_resume,
	[MESSAGE_PANIC] = on_panic,
	[MESSAGE_RESTART] = on_restart,
	[MESSAGE_SHUTDOWN] = on_shutdown,
	[MESSAGE_RELOAD] = on_reload,
	[MESSAGE_HEALTH] = on_health,
	[MESSAGE_SUBSCRIBE] = on_subscribe,
	[MESSAGE_TOKEN_CREATE] = on_token_create,
	[MESSAGE_APPROVALS] = on_approvals,
	[MESSAGE_APPROVAL_ANSWER] = on_approval_answer,
	[MESSAGE_STATUS] = service_status,
	[MESSAGE_SHIELD_STATUS] = service_shield_status,
	[MESSAGE_AUDIT_QUERY] = service_audit_query,
	[MESSAGE_AUDIT_VERIFY] = service_audit_verify,
	[MESSAGE_WHY] = service_why,
	[MESSAGE_CHRONICLE_LIST] = service_chronicle,
	[MESSAGE_CHRONICLE_DIFF] = service_chronicle,
	[MESSAGE_CHRONICLE_ROLLBACK] = service_chronicle,
	[MESSAGE_CHRONICLE_VERIFY] = service_chronicle,
	[MESSAGE_COMMANDS] = service_commands,
	[MESSAGE_COMMAND_LOGS] = service_command_logs,
	[MESSAGE_COMMAND_KILL] = service_command_kill,
	[MESSAGE_SESSIONS] = service_sessions,
	[MESSAGE_SESSION_NEW] = service_sessions,
	[MESSAGE_SESSION_DELETE] = service_sessions,
	[MESSAGE_HISTORY] = service_sessions,
	[MESSAGE_SEND_MESSAGE] = agent_on_request,
	[MESSAGE_REPLAY] = agent_on_request,
	[MESSAGE_TOOL_DEFS_REQUEST] = agent_on_tool_defs,
	[MESSAGE_LLM_TOKEN] = agent_on_message,
	[MESSAGE_MEMORY_FLUSH] = agent_on_message,
	[MESSAGE_RESPONSE_COMPLETE] = agent_on_message,
	[MESSAGE_AGENT_ERROR] = agent_on_message,
};

static void on_message(void *ctx, struct connection *c, const struct message *m)
{
	struct engine *e = ctx;
	answer_fn answer = answers[m->kind];
	enum message_place place = message_types[m->kind].place;

	if (answer)
		answer(e, c, m);
	else if (place == MESSAGE_OPENS)
		refuse(c, m, MESSAGE_ERROR_UNAVAILABLE, message_name(m->kind));
}

static void on_cancelled(void *ctx, struct connection *c, uint64_t stream)
{
	struct engine *e = ctx;

	events_unsubscribe(e, c, stream);
	agent_cancel_request(e, c, stream);
	for (struct proposal *p = e->proposals; p; p = p->next) {
		if (p->connection != c || p->stream != stream)
			continue;
		pipeline_cancel(p);
		return;
	}
}

static void on_closed(void *ctx, struct connection *c)
{
	struct engine *e = ctx;

	events_forget(e, c);
	commands_forget(e, c);
	agent_connection_closed(e, c);
	for (struct proposal *p = e->proposals; p; p = p->next) {
		if (p->connection == c)
			p->connection = NULL;
	}
}

static void on_refused(void *ctx, struct connection *c, const struct connection_refusal *refusal,
	uint64_t n_suppressed)
{
	struct engine *e = ctx;
	auto_arena struct arena a = { 0 };
	const struct peer *peer = connection_peer(c);
	char origin[64];
	struct fill f;

	arena_init(&a, 16u << 10);
	f = fill_start(&a, 8);
	fill_text(&f, "error", message_error_name(refusal->error));
	fill_text(&f, "kind", message_name(refusal->kind));
	fill_text(&f, "why", refusal->why);
	fill_int(&f, "pid", peer ? peer->pid : 0);
	fill_int(&f, "uid", peer ? (int64_t)peer->uid : -1);
	fill_int(&f, "suppressed", (int64_t)n_suppressed);
	origin_of(c, origin, sizeof(origin));
	record_event(e, "PeerRefused", NULL, origin, fill_end(&f));
}

static const struct value *welcome(void *ctx, struct connection *c, struct arena *a)
{
	struct engine *e = ctx;
	struct fill f = fill_start(a, 4);
	uint8_t hash[SHA256_SIZE];

	(void)c;
	il_policy_hash(e->policy, hash);
	fill_text(&f, "workspace", e->workspace);
	fill_hex(&f, "policy_hash", hash, SHA256_SIZE);
	return fill_end(&f);
}

const struct connection_callbacks service_callbacks = {
	.on_ready = agent_on_ready,
	.on_canary = agent_on_canary,
	.on_message = on_message,
	.on_cancelled = on_cancelled,
	.on_closed = on_closed,
	.on_credit = commands_on_credit,
	.on_refused = on_refused,
	.welcome = welcome,
};
