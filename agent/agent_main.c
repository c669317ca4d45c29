/*
 * interlock-agent: the start-up story of the process that thinks.
 *
 *	token out of the environment → sandbox config → plan → twin → confined → canary
 *	→ hello and report → directives → end
 *
 * Until it is confined it reads no file and no byte of its stream and starts no
 * thread. Nothing privileged happens after the line that confines.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/exit.h"
#include "base/log.h"
#include "sandbox/sandbox.h"

#define SANDBOX_ENV "INTERLOCK_SANDBOX"

static int load_config(struct arena *a, struct il_sandbox_config *ret_config)
{
	static const int stream_fd = AGENT_STREAM_FD;
	const char *json = getenv(SANDBOX_ENV);
	struct diag diag = { 0 };
	int r;

	if (!json) {
		*ret_config = (struct il_sandbox_config){
			.profile = IL_PROFILE_AGENT, .keep_fds = &stream_fd, .n_keep_fds = 1
		};
		return 0;
	}
	r = il_sandbox_config_from_json(a, json, strlen(json), ret_config, &diag);
	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "sandbox-config-refused why=%s", diag.text);
	else if (ret_config->profile != IL_PROFILE_AGENT)
		r = -EINVAL; /* another profile would be wider */
	return r;
}

static int apply(const struct il_sandbox_plan *plan, char **ret_report)
{
	struct il_sandbox_step_error step = { 0 };
	struct il_sandbox_twin *twin = NULL;
	int r = il_sandbox_twin_start(plan, &twin);

	if (r != 0) {
		log_line(LOG_LEVEL_ERROR, "canary-not-started err=%d", r);
		return r;
	}
	r = il_sandbox_apply_self(plan, &step);
	if (r != 0) {
		log_line(LOG_LEVEL_ERROR, "not-confined step=%s why=%s",
			step.step ? step.step : "?", step.text);
		return r;
	}
	return il_sandbox_verify(plan, twin, ret_report);
}

/* Applied is not enough: what the probes saw decides, here first and in the engine again. */
static int judge_report(const char *report)
{
	struct il_sandbox_judgement judgement;
	struct diag diag = { 0 };
	int r = il_sandbox_report_judge(
		report, strlen(report), IL_PROFILE_AGENT, &judgement, &diag);

	if (r != 0) {
		log_line(LOG_LEVEL_ERROR, "canary-report-refused why=%s", diag.text);
		return r;
	}
	if (judgement.state != IL_SANDBOXED && judgement.state != IL_SANDBOX_PARTIAL) {
		log_line(LOG_LEVEL_ERROR, "not-confined why=%s", judgement.summary);
		return -EPERM;
	}
	return 0;
}

static int confine(char **ret_report)
{
	auto_free char *report = NULL;
	struct il_sandbox_plan *plan = NULL;
	struct il_sandbox_config config;
	struct diag diag = { 0 };
	auto_arena struct arena a;
	int r;

	arena_init(&a, 256u << 10);
	r = load_config(&a, &config);
	if (r == 0)
		r = il_sandbox_plan_config(&config, &plan, &diag);
	if (r == 0)
		r = apply(plan, &report);
	if (r == 0)
		r = judge_report(report);
	plan = il_sandbox_plan_free(plan);
	if (r == 0)
		*ret_report = take_ptr(report);
	return r;
}

static int take_token(enum role *ret_role, char ret_token[static TOKEN_SIZE])
{
	*ret_role = ROLE_AGENT;
	if (token_take_environment("INTERLOCK_AGENT_TOKEN", ret_token) == 0)
		return 0;
	*ret_role = ROLE_SUB_AGENT;
	if (token_take_environment("INTERLOCK_SUB_AGENT_TOKEN", ret_token) == 0)
		return 0;
	*ret_role = ROLE_JUDGE;
	return token_take_environment("INTERLOCK_JUDGE_TOKEN", ret_token);
}

static int serve(enum role role, const char *token, const char *report)
{
	struct agent a;
	int r = agent_open(&a, AGENT_STREAM_FD, role, &provider_scripted);

	if (r == 0)
		r = agent_join(&a, token, report, strlen(report));
	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "not-joined err=%d why=%s", r, a.client.error.text);
	else
		r = agent_run(&a);
	agent_done(&a);
	return r;
}

int main(void)
{
	auto_token char token[TOKEN_SIZE] = { 0 };
	auto_free char *report = NULL;
	enum role role;
	int r;

	log_open("agent", LOG_LEVEL_NOTICE);
	if (take_token(&role, token) != 0) {
		log_line(LOG_LEVEL_ERROR, "no-token: this program is started by the engine");
		return EXIT_STATUS_USAGE;
	}
	if (confine(&report) != 0) /* from here on: one stream, nothing else */
		return EXIT_STATUS_UNCONFINED;
	r = serve(role, token, report);
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "stream-broken err=%d", r);
	return r == 0 || r == AGENT_E_CLOSED ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
