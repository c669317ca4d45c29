/*
 * interlock-agent: the start-up story of the process that thinks.
 *
 *	token out of the environment → sandbox config → plan → control → confined → canary
 *	→ hello and report → directives → end
 *
 * Until it is confined it reads no file and no byte of its stream and starts no
 * thread. Nothing privileged happens after the line that confines.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/try.h"
#include "base/exit.h"
#include "base/log.h"
#include "sandbox/sandbox.h"

#define SANDBOX_ENV "INTERLOCK_SANDBOX"
#define PROFILE     "agent"

/* Texts of an array, as the plan wants them. */
static int take_readable(struct arena *a, const struct value *v, struct il_sandbox_config *config)
{
	const char **paths = arena_alloc_array(a, v->size, sizeof(*paths));

	if (v->kind != VALUE_ARRAY || !paths)
		return -EINVAL;
	for (size_t i = 0; i < v->size; i++) {
		if (v->items[i].kind != VALUE_TEXT)
			return -EINVAL;
		paths[i] = v->items[i].text;
	}
	config->readable = paths;
	config->n_readable = v->size;
	return 0;
}

/*
 * {"profile": "agent", "readable": [directory, ...]}: all that may be said to this
 * program. Every other key would be wider than an agent can be.
 */
static int read_config(struct arena *a, const char *json, struct il_sandbox_config *config)
{
	const struct value *root;
	struct diag diag = { 0 };
	int r = value_from_json(a, json, strlen(json), &root, &diag);

	if (r != 0 || root->kind != VALUE_MAP)
		return -EINVAL;
	for (size_t i = 0; r == 0 && i < root->size; i++) {
		const struct value_pair *pair = &root->pairs[i];

		if (strcmp(pair->key, "readable") == 0)
			r = take_readable(a, pair->value, config);
		else if (strcmp(pair->key, "profile") != 0 || pair->value->kind != VALUE_TEXT ||
			 strcmp(pair->value->text, PROFILE) != 0)
			r = -EINVAL;
	}
	return r;
}

static int load_config(struct arena *a, struct il_sandbox_config *ret_config)
{
	static const int stream_fd = AGENT_STREAM_FD;
	struct il_sandbox_config config = {
		.profile = IL_PROFILE_AGENT, .keep_fds = &stream_fd, .n_keep_fds = 1
	};
	const char *json = getenv(SANDBOX_ENV);
	int r = json ? read_config(a, json, &config) : 0;

	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "sandbox-config-refused variable=" SANDBOX_ENV);
	else
		*ret_config = config;
	return r;
}

/*
 * What is forbidden is tried before, as a control, and after. What got through,
 * or cannot be told, ends the process here; the engine judges the report again.
 */
static int apply(const struct il_sandbox_plan *plan, struct buf *report)
{
	struct il_sandbox_step_error step = { 0 };
	struct probe_result results[PROBE_N_] = { { 0 } };
	struct diag diag = { 0 };
	int r;

	try_before(results);
#ifdef MUTATION_AGENT_SANDBOX
	(void)plan;
	r = 0;
#else
	r = il_sandbox_apply_self(plan, &step);
#endif
	if (r != 0) {
		log_line(LOG_LEVEL_ERROR, "not-confined step=%s why=%s",
			step.step ? step.step : "?", step.text);
		return r;
	}
	try_after(results);
	r = probes_report(report, PROFILE, results);
	if (r == 0)
		r = probes_judge(buf_get_text(report), report->size, PROFILE, &diag);
	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "not-confined why=%s", diag.text);
	return r;
}

static int confine(struct buf *report)
{
	struct il_sandbox_plan *plan = NULL;
	struct il_sandbox_config config;
	struct diag diag = { 0 };
	auto_arena struct arena a = { 0 };
	int r;

	arena_init(&a, 256u << 10);
	r = load_config(&a, &config);
	if (r == 0)
		r = il_sandbox_plan_config(&config, &plan, &diag);
	if (r != 0 && diag.text[0])
		log_line(LOG_LEVEL_ERROR, "not-confined why=%s", diag.text);
	if (r == 0)
		r = apply(plan, report);
	(void)il_sandbox_plan_free(plan);
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

static int serve(enum role role, const char *token, const struct buf *report)
{
	struct agent a;
	int r = agent_open(&a, AGENT_STREAM_FD, role, &provider_scripted);

	if (r == 0)
		r = agent_join(&a, token, buf_get_text(report), report->size);
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
	auto_buf struct buf report = BUF_INIT(64u << 10);
	enum role role;
	int r;

	log_open("agent", LOG_LEVEL_NOTICE);
	if (take_token(&role, token) != 0) {
		log_line(LOG_LEVEL_ERROR, "no-token: this program is started by the engine");
		return EXIT_STATUS_USAGE;
	}
	if (confine(&report) != 0) /* from here on: one stream, nothing else */
		return EXIT_STATUS_UNCONFINED;
	r = serve(role, token, &report);
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "stream-broken err=%d", r);
	return r == 0 || r == AGENT_E_CLOSED ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
