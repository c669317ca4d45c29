/*
 * Plans out of grants and configurations: decides, touches nothing.
 */
#include "sandbox/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH_SIZE 4096

static const struct {
	uint32_t grant, plan;
} right_map[] = {
	{ GRANT_READ, PLAN_READ },
	{ GRANT_WRITE, PLAN_WRITE },
	{ GRANT_CREATE, PLAN_CREATE },
	{ GRANT_DELETE, PLAN_DELETE },
	{ GRANT_EXEC, PLAN_EXEC },
};

static uint32_t plan_rights(uint32_t grant_rights)
{
	uint32_t rights = 0;

	for (size_t i = 0; i < N_ELEMENTS(right_map); i++)
		rights |= grant_rights & right_map[i].grant ? right_map[i].plan : 0;
	return rights;
}

static int add_grant_path(
	struct il_sandbox_plan *p, const struct grant *g, const struct grant_path *path)
{
	const char *root = g->roots[path->root];
	char absolute[PATH_SIZE];
	int n = snprintf(absolute, sizeof(absolute), "%s%s%s",
		strcmp(root, "/") == 0 && path->path[0] ? "" : root, path->path[0] ? "/" : "",
		path->path);

	if (n < 0 || (size_t)n >= sizeof(absolute))
		return -ENAMETOOLONG;
	/* A place below the root may not be there yet; then there is nothing to give. */
	return plan_add_place(p, absolute, plan_rights(path->rights), path->path[0] != '\0');
}

/* What only namespaces can hold must not be left out silently. */
static int refuse_beyond_landlock(const struct grant *g, struct diag *diag)
{
	for (size_t i = 0; i < g->n_paths; i++) {
		if (g->paths[i].hide)
			return diag_set(diag, -EOPNOTSUPP, 0, 0,
				"hiding %.160s inside a granted tree needs namespaces",
				g->paths[i].path);
	}
	if (g->net == GRANT_NET_HOSTS && g->n_hosts > 0)
		return diag_set(diag, -EOPNOTSUPP, 0, 0,
			"connecting by host (%.120s) needs namespaces", g->hosts[0].host);
	return 0;
}

int il_sandbox_plan_grant(const struct grant *grant, enum il_sandbox_profile profile,
	struct il_sandbox_plan **ret_plan, struct diag *reterr_diag)
{
	struct il_sandbox_plan *p;
	int r = grant_check(grant, reterr_diag);

	if (r == 0)
		r = refuse_beyond_landlock(grant, reterr_diag);
	if (r != 0)
		return r;
	p = plan_new(profile);
	if (!p)
		return -ENOMEM;
	if (grant->system_readable)
		r = plan_add_system(p);
	for (size_t i = 0; r == 0 && i < grant->n_paths; i++)
		r = add_grant_path(p, grant, &grant->paths[i]);
	if (profile == IL_PROFILE_COMMAND &&
		(grant->net == GRANT_NET_OPEN || grant->net == GRANT_NET_PREFLIGHT))
		p->filter = FILTER_COMMAND_NAMESPACE; /* the network is granted whole, so nothing is
							 to be held */
	else if (profile == IL_PROFILE_COMMAND && grant->n_unix_sockets > 0)
		p->filter = FILTER_COMMAND_UNIX;
	if (r != 0) {
		(void)il_sandbox_plan_free(p);
		return diag_set(
			reterr_diag, r, 0, 0, "the grant does not fit a plan: %s", strerror(-r));
	}
	*ret_plan = p;
	return 0;
}

static int add_paths(struct il_sandbox_plan *p, const char *const *paths, size_t n, uint32_t rights,
	struct diag *diag)
{
	for (size_t i = 0; i < n; i++) {
		int r = plan_add_place(p, paths[i], rights, false);

		if (r != 0)
			return diag_set(diag, r, 0, 0, "\"%.160s\" cannot be a place: %s", paths[i],
				r == -EINVAL ? "it must be absolute" : strerror(-r));
	}
	return 0;
}

static int add_network(
	struct il_sandbox_plan *p, const struct il_sandbox_config *c, struct diag *diag)
{
	if (c->n_connect > PLAN_PORTS_MAX || c->n_bind_ports > PLAN_PORTS_MAX)
		return diag_set(diag, -E2BIG, 0, 0, "more than %d ports", PLAN_PORTS_MAX);
	for (size_t i = 0; i < c->n_connect; i++) {
		if (c->connect[i].host && !c->ports_only)
			return diag_set(diag, -EINVAL, 0, 0,
				"the target %.100s:%u names a host; only ports can be held here: "
				"set ports_only to accept that",
				c->connect[i].host, (unsigned)c->connect[i].port);
		p->ports_only = p->ports_only || c->connect[i].host;
		p->connect_ports[p->n_connect_ports++] = c->connect[i].port;
	}
	for (size_t i = 0; i < c->n_bind_ports; i++)
		p->bind_ports[p->n_bind_ports++] = c->bind_ports[i];
	return 0;
}

/* A custom configuration gets the widest filter that it asked for; named profiles have theirs. */
static void choose_filter(struct il_sandbox_plan *p, const struct il_sandbox_config *c)
{
	if (p->profile != IL_PROFILE_CUSTOM && p->profile != IL_PROFILE_COMMAND)
		return;
	if (c->may_use_unix_sockets)
		p->filter = FILTER_COMMAND_UNIX;
	else if (c->n_connect > 0 || c->n_bind_ports > 0)
		p->filter = FILTER_COMMAND_TCP;
	else
		p->filter = c->may_spawn || p->profile == IL_PROFILE_COMMAND ? FILTER_COMMAND
									     : FILTER_FILES;
}

static int add_hygiene(struct il_sandbox_plan *p, const struct il_sandbox_config *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->n_keep_fds; i++)
		r = plan_keep_fd(p, c->keep_fds[i]);
	for (size_t i = 0; r == 0 && i < c->n_pass_env; i++) {
		if (p->n_pass_env == PLAN_ENV_MAX)
			return -E2BIG;
		p->pass_env[p->n_pass_env] =
			arena_text(&p->memory, c->pass_env[i], strlen(c->pass_env[i]));
		r = p->pass_env[p->n_pass_env++] ? 0 : -ENOMEM;
	}
	return r;
}

int il_sandbox_plan_config(const struct il_sandbox_config *c, struct il_sandbox_plan **ret_plan,
	struct diag *reterr_diag)
{
	/* What a program may be needs EXEC; without may_spawn the filter forbids it anyway. */
	uint32_t readable = PLAN_READ | (c->may_spawn ? PLAN_EXEC : 0u);
	struct il_sandbox_plan *p;
	int r = 0;

	if ((unsigned)c->profile >= IL_PROFILE_N_)
		return diag_set(reterr_diag, -EINVAL, 0, 0, "there is no such profile");
	p = plan_new(c->profile);
	if (!p)
		return -ENOMEM;
	/* The agent loads its libraries before it locks itself in, and then has no file at all. */
	if (c->profile != IL_PROFILE_AGENT)
		r = plan_add_system(p);
	if (r == 0)
		r = add_paths(p, c->readable, c->n_readable, readable, reterr_diag);
	if (r == 0)
		r = add_paths(p, c->writable, c->n_writable,
			readable | PLAN_WRITE | PLAN_CREATE | PLAN_DELETE, reterr_diag);
	if (r == 0)
		r = add_network(p, c, reterr_diag);
	if (r == 0)
		r = add_hygiene(p, c);
	choose_filter(p, c);
	if (r != 0) {
		(void)il_sandbox_plan_free(p);
		return r;
	}
	*ret_plan = p;
	return 0;
}
