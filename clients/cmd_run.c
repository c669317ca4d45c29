/*
 * interlock run: one command under exactly the grant that its options make.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/files.h"
#include "clients/commands.h"
#include "clients/run_options.h"

struct running {
	const struct run_options *options;
	struct il_run *run;
	uv_signal_t signals[2];
	int status;
};

static int status_of(enum il_run_error error)
{
	switch (error) {
	case IL_RUN_E_TIMED_OUT:
		return EXIT_RUN_TIMED_OUT;
	case IL_RUN_E_NOT_FOUND:
		return EXIT_RUN_NOT_FOUND;
	case IL_RUN_E_WORKSPACE_SCOPE:
	case IL_RUN_E_EGRESS:
	case IL_RUN_E_NOT_EXECUTABLE:
	case IL_RUN_E_UNSUPPORTED:
	case IL_RUN_E_INVALID_INPUT:
		return EXIT_RUN_REFUSED;
	case IL_RUN_OK:
	case IL_RUN_E_QUOTA:
	case IL_RUN_E_CANCELLED:
	case IL_RUN_E_SPAWN:
	case IL_RUN_E_RUNTIME:
	case IL_RUN_E_N_:
		break;
	}
	return EXIT_RUN_FAILED;
}

static void on_output(void *ctx, int stream, const uint8_t *data, size_t n)
{
	const struct running *running = ctx;

	/* Nobody reads any more: the command ends as it would in a pipe of the shell. */
	if (write_all(stream, data, n) != 0)
		il_run_cancel(running->run, 0);
}

static void write_attestation(const struct run_options *o, const char *json)
{
	FILE *file = strcmp(o->json_file, "-") == 0 ? stdout : fopen(o->json_file, "we");

	if (!file || fprintf(file, "%s\n", json) < 0 || fflush(file) != 0)
		(void)fprintf(stderr, "interlock run: %s cannot be written: %s\n", o->json_file,
			strerror(errno));
	if (file && file != stdout)
		(void)fclose(file); /* flushed and checked above */
}

static void on_exit_of_run(void *ctx, const struct il_run_result *result)
{
	struct running *running = ctx;

	if (result->error != IL_RUN_OK) {
		(void)fprintf(stderr, "interlock run: %s: %s\n", il_run_error_name(result->error),
			result->text);
		running->status = status_of(result->error);
	} else {
		running->status =
			result->signal ? EXIT_RUN_SIGNAL + result->signal : result->exit_status;
	}
	if (strstr(result->attestation_json, "\"restored: ") ||
		strstr(result->attestation_json, "\"removed: "))
		(void)fprintf(stderr,
			"interlock run: violated: files that other programs run were "
			"changed (--json names them); what was there before is back\n");
	if (running->options->why)
		(void)fprintf(stderr, "interlock run: why: cannot tell what was refused\n");
	if (running->options->json_file)
		write_attestation(running->options, result->attestation_json);
	running->run = NULL;
	for (size_t i = 0; i < N_ELEMENTS(running->signals); i++)
		uv_close((uv_handle_t *)&running->signals[i], NULL);
}

static void on_signal(uv_signal_t *handle, int signal)
{
	struct running *running = handle->data;

	(void)signal;
	if (running->run)
		il_run_cancel(running->run, 500);
}

static int plan_command(const struct run_options *o, struct il_run_plan **ret_plan)
{
	struct il_run_command command = { .grant = &o->grant,
		.tier = o->tier,
		.argv = (const char *const *)o->command,
		.n_argv = o->n_command,
		.env = o->env,
		.n_env = o->n_env,
		.pass_env = o->pass_env,
		.n_pass_env = o->n_pass_env,
		.tty = o->tty,
		.why = o->why };
	auto_free char *here = getcwd(NULL, 0);
	enum il_run_error kind = IL_RUN_E_SPAWN;
	struct diag diag = { 0 };

	/* Started from inside the workspace, the command stays where the user is. */
	if (here && (grant_rights_on(&o->grant, here) & GRANT_READ))
		command.cwd = here;
	if (il_run_plan(&command, ret_plan, &kind, &diag) == 0)
		return 0;
	(void)fprintf(stderr, "interlock run: %s: %s\n", il_run_error_name(kind), diag.text);
	return status_of(kind);
}

static int show_plan(struct il_run_plan *plan)
{
	auto_free char *json = NULL;
	int r = il_run_plan_to_json(plan, &json);

	if (r == 0)
		puts(json);
	(void)il_run_plan_free(plan);
	return r == 0 ? EXIT_STATUS_OK : EXIT_RUN_FAILED;
}

static int run_loop(uv_loop_t *loop, struct running *running, struct il_run_plan *plan)
{
	static const int wanted[] = { SIGINT, SIGTERM };
	struct il_run_events events = {
		.on_output = on_output, .on_exit = on_exit_of_run, .ctx = running
	};
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3); /* -1 when closed: /dev/null then */

	for (size_t i = 0; i < N_ELEMENTS(wanted); i++) {
		(void)uv_signal_init(loop,
			&running->signals[i]); /* fails only without descriptors, as start does */
		running->signals[i].data = running;
		(void)uv_signal_start(&running->signals[i], on_signal, wanted[i]);
	}
	if (il_run_start(loop, plan, input, &events, &running->run) != 0) {
		(void)fprintf(stderr, "interlock run: SpawnFailed: nothing could be started\n");
		for (size_t i = 0; i < N_ELEMENTS(wanted); i++)
			uv_close((uv_handle_t *)&running->signals[i], NULL);
	}
	(void)uv_run(loop, UV_RUN_DEFAULT);
	return running->status;
}

int cmd_run(int argc, char **argv)
{
	struct run_options options = { 0 };
	struct running running = { .options = &options, .status = EXIT_RUN_FAILED };
	struct il_run_plan *plan = NULL;
	uv_loop_t loop;
	int status = run_options_parse(argc, argv, &options);

	if (status == 0)
		status = plan_command(&options, &plan);
	if (status != 0 || options.dry_run || uv_loop_init(&loop) != 0) {
		if (status == 0)
			status = options.dry_run ? show_plan(plan) : EXIT_RUN_FAILED;
		arena_done(&options.memory);
		return status < 0 ? EXIT_STATUS_OK : status;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	status = run_loop(&loop, &running, plan);
	(void)uv_loop_close(&loop);
	arena_done(&options.memory);
	return status;
}
