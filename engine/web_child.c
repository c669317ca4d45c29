#include "engine/web_child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/num.h"

#define WEB_LINE_MAX   256
#define WEB_TIMEOUT_MS 10000

struct web_child {
	struct engine *engine;
	uv_process_t process;
	uv_pipe_t output;
	uv_timer_t timer;
	char line[WEB_LINE_MAX];
	size_t n_line;
	bool alive, told;
	int n_handles;
};

/* One of the three lines of the protocol, once. */
static void tell(struct web_child *w, const char *line)
{
	if (w->told)
		return;
	w->told = true;
	(void)uv_timer_stop(&w->timer);
	(void)puts(line);
	(void)fflush(stdout); /* a manager that is gone shows on the lifeline */
}

static void tell_failed(struct web_child *w, const char *why)
{
	char line[WEB_LINE_MAX + 64];

	(void)snprintf(line, sizeof(line), "WEB_FAILED:%u:%.200s", w->engine->config.web_port, why);
	tell(w, line);
}

static void on_line(struct web_child *w)
{
	uint32_t port;

	if (strncmp(w->line, "WEB:", 4) == 0 && num_parse_u32(w->line + 4, 1, 65535, &port) == 0)
		tell(w, w->line);
	else if (strncmp(w->line, "WEB_FAILED:", 11) == 0)
		tell(w, w->line);
	else
		tell_failed(w, "its first line is wrong");
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct web_child *w = handle->data;

	(void)suggested;
	if (w->n_line + 1 >= sizeof(w->line))
		w->n_line = 0; /* told already, or it is told below */
	*buf = uv_buf_init(w->line + w->n_line, (unsigned)(sizeof(w->line) - 1 - w->n_line));
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct web_child *w = stream->data;
	char *end;

	(void)buf;
	if (n < 0) {
		(void)uv_read_stop(stream);
		tell_failed(w, "it ended before it was ready");
		return;
	}
	w->n_line += (size_t)n;
	w->line[w->n_line] = '\0';
	end = memchr(w->line, '\n', w->n_line);
	if (end) {
		*end = '\0';
		on_line(w);
		w->n_line = 0;
	} else if (w->n_line + 1 >= sizeof(w->line)) {
		tell_failed(w, "its first line is too long");
	}
}

static void on_timer(uv_timer_t *timer)
{
	tell_failed(timer->data, "it did not answer in time");
}

static void on_child_exit(uv_process_t *process, int64_t status, int signal_number)
{
	struct web_child *w = process->data;

	w->alive = false;
	log_line(LOG_LEVEL_NOTICE, "web-ended status=%d signal=%d", (int)status, signal_number);
	tell_failed(w, "it ended before it was ready");
}

static int spawn(struct web_child *w)
{
	struct engine *e = w->engine;
	char port[16];
	char *argv[] = { (char *)(uintptr_t)e->config.web_program, (char *)(uintptr_t) "--port",
		port, (char *)(uintptr_t) "--socket", e->engine_socket, NULL };
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	char *env[] = { path, NULL };
	uv_stdio_container_t stdio[3] = { { .flags = UV_IGNORE },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
			.data.stream = (uv_stream_t *)&w->output },
		{ .flags = UV_INHERIT_FD, .data.fd = 2 } };
	uv_process_options_t o = { .exit_cb = on_child_exit,
		.file = e->config.web_program,
		.args = argv,
		.env = env,
		.stdio = stdio,
		.stdio_count = 3 };
	int r;

	(void)snprintf(port, sizeof(port), "%u", e->config.web_port);
	r = uv_spawn(&e->loop, &w->process, &o);
	if (r != 0)
		return r;
	w->alive = true;
	return uv_read_start((uv_stream_t *)&w->output, on_alloc, on_output);
}

void web_start(struct engine *e)
{
	struct web_child *w;
	int r;

	if (!e->config.web_program) {
		(void)puts("WEB_DISABLED");
		(void)fflush(stdout); /* as in tell() */
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		(void)printf("WEB_FAILED:%u:out of memory\n", e->config.web_port);
		(void)fflush(stdout); /* as in tell() */
		return;
	}
	e->web = w;
	w->engine = e;
	(void)uv_timer_init(&e->loop, &w->timer);    /* cannot fail */
	(void)uv_pipe_init(&e->loop, &w->output, 0); /* cannot fail */
	w->timer.data = w->output.data = w->process.data = w;
	(void)uv_timer_start(&w->timer, on_timer, WEB_TIMEOUT_MS, 0); /* cannot fail */
	r = spawn(w);
	if (r != 0)
		tell_failed(w, strerror(-r));
}

void web_stop(struct engine *e)
{
	if (e->web && e->web->alive)
		(void)uv_process_kill(&e->web->process, SIGTERM); /* it may just have ended */
}

static void on_closed(uv_handle_t *handle)
{
	struct web_child *w = handle->data;

	if (--w->n_handles == 0)
		free(w);
}

void web_close(struct engine *e)
{
	struct web_child *w = take_ptr(e->web);
	bool has_process;

	if (!w)
		return;
	if (w->alive)
		(void)uv_process_kill(&w->process, SIGKILL); /* it may just have ended */
	has_process = w->process.type == UV_PROCESS;
	w->n_handles = has_process ? 3 : 2;
	uv_close((uv_handle_t *)&w->timer, on_closed);
	uv_close((uv_handle_t *)&w->output, on_closed);
	if (has_process)
		uv_close((uv_handle_t *)&w->process, on_closed);
}
