#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "sandbox/runner/broker.h"
#include "sandbox/runner/run_plan.h"

#define BACKSTOP_MS 1000 /* from the order to end until SIGKILL */
#define DRAIN_MS    500  /* for pipes that somebody outside the tree still holds */

/*
 * RUNNING --limit, cancel--> ENDING --exit, all pipes at their end--> CLOSING --closed--> (freed)
 */
struct il_run {
	uv_loop_t *loop;
	struct il_run_plan *plan;
	struct il_run_events events;
	struct il_run_result result;
	uv_process_t process;
	uv_pipe_t out[2], report;
	uv_timer_t wall, backstop;
	struct run_broker *broker; /* NULL: no way out */
	unsigned n_open_pipes, n_open_handles;
	bool exited, closing, ending, reported;
	uint64_t started_ms;
	struct report record; /* being received */
	size_t n_record;
	char *attestation;
	struct buf network; /* what the broker decided */
	char buffer[64 << 10];
};

static void finish(struct il_run *run)
{
	auto_buf struct buf armed = BUF_INIT((size_t)256 << 10);
	struct il_run_result *result = &run->result;
	size_t n_violated = 0;
	int r = run->plan->restore_armed ? armed_restore(&run->plan->armed, &armed, &n_violated)
					 : 0;

	if (r != 0) {
		result->error = IL_RUN_E_RUNTIME;
		(void)snprintf(result->text, sizeof(result->text),
			"armed files could not be put back: %s", strerror(-r));
	}
	r = run_attest(run->plan, result, buf_get_text(&armed), buf_get_text(&run->network),
		&run->attestation);
	result->attestation_json = r == 0 ? run->attestation : "{}";
	if (r != 0 && result->error == IL_RUN_OK) {
		result->error = IL_RUN_E_RUNTIME;
		(void)snprintf(
			result->text, sizeof(result->text), "no attestation: %s", strerror(-r));
	}
	run->events.on_exit(run->events.ctx, result);
	free(run->attestation);
	buf_done(&run->network);
	(void)il_run_plan_free(run->plan);
	free(run);
}

static void on_closed(uv_handle_t *handle)
{
	struct il_run *run = handle->data;

	if (--run->n_open_handles == 0)
		finish(run);
}

static void on_broker_closed(void *ctx)
{
	struct il_run *run = ctx;

	buf_text(&run->network, run_broker_log(run->broker));
	run->broker = NULL;
	if (--run->n_open_handles == 0)
		finish(run);
}

static void close_handle(struct il_run *run, uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
	(void)run;
}

static void close_all(struct il_run *run)
{
	if (run->closing)
		return;
	run->closing = true;
	run->result.duration_ms = uv_now(run->loop) - run->started_ms;
	if (run->broker)
		run_broker_close(run->broker, on_broker_closed, run);
	close_handle(run, (uv_handle_t *)&run->process);
	close_handle(run, (uv_handle_t *)&run->out[0]);
	close_handle(run, (uv_handle_t *)&run->out[1]);
	close_handle(run, (uv_handle_t *)&run->report);
	close_handle(run, (uv_handle_t *)&run->wall);
	close_handle(run, (uv_handle_t *)&run->backstop);
}

static void maybe_done(struct il_run *run)
{
	if (run->exited && run->n_open_pipes == 0)
		close_all(run);
}

static void on_backstop(uv_timer_t *timer)
{
	struct il_run *run = timer->data;

	if (run->exited)
		close_all(run);
	else
		(void)uv_process_kill(&run->process, SIGKILL); /* gone already is fine */
}

static void end_now(struct il_run *run)
{
	(void)uv_process_kill(
		&run->process, SIGTERM); /* interlock-exec ends the tree; it may be over */
	(void)uv_timer_start(
		&run->backstop, on_backstop, BACKSTOP_MS, 0); /* fails only without callback */
}

static void stop(struct il_run *run, enum il_run_error error, const char *text)
{
	if (run->ending)
		return;
	run->ending = true;
	run->result.error = error;
	(void)snprintf(run->result.text, sizeof(run->result.text), "%s", text);
	end_now(run);
}

static void on_wall(uv_timer_t *timer)
{
	struct il_run *run = timer->data;
	char text[96];

	(void)snprintf(text, sizeof(text), "timed out after %llu ms",
		(unsigned long long)run->plan->limits.wall_ms);
	run->result.limit_hit = true;
	stop(run, IL_RUN_E_TIMED_OUT, text);
}

static void on_grace_over(uv_timer_t *timer)
{
	end_now(timer->data);
}

void il_run_cancel(struct il_run *run, uint64_t grace_ms)
{
	if (run->ending || run->exited)
		return;
	if (grace_ms == 0) {
		stop(run, IL_RUN_E_CANCELLED, "cancelled");
		return;
	}
	run->ending = true;
	run->result.error = IL_RUN_E_CANCELLED;
	(void)snprintf(run->result.text, sizeof(run->result.text), "cancelled");
	(void)uv_process_kill(&run->process, SIGUSR1); /* may be over */
	(void)uv_timer_start(&run->wall, on_grace_over, grace_ms, 0);
}

int il_run_pid(const struct il_run *run)
{
	return run->process.pid;
}

static void take_exit(struct il_run *run, const struct report *r)
{
	struct il_run_result *result = &run->result;

	run->reported = true;
	result->exit_status = WIFEXITED(r->code) ? WEXITSTATUS(r->code) : -1;
	result->signal = WIFSIGNALED(r->code) ? WTERMSIG(r->code) : 0;
	result->cpu_user_ms = r->cpu_user_us / 1000;
	result->cpu_system_ms = r->cpu_system_us / 1000;
	result->memory_peak_bytes = r->memory_peak_bytes;
}

static void take_report(struct il_run *run, struct report *r)
{
	struct il_run_result *result = &run->result;

	r->text[sizeof(r->text) - 1] = '\0';
	switch (r->kind) {
	case REPORT_FAILED:
		result->error = r->code == EACCES && strcmp(r->text, "execve") == 0
					? IL_RUN_E_NOT_EXECUTABLE
					: IL_RUN_E_SPAWN;
		(void)snprintf(result->text, sizeof(result->text), "%.180s: %.60s", r->text,
			strerror(r->code));
		break;
	case REPORT_LIMIT:
		result->error = IL_RUN_E_QUOTA;
		result->limit_hit = true;
		(void)snprintf(result->text, sizeof(result->text), "the limit of %.64s was reached",
			r->text);
		break;
	case REPORT_EXIT:
		take_exit(run, r);
		break;
	default:
		break;
	}
}

static void on_allocate(uv_handle_t *handle, size_t size, uv_buf_t *ret_buffer)
{
	struct il_run *run = handle->data;

	(void)size;
	*ret_buffer = uv_buf_init(run->buffer, sizeof(run->buffer));
}

static void pipe_ended(struct il_run *run, uv_stream_t *stream)
{
	(void)uv_read_stop(stream);
	run->n_open_pipes--;
	maybe_done(run);
}

static void on_report(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	struct il_run *run = stream->data;
	const char *at = buffer->base;

	if (n < 0) {
		pipe_ended(run, stream);
		return;
	}
	while (n > 0) {
		size_t take = sizeof(run->record) - run->n_record;

		take = take < (size_t)n ? take : (size_t)n;
		memcpy((char *)&run->record + run->n_record, at, take);
		run->n_record += take;
		at += take;
		n -= (ssize_t)take;
		if (run->n_record == sizeof(run->record)) {
			take_report(run, &run->record);
			run->n_record = 0;
		}
	}
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	struct il_run *run = stream->data;
	uint64_t limit = run->plan->limits.output_bytes, room;

	if (n < 0) {
		pipe_ended(run, stream);
		return;
	}
	room = limit == 0 ? (uint64_t)n : limit - run->result.output_bytes;
	if ((uint64_t)n > room) {
		run->result.truncated = true;
		run->result.limit_hit = true;
		n = (ssize_t)room;
		stop(run, IL_RUN_E_QUOTA, "the limit of output was reached");
	}
	run->result.output_bytes += (uint64_t)n;
	if (n > 0 && run->events.on_output)
		run->events.on_output(run->events.ctx,
			stream == (uv_stream_t *)&run->out[0] ? 1 : 2,
			(const uint8_t *)buffer->base, (size_t)n);
}

static void on_exit_of_exec(uv_process_t *process, int64_t status, int signal)
{
	struct il_run *run = process->data;

	(void)status;
	run->exited = true;
	if (!run->reported) {
		run->result.exit_status = -1;
		run->result.signal = signal ? signal : SIGKILL;
	}
	(void)uv_timer_stop(&run->wall);
	(void)uv_timer_start(&run->backstop, on_backstop, DRAIN_MS, 0);
	maybe_done(run);
}

static int job_memfd(const struct il_run_plan *plan)
{
	auto_close int fd = memfd_create("interlock-job", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, plan->job.data, plan->job.size);
	if (r == 0 && fcntl(fd, F_ADD_SEALS,
			      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		r = -errno;
	return r != 0 ? r : take_fd(fd);
}

static void attach(struct il_run *run, uv_handle_t *handle)
{
	handle->data = run;
	run->n_open_handles++;
}

/* Handles that are only initialised need their close too; from here on on_exit follows always. */
static int init_handles(struct il_run *run)
{
	uv_pipe_t *const pipes[] = { &run->out[0], &run->out[1], &run->report };

	for (size_t i = 0; i < N_ELEMENTS(pipes); i++) {
		int r = uv_pipe_init(run->loop, pipes[i], 0);

		if (r != 0)
			return r;
		attach(run, (uv_handle_t *)pipes[i]);
	}
	(void)uv_timer_init(run->loop, &run->wall); /* never fails */
	attach(run, (uv_handle_t *)&run->wall);
	(void)uv_timer_init(run->loop, &run->backstop);
	attach(run, (uv_handle_t *)&run->backstop);
	return 0;
}

struct ends {
	int null, job, mine[3], theirs[3];
	int broker[2]; /* ours, the command's; -1 without a way out */
};

static void close_ends(struct ends *e)
{
	cleanup_close(&e->null);
	cleanup_close(&e->job);
	cleanup_close(&e->broker[0]);
	cleanup_close(&e->broker[1]);
	for (size_t i = 0; i < 3; i++) {
		cleanup_close(&e->mine[i]);
		cleanup_close(&e->theirs[i]);
	}
}

static int open_ends(struct ends *e, const struct il_run_plan *plan, int stdin_fd)
{
	*e = (struct ends){ -1, -1, { -1, -1, -1 }, { -1, -1, -1 }, { -1, -1 } };
	e->null = stdin_fd >= 0 ? stdin_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (e->null < 0)
		return -errno;
	e->job = job_memfd(plan);
	if (e->job < 0)
		return e->job;
	if (plan->egress_program[0] &&
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, e->broker) <
			0)
		return -errno;
	for (size_t i = 0; i < 3; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0)
			return -errno;
		e->mine[i] = fds[0];
		e->theirs[i] = fds[1];
	}
	return 0;
}

static int read_pipes(struct il_run *run, struct ends *e)
{
	uv_pipe_t *const pipes[] = { &run->out[0], &run->out[1], &run->report };
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(pipes); i++) {
		r = uv_pipe_open(pipes[i], e->mine[i]);
		if (r != 0)
			break;
		e->mine[i] = -1; /* the handle's now */
		r = uv_read_start(
			(uv_stream_t *)pipes[i], on_allocate, i == 2 ? on_report : on_output);
		run->n_open_pipes += r == 0 ? 1 : 0;
	}
	return r;
}

static int spawn(struct il_run *run, struct ends *e)
{
	char *argv[] = { (char *)(uintptr_t)run->plan->exec_program, NULL }, *envp[] = { NULL };
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_INHERIT_FD, .data.fd = e->null },
		{ .flags = UV_INHERIT_FD, .data.fd = e->theirs[0] },
		{ .flags = UV_INHERIT_FD, .data.fd = e->theirs[1] },
		{ .flags = UV_INHERIT_FD, .data.fd = e->job },
		{ .flags = UV_INHERIT_FD, .data.fd = e->theirs[2] },
		{ .flags = UV_INHERIT_FD, .data.fd = e->broker[1] },
	};
	uv_process_options_t options = { .exit_cb = on_exit_of_exec,
		.file = run->plan->exec_program,
		.args = argv,
		.env = envp,
		.stdio_count = (int)N_ELEMENTS(stdio) - (e->broker[1] < 0),
		.stdio = stdio };
	int r = uv_spawn(run->loop, &run->process, &options);

	attach(run, (uv_handle_t *)&run->process); /* also after a failure: it was initialised */
	return r;
}

/* Nothing runs: reported like any end, so that the caller has one place for it. */
static void fail_start(struct il_run *run, int r)
{
	run->result.error = IL_RUN_E_SPAWN;
	(void)snprintf(run->result.text, sizeof(run->result.text), "%s could not be started: %.60s",
		"interlock-exec", uv_strerror(r));
	run->result.exit_status = -1;
	close_all(run);
}

static int open_broker(struct il_run *run, int fd)
{
	int r = run_broker_open(run->loop, fd, run->plan->hosts, run->plan->n_hosts, &run->broker);

	if (run->broker)
		run->n_open_handles++;
	return r;
}

int il_run_start(uv_loop_t *loop, struct il_run_plan *plan, int stdin_fd,
	const struct il_run_events *events, struct il_run **ret_run)
{
	struct il_run *run = calloc(1, sizeof(*run));
	struct ends ends;
	int r = open_ends(&ends, plan, stdin_fd);

	if (!run || r != 0) {
		close_ends(&ends);
		free(run);
		(void)il_run_plan_free(plan);
		return r != 0 ? r : -ENOMEM;
	}
	run->loop = loop;
	run->plan = plan;
	run->events = *events;
	run->network = BUF_INIT((size_t)512 << 10);
	uv_update_time(loop);
	run->started_ms = uv_now(loop);
	r = init_handles(run); /* fails never on a pipe that is not yet open */
	if (r == 0)
		r = spawn(run, &ends);
	if (r == 0)
		r = read_pipes(run, &ends);
	if (r == 0 && ends.broker[0] >= 0)
		r = open_broker(run, take_fd(ends.broker[0]));
	if (r == 0 && plan->limits.wall_ms > 0)
		r = uv_timer_start(&run->wall, on_wall, plan->limits.wall_ms, 0);
	close_ends(&ends);
	*ret_run = run;
	if (r != 0)
		fail_start(run, r);
	return 0;
}
