/*
 * interlock-files: one job under its grant, then the end.
 *
 *	job (standard input, a memfd of the engine's) → sandbox plan → confined → work → answer
 *	(standard output)
 *
 * The job is the engine's own and is read before the grant in it can be applied; every
 * other byte is read confined. What a sandbox without mounts cannot hold, the places
 * that are hidden inside a granted tree, is held by the walk (agent/files.h).
 */
#include <stdio.h>
#include <string.h>

#include "agent/files.h"
#include "base/exit.h"
#include "base/files.h"
#include "base/log.h"
#include "sandbox/sandbox.h"

static int read_job(struct buf *b)
{
	for (;;) {
		uint8_t *at = buf_reserve(b, 65536);
		ssize_t n = at ? read(STDIN_FILENO, at, 65536) : -1;

		if (!at)
			return buf_error(b);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? 0 : -errno;
		buf_grew(b, (size_t)n);
	}
}

/* The grant without what only mounts can hold. */
static int kernel_grant(struct arena *a, const struct grant *g, struct grant *ret_grant)
{
	struct grant_path *paths = arena_alloc_array(a, g->n_paths, sizeof(*paths));
	struct grant narrowed = *g;

	if (!paths)
		return -ENOMEM;
	narrowed.paths = paths;
	narrowed.n_paths = 0;
	for (size_t i = 0; i < g->n_paths; i++) {
		if (!g->paths[i].hide)
			paths[narrowed.n_paths++] = g->paths[i];
	}
	narrowed.net = GRANT_NET_NONE;
	narrowed.n_hosts = narrowed.n_unix_sockets = narrowed.n_secrets = 0;
	narrowed.may_spawn = narrowed.interpreters = false;
	*ret_grant = narrowed;
	return 0;
}

static int confine(struct arena *a, const struct grant *g)
{
	struct il_sandbox_step_error step = { 0 };
	struct il_sandbox_plan *plan = NULL;
	struct diag diag = { 0 };
	struct grant narrowed;
	int r = kernel_grant(a, g, &narrowed);

	if (r == 0)
		r = il_sandbox_plan_grant(&narrowed, IL_PROFILE_FILES, &plan, &diag);
	if (r != 0) {
		log_line(LOG_LEVEL_ERROR, "not-confined why=%s", diag.text);
		return r;
	}
#ifndef MUTATION_FILES_SANDBOX
	r = il_sandbox_apply_self(plan, &step);
#endif
	if (r != 0)
		log_line(LOG_LEVEL_ERROR, "not-confined step=%s why=%s",
			step.step ? step.step : "?", step.text);
	(void)il_sandbox_plan_free(plan);
	return r;
}

static int work(const struct files_job *job)
{
	struct buf out = BUF_INIT(FILES_ANSWER_LIMIT);
	struct files_answer answer;
	struct files_work w;
	int r;

	files_work_run(&w, job, &clock_system, &answer);
	r = files_answer_encode(&out, &answer);
	if (r == 0)
		r = write_all(STDOUT_FILENO, out.data, out.size);
	buf_done(&out);
	files_work_done(&w);
	return r == 0 ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}

int main(void)
{
	struct buf bytes = BUF_INIT(FILES_JOB_LIMIT + 65536);
	struct diag diag = { 0 };
	auto_arena struct arena a = { 0 };
	struct files_job job;

	log_open("files", LOG_LEVEL_NOTICE);
	arena_init(&a, 16u << 20);
	if (read_job(&bytes) != 0 ||
		files_job_decode(&a, bytes.data, bytes.size, &job, &diag) != 0) {
		log_line(LOG_LEVEL_ERROR, "job-refused why=%s", diag.text);
		return EXIT_STATUS_BUG;
	}
	buf_done(&bytes);
	if (confine(&a, &job.grant) != 0)
		return EXIT_STATUS_UNCONFINED;
	return work(&job);
}
