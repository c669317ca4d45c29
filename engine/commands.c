#include "engine/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "engine/exec_command.h"
#include "engine/exec_files_job.h"
#include "engine/execute.h"
#include "engine/fill.h"
#include "engine/pipeline.h"
#include "engine/service.h"

#define CHUNK_MAX       ((size_t)64 << 10)
#define ATTESTATION_MAX ((size_t)256 << 10)

void commands_probe(struct engine *e)
{
	struct il_enforcer found;
	const bool *proved;
	int r = il_run_probe(&found);

	if (r != 0) {
		(void)snprintf(e->enforcer_reason, sizeof(e->enforcer_reason),
			"the trial run failed: %s", strerror(-r));
		log_line(LOG_LEVEL_WARNING, "commands-unproved err=%d", r);
		return;
	}
	(void)snprintf(e->enforcer_reason, sizeof(e->enforcer_reason), "%s", found.reason);
	if (found.strongest == IL_TIER_AUTO)
		return;
	proved = found.proved[found.strongest];
	e->enforcer = (struct il_judge_enforcer){
		.filesystem = proved[IL_GUARANTEE_FILE_WRITE],
		.network = proved[IL_GUARANTEE_NET_NAMESPACE] || proved[IL_GUARANTEE_TCP_CONNECT],
		.net_hosts = proved[IL_GUARANTEE_NET_HOSTS],
		.hide = proved[IL_GUARANTEE_HIDE],
		.armed_readonly = proved[IL_GUARANTEE_ARMED_READONLY],
		.processes = proved[IL_GUARANTEE_PID_NAMESPACE],
	};
}

/* ---- one command ---- */

/* Output is bytes; results are text: what is no UTF-8, and NUL, becomes U+FFFD. */
static void append_text(struct buf *to, const uint8_t *bytes, size_t n)
{
	while (n > 0) {
		uint32_t c = 0;
		size_t length = utf8_decode(bytes, n, &c);

		if (length == 0 || c == 0)
			utf8_append(to, 0xfffd);
		else
			buf_bytes(to, bytes, length);
		length = length ? length : 1;
		bytes += length;
		n -= length;
	}
}

static void on_output(void *ctx, int stream, const uint8_t *data, size_t n)
{
	struct command *c = ctx;
	struct proposal *p = c->proposal;

	append_text(&p->content, data, n);
	while (n > 0 && p->connection && p->kind == PROPOSAL_PROPOSE) {
		size_t piece = n < CHUNK_MAX ? n : CHUNK_MAX, sent = 0;

		/* Without credit it waits in the result. */
		if (connection_chunk(p->connection, p->stream, stream == 1 ? "stdout" : "stderr",
			    data, piece, &sent) != 0 ||
			sent == 0)
			return;
		data += sent;
		n -= sent;
	}
}

static void unlink_command(struct command *c)
{
	struct command **at = &c->engine->commands;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
}

static const struct value *attestation_of(struct proposal *p, const char *json)
{
	const struct value *v = NULL;
	struct diag diag;

	if (!json || strlen(json) > ATTESTATION_MAX ||
		value_from_json(&p->arena, json, strlen(json), &v, &diag) != 0)
		return NULL;
	return v;
}

static void take_result(struct proposal *p, const struct command *c, const struct il_run_result *r)
{
	p->attestation = attestation_of(p, r->attestation_json);
	p->truncated = p->truncated || r->truncated;
	if (r->truncated)
		p->truncated_at = r->output_bytes;
	p->has_exit_status = r->error == IL_RUN_OK || r->exit_status >= 0;
	p->exit_status = r->exit_status >= 0 ? r->exit_status : 128 + r->signal;
	if (c->cancelled || r->error == IL_RUN_E_CANCELLED)
		proposal_fail(p, STATUS_CANCELLED, "The command was cancelled.");
	else if (r->error != IL_RUN_OK)
		proposal_fail(p, STATUS_FAILED, "%s: %s", il_run_error_name(r->error), r->text);
	execute_cap(p);
}

static void on_exit_of_run(void *ctx, const struct il_run_result *result)
{
	struct command *c = ctx;
	struct proposal *p = c->proposal;
	struct engine *e = c->engine;

	take_result(p, c, result);
	unlink_command(c);
	p->command = NULL;
	free(c->text);
	free(c);
	pipeline_run(p); /* p may be gone behind this */
	engine_maybe_stopped(e);
}

static int make_command(
	struct proposal *p, const char *const *argv, size_t n, struct command **ret_command)
{
	struct command *c = calloc(1, sizeof(*c));
	struct buf text = BUF_INIT((size_t)128 << 10);
	int r;

	if (!c)
		return -ENOMEM;
	c->engine = p->engine;
	c->proposal = p;
	c->started_ms = engine_now_ms(p->engine);
	(void)snprintf(
		c->id, sizeof(c->id), "c%llu", (unsigned long long)++p->engine->next_command);
	for (size_t i = 0; i < n; i++)
		buf_printf(&text, "%s%s", i > 0 ? " " : "", argv[i]);
	r = buf_take_text(&text, &c->text);
	buf_done(&text);
	if (r != 0) {
		free(c);
		return r;
	}
	*ret_command = c;
	return 0;
}

int command_start(struct proposal *p, const char *const *argv, size_t n_argv, const char *cwd,
	const char *const *env, size_t n_env)
{
	struct il_run_command command = { .grant = &p->verdict.grant,
		.argv = argv,
		.n_argv = n_argv,
		.cwd = cwd,
		.env = env,
		.n_env = n_env };
	struct il_run_events events = { .on_output = on_output, .on_exit = on_exit_of_run };
	struct il_run_plan *plan = NULL;
	enum il_run_error kind = IL_RUN_OK;
	struct diag diag = { 0 };
	struct command *c;
	int r = il_run_plan(&command, &plan, &kind, &diag);

	if (r != 0) {
		proposal_fail(p, STATUS_FAILED, "%s: %s", il_run_error_name(kind), diag.text);
		return 0;
	}
	r = make_command(p, argv, n_argv, &c);
	if (r != 0) {
		(void)il_run_plan_free(plan);
		return r;
	}
	events.ctx = c;
	r = il_run_start(&p->engine->loop, plan, -1, &events, &c->run);
	if (r != 0) {
		free(c->text);
		free(c);
		return r;
	}
	p->command = c;
	c->next = p->engine->commands;
	p->engine->commands = c;
	return 1;
}

static void cancel(struct command *c, uint64_t grace_ms)
{
	c->cancelled = true;
	il_run_cancel(c->run, grace_ms);
}

void execute_cancel(struct proposal *p)
{
	if (p->command)
		cancel(p->command, COMMAND_GRACE_MS);
	exec_files_cancel(p);
}

/* ---- all commands ---- */

void commands_kill_all(struct engine *e, uint64_t grace_ms)
{
	for (struct command *c = e->commands; c; c = c->next)
		cancel(c, grace_ms);
}

bool commands_any_running(const struct engine *e)
{
	return e->commands != NULL;
}

/* A connection that went away has cancelled its proposals, and those their commands. */
void commands_forget(struct engine *e, const struct connection *c)
{
	(void)e;
	(void)c;
}

/* Output that found no credit is in the result; nothing waits for more. */
void commands_on_credit(void *ctx, struct connection *c, uint64_t stream)
{
	(void)ctx;
	(void)c;
	(void)stream;
}

void commands_close(struct engine *e)
{
	while (e->commands) {
		struct command *c = e->commands;

		e->commands = c->next;
		free(c->text);
		free(c);
	}
}

/* ---- what clients ask ---- */

static const struct value *command_value(struct arena *a, const struct command *c)
{
	struct fill f = fill_start(a, 4);

	fill_text(&f, "command", c->id);
	fill_text(&f, "text", c->text);
	fill_int(&f, "pid", il_run_pid(c->run));
	fill_int(&f, "running_ms", (int64_t)(engine_now_ms(c->engine) - c->started_ms));
	return fill_end(&f);
}

void service_commands(struct engine *e, struct connection *c, const struct message *m)
{
	struct value *list;
	struct arena a;
	struct fill f;
	size_t n = 0;
	bool ok = true;

	arena_init(&a, 1u << 20);
	for (const struct command *each = e->commands; each; each = each->next)
		n++;
	list = value_array(&a, n);
	for (const struct command *each = e->commands; each; each = each->next)
		ok = ok && value_push(list, command_value(&a, each)) == 0;
	f = fill_start(&a, 1);
	fill_value(&f, "commands", ok ? list : NULL);
	service_answer(c, m->stream, MESSAGE_COMMAND_LIST, fill_end(&f));
	arena_done(&a);
}

void service_command_logs(struct engine *e, struct connection *c, const struct message *m)
{
	(void)e;
	(void)!connection_error(c, m->stream, MESSAGE_ERROR_UNAVAILABLE,
		"command_logs"); /* a closed connection needs no answer */
}

void service_command_kill(struct engine *e, struct connection *c, const struct message *m)
{
	const char *id = message_text(m, "command");
	const char *how = message_text(m, "signal");
	struct arena a;

	for (struct command *each = e->commands; each; each = each->next) {
		if (strcmp(each->id, id) != 0)
			continue;
		cancel(each, how && strcmp(how, "kill") == 0 ? 0 : COMMAND_GRACE_MS);
		arena_init(&a, 4096);
		service_answer(c, m->stream, MESSAGE_OK,
			fill_single(&a, "detail", "the command is being ended"));
		arena_done(&a);
		return;
	}
	(void)!connection_error(c, m->stream, MESSAGE_ERROR_NOT_FOUND,
		"no such running command"); /* a closed connection needs no answer */
}
