#include "engine/agent_child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/programs.h"
#include "base/utf8.h"
#include "engine/agent_request.h"
#include "engine/fill.h"
#include "engine/record.h"
#include "ipc/probes.h"

#define CRASHES_MAX     5
#define CRASH_WINDOW_MS 60000
#define RESPAWN_MS      1000
#define STDERR_LINES_S  50

static const char *const state_names[] = { "absent", "starting", "ready", "busy", "stopped",
	"crash budget spent" };

static void spawn_again(uv_timer_t *timer);

bool agent_is_alive(const struct engine *e)
{
	return e->agent && e->agent->alive;
}

void agent_describe(const struct engine *e, int *ret_pid, const char **ret_state)
{
	*ret_pid = agent_is_alive(e) ? e->agent->process.pid : 0;
	*ret_state = e->agent ? state_names[e->agent->state] : "disabled";
}

/* ---- its standard error, into our log, escaped and at most so many lines a second ---- */

static void log_stderr(struct agent_child *a, const char *line, size_t n)
{
	auto_buf struct buf text = BUF_INIT(4096);

	if (!bucket_try(&a->log_bucket, engine_now_ms(a->engine)))
		return;
	utf8_escape(&text, line, n, 512);
	log_line(LOG_LEVEL_NOTICE, "agent-says text=\"%s\"", buf_get_text(&text));
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct agent_child *a = handle->data;

	(void)suggested;
	*buf = uv_buf_init(a->input, sizeof(a->input));
}

static void on_stderr(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct agent_child *a = stream->data;
	const char *at = buf->base;

	if (n < 0) {
		(void)uv_read_stop(stream);
		return;
	}
	while (n > 0) {
		const char *eol = memchr(at, '\n', (size_t)n);
		size_t size = eol ? (size_t)(eol - at) : (size_t)n;

		log_stderr(a, at, size);
		size += eol ? 1 : 0;
		at += size;
		n -= (ssize_t)size;
	}
}

/* ---- life and death ---- */

static bool is_budget_spent(struct agent_child *a, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->n_crashes; i++) {
		if (now_ms - a->crashes_ms[i] < CRASH_WINDOW_MS)
			a->crashes_ms[kept++] = a->crashes_ms[i];
	}
	a->crashes_ms[kept++] = now_ms;
	a->n_crashes = kept;
	return kept >= CRASHES_MAX;
}

static void on_handles_closed(uv_handle_t *handle)
{
	struct agent_child *a = handle->data;
	struct engine *e = a->engine;

	if (--a->n_handles > 0)
		return;
	a->alive = false;
	if (e->stopping) {
		a->state = AGENT_STOPPED;
		engine_maybe_stopped(e);
		return;
	}
	if (is_budget_spent(a, engine_now_ms(e))) {
		a->state = AGENT_SPENT;
		log_line(LOG_LEVEL_ERROR, "agent-given-up why=\"%d crashes in %d seconds\"",
			CRASHES_MAX, CRASH_WINDOW_MS / 1000);
		return;
	}
	a->state = AGENT_ABSENT;
	(void)uv_timer_start(&a->timer, spawn_again, RESPAWN_MS, 0); /* cannot fail */
}

static void on_child_exit(uv_process_t *process, int64_t status, int signal_number)
{
	struct agent_child *a = process->data;
	auto_arena struct arena arena = { 0 };
	struct fill f;

	log_line(LOG_LEVEL_NOTICE, "agent-ended status=%d signal=%d", (int)status, signal_number);
	arena_init(&arena, 16u << 10);
	f = fill_start(&arena, 2);
	fill_int(&f, "status", status);
	fill_int(&f, "signal", signal_number);
	record_event(a->engine, "AgentEnded", NULL, "engine", fill_end(&f));
	agent_requests_fail(a->engine, "the agent ended");
	a->n_handles = 2;
	uv_close((uv_handle_t *)&a->errors, on_handles_closed);
	uv_close((uv_handle_t *)process, on_handles_closed);
}

static int make_environment(struct engine *e, char *token_entry, size_t size)
{
	auto_token char token[TOKEN_SIZE] = { 0 };
	struct token_entry entry = { .role = ROLE_AGENT, .uid = geteuid(), .single_use = true };
	int r = token_make(token);

	if (r == 0)
		r = token_book_add(&e->tokens, token, &entry, engine_now_ms(e));
	if (r == 0)
		(void)snprintf(token_entry, size, "INTERLOCK_AGENT_TOKEN=%s", token);
	return r;
}

static int spawn_process(
	struct agent_child *a, const char *program, int stream_fd, char *token_entry)
{
	char *argv[] = { (char *)(uintptr_t)program, NULL };
	char *env[] = { token_entry, NULL };
	uv_stdio_container_t stdio[4] = { { .flags = UV_IGNORE }, { .flags = UV_IGNORE },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
			.data.stream = (uv_stream_t *)&a->errors },
		{ .flags = UV_INHERIT_FD, .data.fd = stream_fd } };
	uv_process_options_t o = { .exit_cb = on_child_exit,
		.file = program,
		.args = argv,
		.env = env,
		.stdio = stdio,
		.stdio_count = 4 };
	int r;

	(void)uv_pipe_init(&a->engine->loop, &a->errors, 0); /* cannot fail */
	a->errors.data = a->process.data = a;
	r = uv_spawn(&a->engine->loop, &a->process, &o);
	if (r == 0)
		r = uv_read_start((uv_stream_t *)&a->errors, on_alloc, on_stderr);
	return r;
}

static int agent_spawn(struct agent_child *a)
{
	struct engine *e = a->engine;
	auto_free char *program = NULL;
	auto_close int ours = -1;
	auto_close int theirs = -1;
	struct connection_child child = { .role = ROLE_AGENT, .needs_canary = true };
	char token_entry[TOKEN_SIZE + 32];
	int r = program_path("interlock-agent", &program);

	if (r == 0)
		r = connection_pair(&ours, &theirs);
	if (r == 0)
		r = make_environment(e, token_entry, sizeof(token_entry));
	if (r == 0)
		r = connection_adopt(e->server, take_fd(ours), &child, &a->connection);
	if (r != 0)
		return r;
	r = spawn_process(a, program, theirs, token_entry);
	explicit_bzero(token_entry, sizeof(token_entry));
	if (r != 0) {
		connection_close(a->connection);
		return r;
	}
	connection_pid_set(a->connection, a->process.pid);
	a->alive = true;
	a->state = AGENT_STARTING;
	record_event(e, "AgentStarted", NULL, "engine", NULL);
	return 0;
}

static void spawn_again(uv_timer_t *timer)
{
	struct agent_child *a = timer->data;
	int r = a->engine->stopping ? 0 : agent_spawn(a);

	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "agent-not-started err=%d", r);
}

int agent_start(struct engine *e)
{
	struct agent_child *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->engine = e;
	(void)uv_timer_init(&e->loop, &a->timer); /* cannot fail */
	a->timer.data = a;
	bucket_init(&a->log_bucket, STDERR_LINES_S, engine_now_ms(e));
	e->agent = a;
	return agent_spawn(a);
}

void agent_kill(struct engine *e)
{
	if (agent_is_alive(e))
		(void)uv_process_kill(&e->agent->process, SIGKILL); /* it may just have ended */
}

void agent_stop(struct engine *e)
{
	agent_requests_fail(e, "the engine is stopping");
	if (!e->agent)
		return;
	(void)uv_timer_stop(&e->agent->timer); /* no respawn */
	if (agent_is_alive(e))
		(void)uv_process_kill(&e->agent->process, SIGTERM); /* it may just have ended */
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void agent_close(struct engine *e)
{
	struct agent_child *a = take_ptr(e->agent);

	if (a && !a->alive) {
		uv_close((uv_handle_t *)&a->timer, on_timer_closed);
	} else if (a) {
		/* Killed at the deadline: its handles end with the process, which is about to exit.
		 */
		e->agent = a;
		uv_unref((uv_handle_t *)&a->process);
		uv_unref((uv_handle_t *)&a->errors);
		uv_unref((uv_handle_t *)&a->timer);
	}
}

/* ---- its connection ---- */

void agent_on_ready(void *ctx, struct connection *c)
{
	struct engine *e = ctx;

	if (!e->agent || e->agent->connection != c)
		return;
	e->agent->state = AGENT_READY;
	agent_requests_next(e);
}

static void write_status(struct engine *e, bool good)
{
	char text[128];
	int n = snprintf(
		text, sizeof(text), "{\"agent\":\"%s\"}\n", good ? "sandboxed" : "refused");
	int r = file_write_atomic(e->state_fd, "sandbox.status", text, (size_t)n, 0600);

	if (r != 0)
		log_line(LOG_LEVEL_WARNING, "sandbox-status-not-written err=%d", r);
}

/* The agent's own words do not count: its probes are judged here, and a hole means no agent. */
bool agent_on_canary(void *ctx, struct connection *c, const char *report, size_t n)
{
	struct engine *e = ctx;
	auto_arena struct arena arena = { 0 };
	struct diag diag = { 0 };
	struct fill f;
	bool good = probes_judge(report, n, "agent", &diag) == 0;

	(void)c;
	arena_init(&arena, 16u << 10);
	f = fill_start(&arena, 3);
	fill_bool(&f, "good", good);
	fill_text(&f, "summary", good ? "every probe was refused" : diag.text);
	record_event(e, "SandboxCanaryResult", NULL, "agent", fill_end(&f));
	write_status(e, good);
	if (!good)
		log_line(LOG_LEVEL_ERROR, "agent-not-confined why=\"%s\"", diag.text);
	return good;
}

void agent_connection_closed(struct engine *e, const struct connection *c)
{
	agent_requests_forget(e, c);
	if (e->agent && e->agent->connection == c) {
		e->agent->connection = NULL;
		if (e->agent->alive)
			agent_kill(e); /* without its stream it can do nothing */
	}
}
