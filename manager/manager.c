#include "manager/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exit.h"
#include "base/files.h"
#include "base/log.h"
#include "base/programs.h"
#include "manager/lock.h"
#include "manager/notify.h"
#include "manager/restart.h"
#include "manager/startup.h"

#define STOP_PATIENCE_MS 5000
#define MANAGER_LOCK     "manager.lock"
#define ENGINE_PID       "engine.pid"

enum manager_phase {
	MANAGER_DONE,
	MANAGER_STARTING,
	MANAGER_RUNNING,
	MANAGER_WAITING,
	MANAGER_STOPPING
};

struct manager {
	const struct manager_options *options; /* borrowed from the caller of manager_run() */
	enum manager_phase phase;
	char *program; /* owned */
	uv_loop_t loop;
	uv_timer_t timer; /* the deadline of the phase */
	uv_timer_t watchdog;
	uv_signal_t sigterm, sigint, sighup;
	uv_process_t engine;
	uv_pipe_t engine_stdout, lifeline;
	bool engine_alive;
	unsigned n_open; /* handles of the engine that are not closed yet */
	int ready_fd;    /* owned; -1 once told */
	struct startup startup;
	struct restart_budget budget;
	int result;
	char input[512];
};

static void manager_spawn(struct manager *m);
static void on_timer(uv_timer_t *timer);

static void set_phase(struct manager *m, enum manager_phase phase, uint64_t patience_ms)
{
	m->phase = phase;
	(void)uv_timer_stop(&m->timer); /* cannot fail */
	if (patience_ms > 0)
		(void)uv_timer_start(&m->timer, on_timer, patience_ms, 0); /* cannot fail */
}

/* Tells the process that waits for `start -d`, once. */
static void tell_ready(struct manager *m, const char *word, const char *text, const char *more)
{
	auto_free char *line = NULL;

	if (m->ready_fd < 0)
		return;
	if (asprintf(&line, "%s %s%s%s\n", word, text, *more ? " " : "", more) >= 0)
		(void)!write(m->ready_fd, line, strlen(line)); /* the waiter may be gone */
	(void)close(take_fd(m->ready_fd));
}

static void close_all(struct manager *m)
{
	uv_handle_t *handles[] = { (uv_handle_t *)&m->timer, (uv_handle_t *)&m->watchdog,
		(uv_handle_t *)&m->sigterm, (uv_handle_t *)&m->sigint, (uv_handle_t *)&m->sighup };

	for (size_t i = 0; i < N_ELEMENTS(handles); i++) {
		if (!uv_is_closing(handles[i]))
			uv_close(handles[i], NULL);
	}
}

static void finish(struct manager *m, int result)
{
	m->result = result;
	set_phase(m, MANAGER_DONE, 0);
	(void)unlinkat(m->options->state_fd, ENGINE_PID, 0); /* may not exist */
	close_all(m);
}

static void kill_engine(struct manager *m, int signal_number)
{
	if (m->engine_alive)
		(void)uv_process_kill(&m->engine, signal_number); /* it may just have ended */
}

static void on_timer(uv_timer_t *timer)
{
	struct manager *m = timer->data;

	switch (m->phase) {
	case MANAGER_STARTING:
		log_line(LOG_LEVEL_ERROR, "engine-start-timeout after_ms=%d", STARTUP_TIMEOUT_MS);
		kill_engine(m, SIGKILL);
		return;
	case MANAGER_WAITING:
		manager_spawn(m);
		return;
	case MANAGER_STOPPING:
		log_line(LOG_LEVEL_WARNING, "engine-killed why=it-did-not-stop after_ms=%d",
			STOP_PATIENCE_MS);
		kill_engine(m, SIGKILL);
		return;
	case MANAGER_DONE:
	case MANAGER_RUNNING:
		return;
	}
}

static void stop(struct manager *m)
{
	if (m->phase == MANAGER_DONE || m->phase == MANAGER_STOPPING)
		return;
	notify_service_manager("STOPPING=1");
	if (!m->engine_alive) {
		finish(m, EXIT_STATUS_OK);
		return;
	}
	set_phase(m, MANAGER_STOPPING, STOP_PATIENCE_MS);
	kill_engine(m, SIGTERM);
}

static void on_signal(uv_signal_t *handle, int signal_number)
{
	struct manager *m = handle->data;

	if (signal_number == SIGHUP)
		kill_engine(m, SIGHUP); /* the engine reloads */
	else
		stop(m);
}

static void on_watchdog(uv_timer_t *timer)
{
	struct manager *m = timer->data;

	if (m->phase == MANAGER_RUNNING)
		notify_service_manager("WATCHDOG=1");
}

static void on_engine_closed(uv_handle_t *handle)
{
	struct manager *m = handle->data;
	int status = m->result;

	/* The handles are used again for the next engine, so all three must be closed first. */
	if (--m->n_open > 0)
		return;
	switch (restart_decide(&m->budget, status, m->phase == MANAGER_STOPPING,
		clock_monotonic_ms(&clock_system))) {
	case RESTART_STOP:
		tell_ready(m, "FAILED", "the engine ended before it was ready", "");
		finish(m, EXIT_STATUS_OK);
		return;
	case RESTART_GIVE_UP:
		log_line(LOG_LEVEL_ERROR,
			"giving-up why=\"the engine died %d times in %d seconds\"",
			RESTART_CRASHES_MAX, RESTART_WINDOW_MS / 1000);
		tell_ready(
			m, "FAILED", "the engine died again and again; see `interlock logs`", "");
		finish(m, EXIT_STATUS_FAILED);
		return;
	case RESTART_NOW:
		manager_spawn(m);
		return;
	case RESTART_LATER:
		set_phase(m, MANAGER_WAITING, RESTART_DELAY_MS);
		return;
	}
}

static void on_engine_exit(uv_process_t *process, int64_t exit_status, int signal_number)
{
	struct manager *m = process->data;

	log_line(LOG_LEVEL_NOTICE, "engine-ended status=%d signal=%d", (int)exit_status,
		signal_number);
	m->result = signal_number != 0 ? signal_number : (int)((unsigned)exit_status << 8);
	m->engine_alive = false;
	m->n_open = 3;
	uv_close((uv_handle_t *)&m->lifeline, on_engine_closed);
	uv_close((uv_handle_t *)&m->engine_stdout, on_engine_closed);
	uv_close((uv_handle_t *)process, on_engine_closed);
}

static void on_ready(struct manager *m)
{
	set_phase(m, MANAGER_RUNNING, 0);
	log_line(LOG_LEVEL_NOTICE, "engine-ready endpoint=%s web=%s", m->startup.endpoint,
		m->startup.web);
	tell_ready(m, "READY", m->startup.endpoint, m->startup.web);
	notify_service_manager("READY=1\nSTATUS=The engine is ready.");
}

static void on_stdout_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct manager *m = handle->data;

	(void)suggested;
	*buf = uv_buf_init(m->input, sizeof(m->input));
}

static void on_stdout(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct manager *m = stream->data;

	if (n <= 0 || m->phase != MANAGER_STARTING)
		return; /* the reader's work ends with the web line; the exit callback sees deaths
			 */
	switch (startup_push(&m->startup, buf->base, (size_t)n)) {
	case STARTUP_READY:
		on_ready(m);
		return;
	case STARTUP_BROKEN:
		log_line(LOG_LEVEL_ERROR, "engine-killed why=its-start-lines-are-wrong");
		kill_engine(m, SIGKILL);
		return;
	case STARTUP_PORT:
	case STARTUP_WEB:
		return;
	}
}

static int write_engine_pid(const struct manager *m)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", m->engine.pid);

	return file_write_atomic(m->options->state_fd, ENGINE_PID, text, (size_t)n, 0600);
}

static int spawn_engine(struct manager *m)
{
	/* uv_process_options_t is not const-correct; uv_spawn() changes no argument. */
	char *argv[8] = { m->program, (char *)(uintptr_t) "--workspace",
		(char *)(uintptr_t)m->options->workspace, (char *)(uintptr_t) "--supervised" };
	uv_stdio_container_t stdio[3] = {
		{ .flags = UV_CREATE_PIPE | UV_READABLE_PIPE,
			.data.stream = (uv_stream_t *)&m->lifeline },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
			.data.stream = (uv_stream_t *)&m->engine_stdout },
		{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
	};
	uv_process_options_t o = { .exit_cb = on_engine_exit,
		.file = m->program,
		.args = argv,
		.stdio = stdio,
		.stdio_count = 3 };
	size_t n = 4;
	int r;

	if (m->options->config) {
		argv[n++] = (char *)(uintptr_t) "--config";
		argv[n++] = (char *)(uintptr_t)m->options->config;
	}
	if (m->options->verbose)
		argv[n++] = (char *)(uintptr_t) "--verbose";
	m->engine.data = m->lifeline.data = m->engine_stdout.data = m;
	r = uv_pipe_init(&m->loop, &m->lifeline, 0);
	if (r == 0)
		r = uv_pipe_init(&m->loop, &m->engine_stdout, 0);
	if (r == 0)
		r = uv_spawn(&m->loop, &m->engine, &o);
	if (r != 0)
		return r;
	m->engine_alive = true;
	return uv_read_start((uv_stream_t *)&m->engine_stdout, on_stdout_alloc, on_stdout);
}

static void manager_spawn(struct manager *m)
{
	int r;

	startup_init(&m->startup);
	set_phase(m, MANAGER_STARTING, STARTUP_TIMEOUT_MS);
	r = spawn_engine(m);
	if (r == 0)
		r = write_engine_pid(m);
	if (r == 0)
		return;
	log_line(LOG_LEVEL_ERROR, "engine-not-started program=%s why=\"%s\"", m->program,
		uv_strerror(r));
	tell_ready(m, "FAILED", m->program, uv_strerror(r));
	if (m->engine_alive) {
		stop(m);
		return;
	}
	uv_close((uv_handle_t *)&m->lifeline, NULL);
	uv_close((uv_handle_t *)&m->engine_stdout, NULL);
	uv_close((uv_handle_t *)&m->engine, NULL);
	finish(m, EXIT_STATUS_FAILED);
}

static int watch_signals(struct manager *m)
{
	const struct {
		uv_signal_t *handle;
		int number;
	} signals[] = { { &m->sigterm, SIGTERM }, { &m->sigint, SIGINT }, { &m->sighup, SIGHUP } };

	for (size_t i = 0; i < N_ELEMENTS(signals); i++) {
		int r = uv_signal_init(&m->loop, signals[i].handle);

		if (r == 0)
			r = uv_signal_start(signals[i].handle, on_signal, signals[i].number);
		if (r != 0)
			return r;
		signals[i].handle->data = m;
	}
	return 0;
}

static int manager_open(struct manager *m)
{
	uint64_t watchdog_ms = notify_watchdog_ms();
	int r;

	m->program = m->options->engine ? strdup(m->options->engine) : NULL;
	if (m->options->engine && !m->program)
		return -ENOMEM;
	if (!m->program) {
		r = program_path("interlock-engine", &m->program);
		if (r != 0)
			return r;
	}
	r = uv_loop_init(&m->loop);
	if (r != 0)
		return r;
	(void)uv_timer_init(&m->loop, &m->timer);    /* cannot fail */
	(void)uv_timer_init(&m->loop, &m->watchdog); /* cannot fail */
	m->timer.data = m->watchdog.data = m;
	if (watchdog_ms > 0)
		(void)uv_timer_start(
			&m->watchdog, on_watchdog, watchdog_ms, watchdog_ms); /* cannot fail */
	return watch_signals(m);
}

int manager_run(const struct manager_options *options)
{
	struct manager m = {
		.options = options, .ready_fd = options->ready_fd, .result = EXIT_STATUS_FAILED
	};
	auto_close int lock_fd = -1;
	int r = lock_take(options->state_fd, MANAGER_LOCK, &lock_fd);

	if (r == LOCK_E_HELD) {
		log_line(LOG_LEVEL_ERROR, "already-running state=%s", options->state_path);
		tell_ready(&m, "FAILED", "this workspace is already running", "");
		return EXIT_STATUS_FAILED;
	}
	(void)signal(SIGPIPE, SIG_IGN); /* writes say EPIPE instead */
	if (r == 0)
		r = manager_open(&m);
	if (r != 0) {
		log_line(LOG_LEVEL_ERROR, "cannot-start why=\"%s\"", strerror(-r));
		tell_ready(&m, "FAILED", "cannot start:", strerror(-r));
		free(m.program);
		return EXIT_STATUS_FAILED;
	}
	manager_spawn(&m);
	(void)uv_run(&m.loop, UV_RUN_DEFAULT); /* ends when finish() closed every handle */
	(void)uv_loop_close(&m.loop);          /* nothing is left open */
	free(m.program);
	return m.result;
}
