/*
 * What holds here is tried, not read from version numbers: a trial command is run in the
 * stronger tier, and the answer is kept for this boot, user and build.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "sandbox/runner/runner.h"

struct trial {
	bool worked;
	char text[256];
};

static void on_trial_exit(void *ctx, const struct il_run_result *result)
{
	struct trial *t = ctx;

	t->worked = result->error == IL_RUN_OK && result->exit_status == 0;
	(void)snprintf(t->text, sizeof(t->text), "%s", result->text);
}

/* Passes only where the workspace alone, an own process 1 and no network card are seen. */
#define TRIAL_SCRIPT                                                                               \
	"test $$ -lt 10 && test ! -e /root && test ! -e /home && ! test -w /usr && "               \
	": >written && test \"$(wc -l </proc/net/dev)\" = 3"

static int run_trial(enum il_tier tier, bool hosts, const char *workspace, struct trial *trial)
{
	const char *argv[] = { "sh", "-c", TRIAL_SCRIPT };
	const char *const roots[] = { workspace };
	struct grant_path path = { .rights = GRANT_WRITABLE, .path = "" };
	struct grant grant = { .profile = "trial",
		.roots = roots,
		.n_roots = 1,
		.paths = &path,
		.n_paths = 1,
		.system_readable = true,
		.may_spawn = true,
		.interpreters = true,
		.armed = GRANT_ARMED_WRITABLE,
		.limits = { .wall_ms = 5000, .output_bytes = 4096 } };
	struct grant_host host = { .host = "interlock.invalid", .port = 443 };
	struct il_run_command command = {
		.grant = &grant, .tier = tier, .argv = argv, .n_argv = 3
	};
	struct il_run_events events = { .on_exit = on_trial_exit, .ctx = trial };
	struct il_run_plan *plan = NULL;
	struct diag diag = { 0 };
	struct il_run *run;
	uv_loop_t loop;
	int r = uv_loop_init(&loop);

	if (r != 0)
		return r;
	if (hosts) { /* the way out must start and confine itself */
		grant.net = GRANT_NET_HOSTS;
		grant.hosts = &host;
		grant.n_hosts = 1;
	}
	r = il_run_plan(&command, &plan, NULL, &diag);
	if (r == 0)
		r = il_run_start(&loop, plan, -1, &events, &run);
	else
		(void)snprintf(trial->text, sizeof(trial->text), "%s", diag.text);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&loop);
	return 0;
}

static int try_tier(enum il_tier tier, bool hosts, struct trial *trial)
{
	char workspace[] = "/tmp/interlock-trial-XXXXXX", path[64];
	int r;

	if (!mkdtemp(workspace))
		return -errno;
	r = run_trial(tier, hosts, workspace, trial);
	(void)snprintf(path, sizeof(path), "%s/written", workspace);
	(void)unlink(path); /* there only if the trial got so far */
	(void)rmdir(workspace);
	return r;
}

/* $XDG_CACHE_HOME/interlock/proved-<boot id>; NULL where there is no such place. */
static char *cache_path(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	auto_free char *boot = NULL;
	char *path = NULL;
	size_t n;

	if ((!cache || cache[0] != '/') && (!home || home[0] != '/'))
		return NULL;
	if (file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &boot, &n) != 0)
		return NULL;
	boot[strcspn(boot, "\n")] = '\0';
	n = (size_t)asprintf(&path, "%s%s/interlock/proved-%s-%u",
		cache && cache[0] == '/' ? cache : home, cache && cache[0] == '/' ? "" : "/.cache",
		boot, (unsigned)getuid());
	return n == (size_t)-1 ? NULL : path;
}

static bool read_cache(const char *path, bool *ret_c)
{
	auto_free char *text = NULL;
	size_t n;

	if (!path || file_read(AT_FDCWD, path, 64, &text, &n) != 0)
		return false;
	*ret_c = strcmp(text, "c " INTERLOCK_VERSION "\n") == 0;
	return *ret_c; /* a failure is tried again: what stood in the way may be gone */
}

static void write_cache(const char *path)
{
	auto_free char *dir = path ? strdup(path) : NULL;
	static const char text[] = "c " INTERLOCK_VERSION "\n";

	if (!dir)
		return;
	*strrchr(dir, '/') = '\0';
	/* Only a cache: without it the trial is made again. */
	if (make_dirs(dir, 0700) != 0 ||
		file_write_atomic(AT_FDCWD, path, text, sizeof(text) - 1, 0600) != 0)
		return;
}

static void prove(struct il_enforcer *e, enum il_tier tier)
{
	static const enum il_guarantee both[] = { IL_GUARANTEE_FILE_READ, IL_GUARANTEE_FILE_WRITE,
		IL_GUARANTEE_LISTING, IL_GUARANTEE_EXEC, IL_GUARANTEE_PRIVILEGES,
		IL_GUARANTEE_SYSCALLS, IL_GUARANTEE_INHERITED_FD, IL_GUARANTEE_ENVIRONMENT };
	static const enum il_guarantee spaces[] = { IL_GUARANTEE_HIDE, IL_GUARANTEE_ARMED_READONLY,
		IL_GUARANTEE_NET_NAMESPACE, IL_GUARANTEE_PID_NAMESPACE };

	for (size_t i = 0; i < N_ELEMENTS(both); i++)
		e->proved[tier][both[i]] = true;
	for (size_t i = 0; tier == IL_TIER_C && i < N_ELEMENTS(spaces); i++)
		e->proved[tier][spaces[i]] = true;
}

int il_run_probe(struct il_enforcer *ret_enforcer)
{
	struct il_enforcer e = { .strongest = IL_TIER_AUTO };
	auto_free char *cache = cache_path();
	struct il_sandbox_status status;
	struct trial trial = { 0 };
	bool c = false, hosts = true;
	int r = il_sandbox_probe(&status);

	if (r == 0 && !read_cache(cache, &c)) {
		r = try_tier(IL_TIER_C, true, &trial);
		hosts = c = trial.worked;
		if (c)
			write_cache(cache);
		else if (r == 0)
			r = try_tier(IL_TIER_C, false, &trial);
		c = trial.worked;
	}
	if (r != 0)
		return r;
	if (status.active)
		prove(&e, IL_TIER_B);
	if (c)
		prove(&e, IL_TIER_C);
	e.proved[IL_TIER_C][IL_GUARANTEE_NET_HOSTS] = c && hosts;
	e.strongest = c ? IL_TIER_C : status.active ? IL_TIER_B : IL_TIER_AUTO;
	if (!c)
		(void)snprintf(e.reason, sizeof(e.reason),
			"no namespaces here (%.150s): no hiding, armed files restored, not "
			"prevented",
			trial.text[0] ? trial.text : "the trial failed");
	*ret_enforcer = e;
	return 0;
}
