#include "engine/exec_files_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/programs.h"
#include "engine/engine.h"
#include "engine/exec_file.h"
#include "engine/execute.h"
#include "engine/fill.h"
#include "engine/pipeline.h"
#include "ipc/files_job.h"

#define FILES_WALL_MS 10000

struct files_run {
	struct proposal *proposal;
	uv_process_t process;
	uv_pipe_t output, errors;
	uv_timer_t timer;
	struct buf answer;
	int n_handles; /* still open */
	int n_ends;    /* of exit and end of output, still to come */
	int64_t status;
	int signal;
	bool late;
	char input[65536];
	char noise[1024];
};

/* ---- the end ---- */

static void take_answer(struct proposal *p, struct files_run *f)
{
	struct files_answer answer;
	int r = buf_error(&f->answer);

	if (f->late || f->signal != 0 || f->status != 0) {
		proposal_fail(p, p->cancelled ? STATUS_CANCELLED : STATUS_FAILED,
			f->late ? "It took longer than %d s and was ended."
				: "The files program ended with status %d.",
			f->late ? FILES_WALL_MS / 1000 : (int)f->status);
		return;
	}
	if (r == 0)
		r = files_answer_decode(&p->arena, f->answer.data, f->answer.size, &answer);
	if (r != 0) {
		proposal_fail(p, STATUS_FAILED, "The files program gave no proper answer.");
		return;
	}
	buf_text(&p->content, answer.content);
	p->data = answer.data;
	p->truncated = answer.truncated;
	p->truncated_at = answer.n_entries;
	p->status = STATUS_EXECUTED;
	if (!answer.ok)
		proposal_fail(p, STATUS_FAILED, "%s",
			answer.error ? answer.error : "The files program refused.");
	execute_cap(p);
}

static void on_closed(uv_handle_t *handle)
{
	struct files_run *f = handle->data;
	struct proposal *p = f->proposal;

	if (--f->n_handles > 0)
		return;
	take_answer(p, f);
	p->files = NULL;
	buf_done(&f->answer);
	free(f);
	pipeline_run(p);
}

static void end(struct files_run *f)
{
	if (--f->n_ends > 0)
		return;
	uv_close((uv_handle_t *)&f->process, on_closed);
	uv_close((uv_handle_t *)&f->output, on_closed);
	uv_close((uv_handle_t *)&f->errors, on_closed);
	uv_close((uv_handle_t *)&f->timer, on_closed);
}

static void on_child_exit(uv_process_t *process, int64_t status, int signal_number)
{
	struct files_run *f = process->data;

	f->status = status;
	f->signal = signal_number;
	end(f);
}

static void on_timer(uv_timer_t *timer)
{
	struct files_run *f = timer->data;

	f->late = true;
	(void)uv_process_kill(&f->process, SIGKILL); /* it may just have ended */
}

void exec_files_cancel(struct proposal *p)
{
	if (p->files)
		(void)uv_process_kill(&p->files->process, SIGKILL); /* it may just have ended */
}

/* ---- its output ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct files_run *f = handle->data;
	bool noise = handle == (uv_handle_t *)&f->errors;

	(void)suggested;
	*buf = noise ? uv_buf_init(f->noise, sizeof(f->noise))
		     : uv_buf_init(f->input, sizeof(f->input));
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct files_run *f = stream->data;

	if (n > 0) {
		buf_bytes(&f->answer, buf->base, (size_t)n);
		if (buf_error(&f->answer) != 0)
			(void)uv_process_kill(
				&f->process, SIGKILL); /* more than an answer may be */
	} else if (n < 0) {
		(void)uv_read_stop(stream);
		end(f);
	}
}

static void on_errors(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	(void)buf; /* read so that the pipe never fills; its reasons are in the answer */
	if (n < 0)
		(void)uv_read_stop(stream);
}

/* ---- the start ---- */

static const struct value *absolute_payload(struct proposal *p)
{
	static const char *const paths[] = { "path", "source", "destination" };
	const struct value *old = p->analysis.payload;
	struct fill f = fill_start(&p->arena, old->size + 1);

	for (size_t i = 0; i < old->size; i++) {
		bool is_path = false;

		for (size_t j = 0; j < N_ELEMENTS(paths); j++)
			is_path = is_path || strcmp(old->pairs[i].key, paths[j]) == 0;
		if (is_path)
			fill_text(&f, old->pairs[i].key, proposal_path(p, old->pairs[i].key, NULL));
		else
			fill_value(&f, old->pairs[i].key, old->pairs[i].value);
	}
	if (!value_get(old, "path") && !value_get(old, "source"))
		fill_text(&f, "path", p->engine->workspace);
	return fill_end(&f);
}

static int write_job(struct proposal *p, int *ret_fd)
{
	struct files_job job = { .type = p->analysis.type->name,
		.payload = absolute_payload(p),
		.grant = p->verdict.grant,
		.wall_ms = FILES_WALL_MS,
		.text_max = p->engine->config.result_bytes };
	auto_buf struct buf bytes = BUF_INIT(FILES_JOB_LIMIT);
	auto_close int fd = memfd_create("files-job", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : job.payload ? files_job_encode(&bytes, &job) : -ENOMEM;

	if (r == 0)
		r = write_all(fd, bytes.data, bytes.size);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}

static int spawn(struct files_run *f, const char *program, int job_fd)
{
	uv_loop_t *loop = &f->proposal->engine->loop;
	char *argv[] = { (char *)(uintptr_t)program, NULL };
	char *env[] = { NULL };
	uv_stdio_container_t stdio[3] = { { .flags = UV_INHERIT_FD, .data.fd = job_fd },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
			.data.stream = (uv_stream_t *)&f->output },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
			.data.stream = (uv_stream_t *)&f->errors } };
	uv_process_options_t o = { .exit_cb = on_child_exit,
		.file = program,
		.args = argv,
		.env = env,
		.stdio = stdio,
		.stdio_count = 3 };

	(void)uv_pipe_init(loop, &f->output, 0); /* these three cannot fail */
	(void)uv_pipe_init(loop, &f->errors, 0);
	(void)uv_timer_init(loop, &f->timer);
	f->process.data = f->output.data = f->errors.data = f->timer.data = f;
	f->n_handles = 4;
	return uv_spawn(loop, &f->process, &o);
}

int exec_files_job(struct proposal *p)
{
	auto_free char *program = NULL;
	auto_close int job_fd = -1;
	struct files_run *f;
	int r = program_path("interlock-files", &program);

	if (r == 0)
		r = write_job(p, &job_fd);
	if (r != 0)
		return r;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->proposal = p;
	f->answer = BUF_INIT(FILES_ANSWER_LIMIT);
	p->files = f;
	r = spawn(f, program, job_fd);
	if (r != 0) {
		proposal_fail(p, STATUS_FAILED, "The files program could not be started: %s.",
			strerror(-r));
		f->n_ends = 1;
		end(f);
		return 0; /* resumed when its handles are closed */
	}
	f->n_ends = 2;
	(void)uv_timer_start(&f->timer, on_timer, FILES_WALL_MS + 1000, 0); /* cannot fail */
	r = uv_read_start((uv_stream_t *)&f->output, on_alloc, on_output);
	if (r == 0)
		r = uv_read_start((uv_stream_t *)&f->errors, on_alloc, on_errors);
	if (r != 0)
		(void)uv_process_kill(&f->process, SIGKILL); /* its exit ends the run */
	return 0;
}

struct list_work {
	uv_work_t req;
	struct proposal *proposal;
};

static void on_list(uv_work_t *req)
{
	struct list_work *w = req->data;

	exec_list_directory(w->proposal);
}

static void on_listed(uv_work_t *req, int status)
{
	struct list_work *w = req->data;
	struct proposal *p = w->proposal;

	free(w);
	if (status != 0)
		proposal_fail(p, STATUS_CANCELLED, "The engine is stopping.");
	pipeline_run(p);
}

int exec_list(struct proposal *p)
{
	struct list_work *w;

	if (proposal_bool(p, "recursive"))
		return exec_files_job(p);
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->req.data = w;
	w->proposal = p;
	return uv_queue_work(&p->engine->loop, &w->req, on_list, on_listed);
}
