#include "engine/service_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "engine/agent_child.h"
#include "engine/database.h"
#include "engine/errand.h"
#include "engine/fill.h"
#include "engine/service.h"
#include "sandbox/sandbox.h"

#define PAGE_BYTES (700u << 10)

/* ---- status ---- */

static const struct value *sandbox_part(struct engine *e, struct arena *a)
{
	struct il_sandbox_status s = { 0 };
	struct fill f = fill_start(a, 16);

	if (il_sandbox_probe(&s) != 0)
		(void)snprintf(s.reason, sizeof(s.reason), "the probe failed");
	fill_bool(&f, "active", s.active);
	fill_text(&f, "mode", s.mode[0] ? s.mode : "none");
	fill_int(&f, "version", s.version);
	fill_bool(&f, "filesystem", s.filesystem);
	fill_bool(&f, "network", s.network);
	fill_text(&f, "reason", s.reason);
	fill_bool(&f, "commands_filesystem", e->enforcer.filesystem);
	fill_bool(&f, "commands_network", e->enforcer.network);
	fill_bool(&f, "commands_net_hosts", e->enforcer.net_hosts);
	fill_bool(&f, "commands_hide", e->enforcer.hide);
	fill_bool(&f, "commands_armed_readonly", e->enforcer.armed_readonly);
	fill_bool(&f, "commands_processes", e->enforcer.processes);
	fill_text(&f, "commands_reason", e->enforcer_reason);
	return fill_end(&f);
}

static const struct value *engine_part(struct engine *e, struct arena *a)
{
	struct fill f = fill_start(a, 16);
	char endpoint[4200];

	(void)snprintf(endpoint, sizeof(endpoint), "unix:%s", e->engine_socket);
	fill_int(&f, "pid", getpid());
	fill_text(&f, "endpoint", endpoint);
	fill_int(&f, "uptime_s", (int64_t)((engine_now_ms(e) - e->started_ms) / 1000));
	fill_text(&f, "workspace", e->workspace);
	fill_text(&f, "state", e->stopping ? "stopping" : e->paused ? "paused" : "running");
	fill_int(&f, "connections", (int64_t)connection_server_count(e->server));
	fill_int(&f, "executed", (int64_t)e->n_executed);
	fill_int(&f, "denied", (int64_t)e->n_denied);
	fill_int(&f, "failed", (int64_t)e->n_failed);
	fill_int(&f, "interrupted", (int64_t)e->n_interrupted);
	return fill_end(&f);
}

void service_status(struct engine *e, struct connection *c, const struct message *m)
{
	auto_arena struct arena a = { 0 };
	struct fill f, part;
	const char *state;
	int pid;

	arena_init(&a, 256u << 10);
	f = fill_start(&a, 9);
	fill_value(&f, "engine", engine_part(e, &a));
	agent_describe(e, &pid, &state);
	part = fill_start(&a, 2);
	fill_int(&part, "pid", pid);
	fill_text(&part, "state", state);
	fill_value(&f, "agent", fill_end(&part));
	fill_value(&f, "sandbox", sandbox_part(e, &a));
	fill_value(&f, "web", fill_single(&a, "state", e->web ? "configured" : "disabled"));
	part = fill_start(&a, 2);
	fill_bool(&part, "writable", !e->audit_broken);
	fill_value(&f, "audit", fill_end(&part));
	service_answer(c, m->stream, MESSAGE_STATUS_INFO, fill_end(&f));
}

void service_shield_status(struct engine *e, struct connection *c, const struct message *m)
{
	auto_arena struct arena a = { 0 };
	uint8_t hash[SHA256_SIZE];
	struct fill f, shield;

	arena_init(&a, 64u << 10);
	il_policy_hash(e->policy, hash);
	shield = fill_start(&a, 8);
	fill_hex(&shield, "policy_hash", hash, SHA256_SIZE);
	fill_text(&shield, "policy",
		e->config.policy_file ? e->config.policy_file : e->config.policy_preset);
	fill_bool(&shield, "model", false);
	fill_int(&shield, "approvals_per_hour", e->config.approvals_per_hour);
	f = fill_start(&a, 1);
	fill_value(&f, "shield", fill_end(&shield));
	service_answer(c, m->stream, MESSAGE_SHIELD_INFO, fill_end(&f));
}

/* ---- audit ---- */

struct page {
	struct errand *errand;
	struct value *list;
	size_t bytes;
	uint64_t limit;
	bool more;
};

static int on_entry(void *ctx, const char *line, size_t n, const struct value *entry)
{
	struct page *page = ctx;
	const struct value *types = message_value(&page->errand->message, "types");
	const char *event = value_get_text(entry, "event");
	const struct value *copy;
	bool wanted = !types;

	(void)line;
	for (size_t i = 0; types && event && i < types->size; i++)
		wanted = wanted || strcmp(types->items[i].text, event) == 0;
	if (!wanted)
		return 0;
	page->bytes += n + 64;
	page->more = page->list->size >= page->limit || page->bytes > PAGE_BYTES;
	if (page->more)
		return 1;
	copy = value_copy(&page->errand->arena, entry);
	return copy ? value_push(page->list, copy) : -ENOMEM;
}

static int read_audit(struct errand *q, struct page *page, const struct il_audit_query *query,
	il_audit_entry_fn fn)
{
	char dir[4200];

	(void)snprintf(dir, sizeof(dir), "%s/audit", q->engine->state_path);
	return il_audit_read(dir, query, fn, page);
}

static void refuse(struct errand *q, enum message_error error, const char *text)
{
	q->error = error;
	q->refused = text;
}

static void work_audit_query(struct errand *q)
{
	const struct message *m = &q->message;
	int64_t after = message_int(m, "after", 0);
	bool newest = message_bool(m, "newest", false);
	struct page page = { .errand = q, .limit = (uint64_t)message_int(m, "limit", 100) };
	struct il_audit_query query = { .session = message_text(m, "session"),
		.newest_first = newest,
		.from_seq = after > 0 && !newest ? (uint64_t)after + 1 : 0 };
	struct fill f;

	page.list = value_array(&q->arena, 1000);
	if (!page.list || read_audit(q, &page, &query, on_entry) < 0) {
		refuse(q, MESSAGE_ERROR_INTERNAL, "the audit log cannot be read");
		return;
	}
	f = fill_start(&q->arena, 2);
	fill_value(&f, "entries", page.list);
	fill_bool(&f, "more", page.more);
	q->answer = fill_end(&f);
	q->answer_kind = MESSAGE_AUDIT_PAGE;
}

void service_audit_query(struct engine *e, struct connection *c, const struct message *m)
{
	errand_run(e, c, m, work_audit_query, false);
}

static void work_audit_verify(struct errand *q)
{
	struct il_audit_verify_options o = { .threads = 1 };
	struct il_audit_report report = { 0 };
	char dir[4200];
	struct fill f;

	(void)snprintf(dir, sizeof(dir), "%s/audit", q->engine->state_path);
	o.dir = dir;
	if (il_audit_verify(&o, &report) < 0) {
		refuse(q, MESSAGE_ERROR_INTERNAL, "the audit log cannot be read");
		return;
	}
	f = fill_start(&q->arena, 3);
	fill_bool(&f, "intact", report.status == EXIT_VERIFY_INTACT);
	fill_int(&f, "entries", (int64_t)report.n_entries);
	fill_text(&f, "detail", report.text);
	q->answer = fill_end(&f);
	q->answer_kind = MESSAGE_AUDIT_STATE;
}

void service_audit_verify(struct engine *e, struct connection *c, const struct message *m)
{
	errand_run(e, c, m, work_audit_verify, false);
}

static int on_refusal(void *ctx, const char *line, size_t n, const struct value *entry)
{
	struct page *page = ctx;
	const char *event = value_get_text(entry, "event");
	const struct value *number = value_get(value_get(entry, "details"), "action");
	int64_t wanted = message_int(&page->errand->message, "action", 0);

	(void)line;
	(void)n;
	if (!event || !number || number->kind != VALUE_INT)
		return 0;
	if (wanted ? number->integer != wanted
		   : strcmp(event, "ActionBlocked") != 0 && strcmp(event, "ApprovalAsked") != 0)
		return 0;
	if (wanted && !value_get(value_get(entry, "details"), "reason"))
		return 0; /* its outcome: the decision is in an earlier entry */
	page->errand->answer = value_copy(&page->errand->arena, entry);
	return 1;
}

static void work_why(struct errand *q)
{
	struct page page = { .errand = q };
	struct il_audit_query query = { .newest_first = true };
	const struct value *details;
	const char *type, *rule, *reason;
	struct fill f;

	if (read_audit(q, &page, &query, on_refusal) < 0) {
		refuse(q, MESSAGE_ERROR_INTERNAL, "the audit log cannot be read");
		return;
	}
	if (!q->answer) {
		refuse(q, MESSAGE_ERROR_NOT_FOUND, "nothing was refused");
		return;
	}
	details = value_get(q->answer, "details");
	type = value_get_text(q->answer, "action_type");
	rule = value_get_text(details, "rule");
	reason = value_get_text(details, "reason");
	f = fill_start(&q->arena, 2);
	fill_text(&f, "text",
		arena_printf(&q->arena, "%s: %s (rule %s)", type ? type : "?",
			reason                             ? reason
			: value_get_text(details, "error") ? value_get_text(details, "error")
							   : "no reason is recorded",
			rule ? rule : "none"));
	fill_value(&f, "entry", q->answer);
	q->answer = fill_end(&f);
	q->answer_kind = MESSAGE_WHY_INFO;
}

void service_why(struct engine *e, struct connection *c, const struct message *m)
{
	errand_run(e, c, m, work_why, false);
}

void service_sessions(struct engine *e, struct connection *c, const struct message *m)
{
	const char *mode = message_text(m, "mode");
	auto_arena struct arena a = { 0 };
	char id[37];
	struct fill f;

	if (m->kind != MESSAGE_SESSION_NEW || !mode || strcmp(mode, "otr") != 0) {
		database_ask(e, c, m);
		return;
	}
	arena_init(&a, 16u << 10);
	sessions_new_id(id);
	f = fill_start(&a, 3);
	fill_text(&f, "session", id);
	fill_text(&f, "mode", "otr");
	fill_text(&f, "title", message_text(m, "title"));
	service_answer(c, m->stream, MESSAGE_SESSION_INFO,
		sessions_add_otr(e, id) == 0 ? fill_end(&f) : NULL);
}
