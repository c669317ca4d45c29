#include "engine/agent_request.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/log.h"
#include "engine/database.h"
#include "engine/events.h"
#include "engine/fill.h"
#include "engine/service.h"
#include "engine/sessions.h"

#define REQUEST_LIMIT    (8u << 20)
#define REQUESTS_MAX     64
#define TRANSCRIPT_LIMIT (1u << 20)

static void request_free(struct agent_request *q)
{
	arena_done(&q->arena);
	free(q);
}

const char *agent_session(const struct engine *e, uint64_t process)
{
	for (const struct agent_request *q = e->agent ? e->agent->requests : NULL; q; q = q->next) {
		if (q->process == process && process != 0)
			return q->session;
	}
	return NULL;
}

static void refuse(
	struct connection *c, uint64_t stream, enum message_error error, const char *text)
{
	(void)!connection_error(c, stream, error, text); /* a closed connection needs no answer */
}

/* Ends the first request: answer goes to the asker, the next one starts. */
static void finish_first(struct engine *e, const char *error, const struct value *data)
{
	struct agent_child *a = e->agent;
	struct agent_request *q = a->requests;
	struct fill f;

	a->requests = q->next;
	if (a->state == AGENT_BUSY)
		a->state = AGENT_READY;
	if (q->asker) {
		events_unsubscribe(e, q->asker, q->stream);
		if (error) {
			refuse(q->asker, q->stream, MESSAGE_ERROR_INTERNAL, error);
		} else {
			f = fill_start(&q->arena, 1);
			fill_value(&f, "data", data);
			service_answer(q->asker, q->stream, MESSAGE_OK, fill_end(&f));
		}
	}
	request_free(q);
	agent_requests_next(e);
}

static const struct value *process_body(struct agent_request *q)
{
	struct fill f = fill_start(&q->arena, 6);

	fill_text(&f, "session", q->session);
	fill_text(&f, "message", q->message);
	fill_text(&f, "content", q->content ? q->content : "");
	fill_text(&f, "mode", q->mode);
	fill_value(&f, "transcript", q->transcript);
	return fill_end(&f);
}

void agent_requests_next(struct engine *e)
{
	struct agent_child *a = e->agent;
	const struct value *body;
	int r;

	while (a && a->state == AGENT_READY && a->requests && a->connection) {
		struct agent_request *q = a->requests;

		if (q->process != 0)
			return;
		body = process_body(q);
		r = body ? connection_open_stream(a->connection, MESSAGE_PROCESS, body, &q->process)
			 : -ENOMEM;
		if (r == 0) {
			a->state = AGENT_BUSY;
			return;
		}
		log_line(LOG_LEVEL_ERROR, "process-not-sent err=%d", r);
		a->state = AGENT_READY;
		finish_first(e, "the request does not fit", NULL);
		return;
	}
}

void agent_requests_fail(struct engine *e, const char *why)
{
	if (!e->agent)
		return;
	if (e->agent->state == AGENT_BUSY || e->agent->state == AGENT_READY)
		e->agent->state = AGENT_STARTING; /* nothing is sent to it any more */
	while (e->agent->requests && (e->stopping || e->agent->requests->process != 0))
		finish_first(e, why, NULL);
}

void agent_requests_forget(struct engine *e, const struct connection *c)
{
	for (struct agent_request *q = e->agent ? e->agent->requests : NULL; q; q = q->next) {
		if (q->asker == c)
			q->asker = NULL;
	}
}

void agent_cancel_request(struct engine *e, struct connection *c, uint64_t stream)
{
	struct agent_child *a = e->agent;

	for (struct agent_request *q = a ? a->requests : NULL; q; q = q->next) {
		if (q->asker != c || q->stream != stream)
			continue;
		q->asker = NULL;
		if (q->process != 0 && a->connection)
			(void)!connection_send(a->connection, MESSAGE_CANCEL, q->process, NULL);
		return;
	}
}

/* What the configured transcript says, for messages without one of their own. */
static const struct value *configured_transcript(struct engine *e, struct arena *arena)
{
	auto_free char *text = NULL;
	const struct value *v = NULL;
	struct diag diag;
	size_t n;

	if (!e->config.agent_transcript ||
		file_read(AT_FDCWD, e->config.agent_transcript, TRANSCRIPT_LIMIT, &text, &n) != 0)
		return NULL;
	if (value_from_json(arena, text, n, &v, &diag) != 0 || v->kind != VALUE_ARRAY)
		log_line(LOG_LEVEL_ERROR, "transcript-refused line=%u why=\"%s\"", diag.line,
			diag.text);
	return v && v->kind == VALUE_ARRAY ? v : NULL;
}

static int fill_request(struct engine *e, struct agent_request *q, const struct message *m)
{
	const struct value *transcript = message_value(m, "transcript");
	const char *session = message_text(m, "session");
	const char *content = message_text(m, "content");
	const char *mode = message_text(m, "mode");
	char id[37];

	arena_init(&q->arena, REQUEST_LIMIT);
	if (!session) {
		sessions_new_id(id);
		session = id;
		if (mode && strcmp(mode, "otr") == 0 && sessions_add_otr(e, id) != 0)
			return -ENOMEM;
	}
	if (sessions_is_otr(e, session))
		mode = "otr";
	q->session = arena_text(&q->arena, session, strlen(session));
	sessions_new_id(id);
	q->message = arena_text(&q->arena, id, strlen(id));
	q->content = content ? arena_text(&q->arena, content, strlen(content)) : "";
	q->mode = arena_text(&q->arena, mode ? mode : "normal", strlen(mode ? mode : "normal"));
	q->transcript = transcript ? value_copy(&q->arena, transcript)
				   : configured_transcript(e, &q->arena);
	return q->session && q->message && q->content && q->mode && (!transcript || q->transcript)
		       ? 0
		       : -ENOMEM;
}

static bool queue(struct engine *e, struct agent_request *q)
{
	struct agent_request **link = &e->agent->requests;
	size_t n = 0;

	for (; *link; link = &(*link)->next)
		n++;
	if (n >= REQUESTS_MAX)
		return false;
	*link = q;
	return true;
}

void agent_on_request(struct engine *e, struct connection *c, const struct message *m)
{
	struct agent_request *q;
	struct subscriber *s;
	int r;

	if (!e->agent || e->agent->state == AGENT_SPENT || e->stopping) {
		refuse(c, m->stream, MESSAGE_ERROR_UNAVAILABLE, "there is no agent");
		return;
	}
	q = calloc(1, sizeof(*q));
	if (!q) {
		refuse(c, m->stream, MESSAGE_ERROR_INTERNAL, "out of memory");
		return;
	}
	r = fill_request(e, q, m);
	q->asker = c;
	q->stream = m->stream;
	if (r == 0)
		r = events_subscribe(e, c, m->stream, NULL, q->session, &s);
	if (r != 0 || !queue(e, q)) {
		events_unsubscribe(e, c, m->stream);
		refuse(c, m->stream, MESSAGE_ERROR_QUOTA, "too many requests wait for the agent");
		request_free(q);
		return;
	}
	if (!sessions_is_otr(e, q->session))
		database_message(e, q->session, q->message, "user", q->content);
	agent_requests_next(e);
}

static void tell(struct engine *e, struct agent_request *q, enum event_kind kind, const char *key,
	const char *text)
{
	auto_arena struct arena arena = { 0 };
	struct fill f;

	arena_init(&arena, 2u << 20);
	f = fill_start(&arena, 2);
	fill_text(&f, key, text);
	fill_text(&f, "message", q->message);
	events_send(e, kind, q->session, 0, fill_end(&f));
}

void agent_on_message(struct engine *e, struct connection *c, const struct message *m)
{
	struct agent_request *q = e->agent ? e->agent->requests : NULL;
	const char *content = message_text(m, "content");

	if (!q || e->agent->connection != c || q->process != m->stream)
		return; /* of a request that was given up */
	switch ((int)m->kind) {
	case MESSAGE_LLM_TOKEN:
		tell(e, q, EVENT_LLM_TOKEN, "text", message_text(m, "text"));
		return;
	case MESSAGE_RESPONSE_COMPLETE:
		tell(e, q, EVENT_RESPONSE_COMPLETE, "content", content);
		if (!sessions_is_otr(e, q->session))
			database_message(e, q->session, NULL, "assistant", content);
		finish_first(e, NULL, fill_single(&q->arena, "content", content));
		return;
	case MESSAGE_AGENT_ERROR:
		tell(e, q, EVENT_ERROR, "text", message_text(m, "message"));
		finish_first(e, message_text(m, "message"), NULL);
		return;
	default:
		return; /* memory_flush: nothing remembers yet what it carries */
	}
}

/* The tools of these groups; an unknown or empty list gives all that can run. */
void agent_on_tool_defs(struct engine *e, struct connection *c, const struct message *m)
{
	const struct value *groups = message_value(m, "groups");
	size_t n;
	const struct il_action_type *types = il_action_types(&n);
	auto_arena struct arena arena = { 0 };
	struct value *list;
	struct fill f;

	(void)e;
	arena_init(&arena, 2u << 20);
	list = value_array(&arena, 512);
	for (size_t i = 0; i < n && list; i++) {
		auto_buf struct buf schema = BUF_INIT(64u << 10);
		bool wanted = groups->size == 0;

		for (size_t j = 0; j < groups->size; j++)
			wanted = wanted || strcmp(groups->items[j].text, types[i].group) == 0;
		if (!wanted || !types[i].executable)
			continue;
		il_action_schema(&schema, &types[i]);
		f = fill_start(&arena, 4);
		fill_text(&f, "name", types[i].name);
		fill_text(&f, "description", types[i].description);
		fill_text(&f, "group", types[i].group);
		fill_text(&f, "parameters_json", buf_get_text(&schema));
		if (!fill_end(&f) || value_push(list, f.map) != 0)
			break;
	}
	f = fill_start(&arena, 1);
	fill_value(&f, "tools", list);
	service_answer(c, m->stream, MESSAGE_TOOL_DEFS, fill_end(&f));
}
