#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/files.h"
#include "base/log.h"
#include "base/state.h"
#include "engine/agent_child.h"
#include "engine/approvals.h"
#include "engine/commands.h"
#include "engine/database.h"
#include "engine/events.h"
#include "engine/fill.h"
#include "engine/pipeline.h"
#include "engine/record.h"
#include "engine/recovery.h"
#include "engine/service.h"
#include "engine/sessions.h"
#include "engine/web_child.h"

#define ENGINE_LOCK      "engine.lock"
#define COMMAND_GRACE_MS 3000
#define STOP_DEADLINE_MS 4200
#define TICK_MS          200
#define POLICY_LIMIT     (1u << 20)

/* ---- where things are ---- */

static int open_places(struct engine *e)
{
	const char *home = getenv("HOME");
	auto_free char *real = realpath(e->options->workspace, NULL);
	char self[4096];
	struct stat st;
	ssize_t n;
	int r;

	if (!real)
		return -errno;
	e->workspace = take_ptr(real);
	e->home = strdup(home && home[0] == '/' ? home : "/nonexistent");
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (!e->home || n < 0)
		return -ENOMEM;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	e->program_dir = strdup(self);
	e->workspace_fd = open(e->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!e->program_dir || e->workspace_fd < 0 || fstat(e->workspace_fd, &st) < 0)
		return -errno;
	e->workspace_device = st.st_dev;
	e->workspace_inode = st.st_ino;
	r = state_dir_open(e->workspace, &e->state_path, &e->state_fd);
	if (r == 0)
		r = state_config_dir(&e->config_dir);
	if (r == 0)
		r = state_socket_path(e->workspace, "engine.sock", &e->engine_socket);
	if (r == 0)
		r = state_socket_path(e->workspace, "agent.sock", &e->agent_socket);
	return r;
}

/* One engine a state directory: the lock goes with the process, however it ends. */
static int take_lock(struct engine *e)
{
	e->lock_fd =
		openat(e->state_fd, ENGINE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (e->lock_fd < 0)
		return -errno;
	for (int tries = 0; flock(e->lock_fd, LOCK_EX | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK || tries == 20)
			return -errno;
		(void)usleep(50000); /* a killed engine's last thread may still be in the kernel */
	}
	return 0;
}

static int open_audit(struct engine *e, struct diag *diag)
{
	auto_free char *dir = NULL;
	struct il_audit_options o = { 0 };

	if (asprintf(&dir, "%s/audit", e->state_path) < 0)
		return -ENOMEM;
	o.dir = dir;
	return il_audit_open(&o, &e->audit, diag);
}

static int open_chronicle(struct engine *e, struct diag *diag)
{
	auto_free char *dir = NULL;
	struct il_chronicle_options o = { .keep_snapshots = e->config.keep_snapshots,
		.keep_days = e->config.keep_days,
		.exclude = e->config.exclude,
		.n_exclude = e->config.n_exclude };

	if (asprintf(&dir, "%s/chronicle", e->state_path) < 0)
		return -ENOMEM;
	o.dir = dir;
	return il_chronicle_open(&o, &e->chronicle, diag);
}

/* ---- policy ---- */

static int read_policy_file(const char *path, bool required, char **ret_text, size_t *ret_n)
{
	int r = file_read(AT_FDCWD, path, POLICY_LIMIT, ret_text, ret_n);

	return r == -ENOENT && !required ? 0 : r;
}

int engine_load_policy(struct engine *e, struct diag *reterr_diag)
{
	auto_free char *own = NULL;
	auto_free char *own_path = NULL;
	auto_free char *narrow = NULL;
	auto_free char *narrow_path = NULL;
	struct il_policy_source sources[2] = { 0 };
	struct il_policy *policy = NULL;
	size_t n = 1, n_own = 0, n_narrow = 0, bad = 0;
	int r;

	if (asprintf(&narrow_path, "%s/interlock.yaml", e->workspace) < 0 ||
		asprintf(&own_path, "%s/policy.yaml", e->config_dir) < 0)
		return -ENOMEM;
	r = read_policy_file(e->config.policy_file ? e->config.policy_file : own_path,
		e->config.policy_file != NULL, &own, &n_own);
	if (r == 0)
		r = read_policy_file(narrow_path, false, &narrow, &n_narrow);
	if (r != 0)
		return diag_set(reterr_diag, r, 0, 0, "Cannot read the policy: %s.", strerror(-r));
	sources[0] =
		(struct il_policy_source){ .name = "policy.yaml", .text = own, .n_text = n_own };
	if (!own) {
		sources[0].name = e->config.policy_preset;
		sources[0].text = il_policy_preset(e->config.policy_preset, &sources[0].n_text);
		if (!sources[0].text)
			return diag_set(reterr_diag, -ENOENT, 0, 0,
				"There is no policy preset of that name.");
	}
	if (narrow)
		sources[n++] = (struct il_policy_source){ .name = "interlock.yaml",
			.text = narrow,
			.n_text = n_narrow,
			.narrowing_only = true };
	r = il_policy_load(sources, n, &policy, &bad, reterr_diag);
	if (r != 0) {
		log_line(LOG_LEVEL_ERROR, "policy-refused source=%s",
			sources[bad < n ? bad : 0].name);
		return err_fold(r);
	}
	if (e->policy) {
		e->policy = il_policy_unref(e->policy);
		record_event(e, "PolicyReloaded", NULL, "engine", NULL);
	}
	e->policy = policy;
	return 0;
}

/* ---- signals and time ---- */

static void on_signal(uv_signal_t *handle, int signal_number)
{
	struct engine *e = handle->data;
	struct diag diag = { 0 };

	if (signal_number != SIGHUP)
		engine_stop(e, signal_number == SIGTERM ? "SIGTERM" : "SIGINT");
	else if (engine_load_policy(e, &diag) != 0)
		log_line(LOG_LEVEL_ERROR, "policy-not-reloaded line=%u why=\"%s\"", diag.line,
			diag.text);
}

static void on_tick(uv_timer_t *timer)
{
	struct engine *e = timer->data;

	approvals_tick(e);
}

static void on_lifeline_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct engine *e = handle->data;

	(void)suggested;
	*buf = uv_buf_init(e->sink, sizeof(e->sink));
}

static void on_lifeline(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	(void)buf;
	if (n < 0) {
		(void)uv_read_stop(stream);
		engine_stop(stream->data, "the manager is gone");
	}
}

static int watch(struct engine *e)
{
	int r;

	(void)uv_signal_init(&e->loop, &e->sigterm); /* these four cannot fail on an open loop */
	(void)uv_signal_init(&e->loop, &e->sigint);
	(void)uv_signal_init(&e->loop, &e->sighup);
	(void)uv_timer_init(&e->loop, &e->stop_timer);
	(void)uv_timer_init(&e->loop, &e->tick);
	e->sigterm.data = e->sigint.data = e->sighup.data = e->stop_timer.data = e->tick.data = e;
	r = uv_signal_start(&e->sigterm, on_signal, SIGTERM);
	if (r == 0)
		r = uv_signal_start(&e->sigint, on_signal, SIGINT);
	if (r == 0)
		r = uv_signal_start(&e->sighup, on_signal, SIGHUP);
	if (r == 0)
		r = uv_timer_start(&e->tick, on_tick, TICK_MS, TICK_MS);
	if (r != 0 || !e->options->supervised)
		return r;
	r = uv_pipe_init(&e->loop, &e->lifeline, 0);
	if (r == 0) {
		e->lifeline.data = e;
		e->has_lifeline = true;
		r = uv_pipe_open(&e->lifeline, STDIN_FILENO);
	}
	return r == 0 ? uv_read_start((uv_stream_t *)&e->lifeline, on_lifeline_alloc, on_lifeline)
		      : r;
}

/* ---- doors ---- */

static int make_token(struct engine *e, const char *file, enum role role)
{
	auto_token char token[TOKEN_SIZE] = { 0 };
	struct token_entry entry = { .role = role, .uid = geteuid() };
	int r = token_make(token);

	if (r == 0)
		r = token_book_add(&e->tokens, token, &entry, engine_now_ms(e));
	if (r == 0)
		r = token_file_write(e->state_fd, file, token);
	return r;
}

static int open_doors(struct engine *e)
{
	struct connection_server_config config = { .loop = &e->loop,
		.clock = &clock_system,
		.tokens = &e->tokens,
		.callbacks = service_callbacks,
		.ctx = e };
	int r = token_book_init(&e->tokens);

	if (r == 0)
		r = make_token(e, "client.token", ROLE_CLIENT);
	if (r == 0)
		r = make_token(e, "approver.token", ROLE_APPROVER);
	if (r == 0)
		r = connection_server_open(&config, &e->server);
	if (r == 0)
		r = listener_open(e->server, e->engine_socket,
			ROLE_BIT(ROLE_CLIENT) | ROLE_BIT(ROLE_APPROVER), &e->engine_door);
	if (r == 0)
		r = listener_open(e->server, e->agent_socket, ROLE_BIT(ROLE_AGENT), &e->agent_door);
	return r;
}

/* ---- start ---- */

static int fail(const char *step, int r, const struct diag *diag)
{
	log_line(LOG_LEVEL_ERROR, "start-failed step=%s err=%d line=%u why=\"%s\"", step, r,
		diag->line,
		diag->text[0] ? diag->text
		: r < 0       ? strerror(-r)
			      : "refused");
	return r < 0 ? r : -EBADMSG;
}

static int open_loop(struct engine *e)
{
	int r = uv_loop_init(&e->loop);

	if (r == 0)
		r = handoff_open(&e->handoff, &e->loop);
	if (r == 0)
		r = worker_open(&e->chronicle_thread, &e->handoff);
	if (r == 0)
		r = watch(e);
	return r;
}

static int start_places(struct engine *e, struct diag *diag)
{
	int r = open_places(e);

	(void)diag;
	return r == 0 ? take_lock(e) : r;
}

static int start_config(struct engine *e, struct diag *diag)
{
	return engine_config_load(&e->config, e->options->config, diag);
}

static int start_database(struct engine *e, struct diag *diag)
{
	(void)diag;
	return database_open(e);
}

static int start_recovery(struct engine *e, struct diag *diag)
{
	(void)diag;
	return recovery_run(e);
}

static int start_doors(struct engine *e, struct diag *diag)
{
	(void)diag;
	return open_doors(e);
}

int engine_open(struct engine *e, const struct engine_options *options)
{
	static const struct {
		const char *name;
		int (*run)(struct engine *e, struct diag *diag);
	} steps[] = { { "config", start_config }, { "state", start_places },
		{ "audit", open_audit }, { "chronicle", open_chronicle },
		{ "recovery", start_recovery }, { "database", start_database },
		{ "policy", engine_load_policy }, { "sockets", start_doors } };
	struct diag diag = { 0 };
	int r;

	*e = (struct engine){
		.options = options, .state_fd = -1, .lock_fd = -1, .workspace_fd = -1
	};
	e->started_ms = engine_now_ms(e);
	randombytes_buf(e->redact_key, sizeof(e->redact_key));
	r = open_loop(e);
	if (r != 0)
		return fail("loop", r, &diag);
	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		r = steps[i].run(e, &diag);
		if (r != 0)
			return fail(steps[i].name, r, &diag);
	}
	record_event(e, "EngineStarted", NULL, "engine", NULL);
	return 0;
}

/* ---- stop ---- */

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

/* Nothing acts any more: lets the loop run out of handles. */
static void let_go(struct engine *e)
{
	if (e->stopped)
		return;
	e->stopped = true;
	connection_server_close(e->server);
	agent_close(e);
	web_close(e);
	close_handle((uv_handle_t *)&e->sigterm);
	close_handle((uv_handle_t *)&e->sigint);
	close_handle((uv_handle_t *)&e->sighup);
	close_handle((uv_handle_t *)&e->stop_timer);
	close_handle((uv_handle_t *)&e->tick);
	if (e->has_lifeline)
		close_handle((uv_handle_t *)&e->lifeline);
	uv_stop(&e->loop);
}

void engine_maybe_stopped(struct engine *e)
{
	if (e->stopping && !e->proposals && !commands_any_running(e) && !agent_is_alive(e))
		let_go(e);
}

static void on_stop_deadline(uv_timer_t *timer)
{
	struct engine *e = timer->data;

	/* What is left has its intent on disk; the next start marks it interrupted. */
	log_line(LOG_LEVEL_WARNING, "stop-deadline: something did not end in time");
	commands_kill_all(e, 0);
	agent_kill(e);
	let_go(e);
}

void engine_stop(struct engine *e, const char *why)
{
	if (e->stopping)
		return;
	log_line(LOG_LEVEL_NOTICE, "stopping why=\"%s\"", why);
	e->stopping = true;
	e->exit_status = e->restart_wanted ? EXIT_STATUS_RESTART : EXIT_STATUS_OK;
	(void)uv_timer_start(
		&e->stop_timer, on_stop_deadline, STOP_DEADLINE_MS, 0); /* cannot fail */
	approvals_close(e);
	commands_kill_all(e, COMMAND_GRACE_MS);
	agent_stop(e);
	web_stop(e);
	engine_maybe_stopped(e);
}

/* ---- end ---- */

static void free_places(struct engine *e)
{
	free(e->workspace);
	free(e->state_path);
	free(e->config_dir);
	free(e->home);
	free(e->program_dir);
	free(e->engine_socket);
	free(e->agent_socket);
	cleanup_close(&e->workspace_fd);
	cleanup_close(&e->state_fd);
	cleanup_close(&e->lock_fd);
}

void engine_close(struct engine *e)
{
	if (e->audit)
		record_event(e, "EngineStopped", NULL, "engine", NULL);
	worker_close(&e->chronicle_thread);
	database_close(e);
	il_audit_close(e->audit); /* waits for what is queued */
	il_chronicle_close(e->chronicle);
	handoff_close(&e->handoff);
	while (e->proposals) {
		e->proposals->cancelled = true;
		(void)proposal_free(e->proposals);
	}
	commands_close(e);
	events_close(e);
	sessions_close(e);
	(void)uv_run(&e->loop, UV_RUN_DEFAULT); /* the close callbacks */
	(void)uv_loop_close(&e->loop);
	e->policy = il_policy_unref(e->policy);
	token_book_done(&e->tokens);
	engine_config_done(&e->config);
	free_places(e);
}
