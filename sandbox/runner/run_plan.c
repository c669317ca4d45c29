#include "sandbox/runner/run_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/programs.h"
#include "sandbox/plan.h"
#include "sandbox/runner/preflight.h"
#include "sandbox/runner/remove.h"

#define PLAN_MEMORY ((size_t)32 << 20)

static const char *const error_names[] = {
	[IL_RUN_OK] = "ok",
	[IL_RUN_E_INVALID_INPUT] = "InvalidInput",
	[IL_RUN_E_WORKSPACE_SCOPE] = "WorkspaceScopeDenied",
	[IL_RUN_E_EGRESS] = "EgressDenied",
	[IL_RUN_E_NOT_FOUND] = "NotFound",
	[IL_RUN_E_NOT_EXECUTABLE] = "NotExecutable",
	[IL_RUN_E_UNSUPPORTED] = "UnsupportedPlatform",
	[IL_RUN_E_QUOTA] = "QuotaExceeded",
	[IL_RUN_E_TIMED_OUT] = "TimedOut",
	[IL_RUN_E_CANCELLED] = "Cancelled",
	[IL_RUN_E_SPAWN] = "SpawnFailed",
	[IL_RUN_E_RUNTIME] = "RuntimeFailure",
};
_Static_assert(N_ELEMENTS(error_names) == IL_RUN_E_N_, "name every error");

const char *il_run_error_name(enum il_run_error e)
{
	return (unsigned)e < IL_RUN_E_N_ ? error_names[e] : "unknown";
}

struct planning {
	struct il_run_plan *plan;
	const struct il_run_command *command;
	const struct grant *grant;
	enum il_run_error kind;
	struct diag *diag;
};

static int refuse(struct planning *p, enum il_run_error kind, const char *why, const char *what)
{
	p->kind = kind;
	return diag_set(
		p->diag, -EPERM, 0, 0, "%.80s%s%.160s", why, what ? ": " : "", what ? what : "");
}

/* Places whose whole content must never be a workspace. */
static bool is_too_wide(const char *root)
{
	static const char *const system[] = { "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib",
		"/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr",
		"/usr/bin", "/usr/lib", "/usr/local", "/var", "/var/lib", "/var/tmp" };
	const struct passwd *user = getpwuid(geteuid());
	const char *home = getenv("HOME");

	for (size_t i = 0; i < N_ELEMENTS(system); i++) {
		if (strcmp(root, system[i]) == 0)
			return true;
	}
	return (home && strcmp(root, home) == 0) || (user && strcmp(root, user->pw_dir) == 0) ||
	       strncmp(root, "/proc/", 6) == 0 || strncmp(root, "/sys/", 5) == 0 ||
	       strncmp(root, "/dev/", 5) == 0;
}

static int check_workspace(struct planning *p)
{
	const struct grant *g = p->grant;
	char real[PATH_MAX];

	if (g->n_roots == 0)
		return refuse(p, IL_RUN_E_INVALID_INPUT, "the grant has no workspace", NULL);
	if (!realpath(g->roots[0], real) || strcmp(real, g->roots[0]) != 0)
		return refuse(p, IL_RUN_E_WORKSPACE_SCOPE, "the workspace is no real directory",
			g->roots[0]);
	if (is_too_wide(real))
		return refuse(p, IL_RUN_E_WORKSPACE_SCOPE, "too wide for a workspace", real);
	return 0;
}

static int check_cwd(struct planning *p)
{
	const char *workspace = p->grant->roots[0];
	const char *cwd = p->command->cwd ? p->command->cwd : workspace;
	char real[PATH_MAX];
	struct stat st;

	if (cwd[0] != '/' || !realpath(cwd, real) || stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
		return refuse(p, IL_RUN_E_WORKSPACE_SCOPE, "no directory to start in", cwd);
	if (!(grant_rights_on(p->grant, real) & GRANT_READ))
		return refuse(p, IL_RUN_E_WORKSPACE_SCOPE,
			"the grant does not reach the directory to start in", real);
	p->plan->cwd = arena_text(&p->plan->memory, real, strlen(real));
	return p->plan->cwd ? 0 : -ENOMEM;
}

static bool is_listed(const struct grant *g, const struct program *program, const char *name)
{
	const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

	for (size_t i = 0; i < g->n_exec; i++) {
		const char *exec = g->exec[i];

		/* A bare name stands for what PATH finds, never for a file of the workspace. */
		if (exec[0] == '/' ? strcmp(exec, program->path) == 0
				   : !strchr(name, '/') && strcmp(exec, base) == 0)
			return true;
	}
	return g->n_exec == 0;
}

static int find_program(struct planning *p)
{
	const char *name = p->command->argv[0], *path = RUN_PATH;
	struct program *program = &p->plan->program;
	int r;

	for (size_t i = 0; i < p->command->n_env; i++) {
		if (strncmp(p->command->env[i], "PATH=", 5) == 0)
			path = p->command->env[i] + 5;
	}
	r = program_find(name, path, p->plan->cwd, program);
	if (r == -ENOENT || r == -ENOTDIR || r == -ENAMETOOLONG)
		return refuse(p, IL_RUN_E_NOT_FOUND, "there is no such program", name);
	if (r == -EACCES || r == -ELOOP)
		return refuse(p, IL_RUN_E_NOT_EXECUTABLE, "not executable", name);
	if (r != 0)
		return r;
	if (!p->grant->may_spawn || !is_listed(p->grant, program, name))
		return refuse(p, IL_RUN_E_NOT_EXECUTABLE, "the grant does not name this program",
			program->path);
	if (!p->grant->interpreters && program_is_interpreter(program->path))
		return refuse(p, IL_RUN_E_NOT_EXECUTABLE, "the grant allows no interpreters",
			program->path);
	return 0;
}

static int choose_tier(struct planning *p)
{
	struct il_run_plan *plan = p->plan;
	struct il_enforcer enforcer;
	struct il_sandbox_status status;
	int r;

	plan->tier = p->command->tier;
	if (plan->tier == IL_TIER_AUTO) {
		r = il_run_probe(&enforcer);
		if (r != 0)
			return r;
		plan->tier = enforcer.strongest;
		(void)snprintf(plan->lost, sizeof(plan->lost), "%s", enforcer.reason);
	}
	r = il_sandbox_probe(&status);
	if (r != 0)
		return r;
	if (plan->tier == IL_TIER_AUTO || !status.active)
		return refuse(
			p, IL_RUN_E_UNSUPPORTED, "no tier can be enforced here", status.reason);
	(void)snprintf(plan->mode, sizeof(plan->mode), "%s%s", plan->tier == IL_TIER_C ? "ns+" : "",
		status.mode);
	return 0;
}

/* The hosts are held by interlock-egress as the only way out of an own network namespace. */
static int plan_hosts(struct planning *p)
{
	static const char capability[] = "strict egress by host (net_hosts) cannot be enforced";
	const struct grant *g = p->grant;
	struct il_run_plan *plan = p->plan;
	auto_free char *program = NULL;

	if (plan->tier != IL_TIER_C)
		return refuse(p, IL_RUN_E_EGRESS, capability, "tier b has no network namespace");
	if (g->n_hosts == 0)
		return 0;
	if (program_path("interlock-egress", &program) != 0)
		return refuse(p, IL_RUN_E_EGRESS, capability, "interlock-egress is not installed");
	plan->egress_program = arena_text(&plan->memory, program, strlen(program));
	plan->hosts = arena_alloc_array(&plan->memory, g->n_hosts, sizeof(*plan->hosts));
	if (!plan->egress_program || !plan->hosts)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_hosts; i++) {
		plan->hosts[i] = g->hosts[i];
		plan->hosts[i].host =
			arena_text(&plan->memory, g->hosts[i].host, strlen(g->hosts[i].host));
		if (!plan->hosts[i].host)
			return -ENOMEM;
	}
	plan->n_hosts = g->n_hosts;
	return 0;
}

static int check_network(struct planning *p)
{
	const struct grant *g = p->grant;

	p->plan->net = g->net;
	if (g->net == GRANT_NET_PREFLIGHT && preflight_check(p->command->argv, p->command->n_argv,
						     g->hosts, g->n_hosts, p->diag) != 0) {
		p->kind = IL_RUN_E_EGRESS;
		return -EPERM;
	}
	if (g->net == GRANT_NET_HOSTS) {
		int r = plan_hosts(p);

		if (r != 0)
			return r;
	}
	p->plan->own_network = g->net == GRANT_NET_NONE || g->net == GRANT_NET_HOSTS;
	if (g->n_secrets > 0)
		return refuse(p, IL_RUN_E_EGRESS,
			"secrets cannot be given to a command by this build", g->secrets[0].name);
	return 0;
}

/* The rights of Landlock; what only mounts hold is taken out here and bound in run_binds(). */
static int plan_sandbox(struct planning *p)
{
	struct il_run_plan *plan = p->plan;
	struct grant g = *p->grant;
	struct grant_path *paths = arena_alloc_array(&plan->memory, g.n_paths + 1, sizeof(*paths));
	static const char *const private[] = { "/tmp", "/var/tmp", "/dev/shm" };
	uint32_t all = PLAN_READ | PLAN_WRITE | PLAN_CREATE | PLAN_DELETE | PLAN_EXEC;
	size_t n = 0;
	int r;

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < g.n_paths; i++) {
		if (!g.paths[i].hide || plan->tier == IL_TIER_B)
			paths[n++] = g.paths[i];
	}
	g.paths = paths;
	g.n_paths = n;
	if (g.net == GRANT_NET_HOSTS)
		g.net = GRANT_NET_NONE;
	r = il_sandbox_plan_grant(&g, IL_PROFILE_COMMAND, &plan->sandbox, p->diag);
	if (r == -EOPNOTSUPP)
		p->kind = IL_RUN_E_UNSUPPORTED;
	if (r != 0)
		return r;
	plan->sandbox->keep_session = true;
	if (plan->tier == IL_TIER_B)
		return plan_add_place(plan->sandbox, plan->private_dir, all, false);
	plan_set_namespaces(plan->sandbox, plan->own_network);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(private); i++)
		r = plan_add_place(plan->sandbox, private[i], all, true);
	return r;
}

static int make_private_dir(struct il_run_plan *plan)
{
	plan->private_dir = strdup("/tmp/interlock-run-XXXXXX");
	if (!plan->private_dir)
		return -ENOMEM;
	if (mkdtemp(plan->private_dir))
		return 0;
	free(take_ptr(plan->private_dir));
	return -errno;
}

static int encode(struct planning *p, struct job *job)
{
	auto_buf struct buf bytes = BUF_INIT(JOB_SIZE);
	struct il_run_plan *plan = p->plan;
	int r = run_environment(plan, p->command, &job->envp, p->diag);

	if (r != 0) {
		p->kind = IL_RUN_E_INVALID_INPUT;
		return r;
	}
	if (plan->tier == IL_TIER_C)
		r = run_binds(plan, p->grant, &job->binds, &job->n_binds);
	if (r == 0)
		r = plan_encode(plan->sandbox, &bytes);
	job->plan = bytes.data;
	job->n_plan = bytes.size;
	plan->job = BUF_INIT(JOB_SIZE);
	return r != 0 ? r : job_encode(job, &plan->job);
}

static int make_job(struct planning *p)
{
	struct il_run_plan *plan = p->plan;
	size_t n = p->command->n_argv;
	struct job job = { .parent = getpid(),
		.namespaces = plan->tier == IL_TIER_C,
		.own_network = plan->own_network,
		.program = plan->program.path,
		.device = plan->program.device,
		.inode = plan->program.inode,
		.script = plan->program.script,
		.egress = plan->egress_program,
		.private_dir = plan->private_dir ? plan->private_dir : "",
		.cwd = plan->cwd,
		.limits = plan->limits };

	plan->argv = arena_alloc_array(&plan->memory, n + 1, sizeof(*plan->argv));
	job.argv = arena_alloc_array(&plan->memory, n + 1, sizeof(*job.argv));
	if (!plan->argv || !job.argv)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		job.argv[i] =
			arena_text(&plan->memory, p->command->argv[i], strlen(p->command->argv[i]));
		plan->argv[i] = job.argv[i];
		if (!job.argv[i])
			return -ENOMEM;
	}
	return encode(p, &job);
}

static int keep_armed(struct planning *p)
{
	const struct grant *g = p->grant;
	int r;

	p->plan->restore_armed =
		g->armed == GRANT_ARMED_READONLY &&
		(grant_rights_on(g, g->roots[0]) & (GRANT_WRITE | GRANT_CREATE | GRANT_DELETE));
	if (!p->plan->restore_armed)
		return 0;
	r = armed_scan(&p->plan->armed, g->roots[0]);
	return r == 0 ? 0
		      : diag_set(p->diag, r, 0, 0, "the armed files cannot be kept: %s",
				strerror(-r));
}

static int plan_all(struct planning *p)
{
	uint8_t hash[SHA256_SIZE];
	int r = check_workspace(p);

	if (r == 0)
		r = check_cwd(p);
	if (r == 0)
		r = find_program(p);
	if (r == 0)
		r = choose_tier(p);
	if (r == 0)
		r = check_network(p);
	if (r == 0 && p->plan->tier == IL_TIER_B)
		r = make_private_dir(p->plan);
	if (r == 0)
		r = keep_armed(p);
	if (r == 0)
		r = plan_sandbox(p);
	if (r == 0)
		r = grant_hash(p->grant, hash);
	if (r != 0)
		return r;
	hex_encode(hash, sizeof(hash), p->plan->grant_hash);
	return make_job(p);
}

static int find_exec(struct il_run_plan *plan, const struct il_run_command *command)
{
	auto_free char *installed = NULL;
	const char *path = command->exec_program;
	int r = path ? 0 : program_path("interlock-exec", &installed);

	if (r != 0)
		return r;
	path = path ? path : installed;
	plan->exec_program = arena_text(&plan->memory, path, strlen(path));
	return plan->exec_program ? 0 : -ENOMEM;
}

int il_run_plan(const struct il_run_command *command, struct il_run_plan **ret_plan,
	enum il_run_error *reterr_kind, struct diag *reterr_diag)
{
	struct planning p = { .command = command,
		.grant = command->grant,
		.kind = IL_RUN_E_SPAWN,
		.diag = reterr_diag };
	int r = 0;

	if (reterr_diag)
		*reterr_diag = (struct diag){ 0 };
	if (command->n_argv == 0 || command->tty)
		r = refuse(&p, command->tty ? IL_RUN_E_UNSUPPORTED : IL_RUN_E_INVALID_INPUT,
			command->tty ? "a terminal cannot be given" : "no command", NULL);
	if (r == 0) {
		p.plan = calloc(1, sizeof(*p.plan));
		r = p.plan ? 0 : -ENOMEM;
	}
	if (r == 0) {
		arena_init(&p.plan->memory, PLAN_MEMORY);
		p.plan->limits = command->grant->limits;
		p.plan->egress_program = "";
		r = find_exec(p.plan, command);
	}
	if (r == 0)
		r = plan_all(&p);
	if (r == 0) {
		*ret_plan = p.plan;
		return 0;
	}
	(void)il_run_plan_free(p.plan);
	if (reterr_kind)
		*reterr_kind = p.kind;
	if (reterr_diag && reterr_diag->text[0] == '\0')
		(void)diag_set(
			reterr_diag, r, 0, 0, "the command cannot be planned: %s", strerror(-r));
	return err_fold(r);
}

struct il_run_plan *il_run_plan_free(struct il_run_plan *plan)
{
	int saved = errno;

	if (plan) {
		if (plan->private_dir)
			remove_tree(plan->private_dir);
		free(plan->private_dir);
		(void)il_sandbox_plan_free(plan->sandbox);
		armed_done(&plan->armed);
		buf_done(&plan->job);
		arena_done(&plan->memory);
		free(plan);
	}
	errno = saved;
	return NULL;
}
