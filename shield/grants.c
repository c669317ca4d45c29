#include <ctype.h>
#include <string.h>

#include "base/arms.h"
#include "shield/judgement.h"
#include "shield/path.h"
#include "shield/policy.h"

/* Files whose content no command with a network needs; hidden from it. */
static const char *const hidden_names[] = { ".env", ".env.local", ".env.production", ".env.prod",
	".env.staging", ".env.development", "credentials.json", "secrets.yaml", "secrets.yml",
	"secrets.json", "service-account.json", "terraform.tfstate", "terraform.tfvars", "id_rsa",
	"id_ed25519" };

/* A grant while it is built; arrays have room for the contract's maxima. */
struct builder {
	struct judgement *j;
	struct grant *g;
	const char **roots;
	struct grant_path *paths;
	struct grant_host *hosts;
	bool full;
};

static int builder_root(struct builder *b, const char *path)
{
	for (size_t i = 0; i < b->g->n_roots; i++) {
		if (strcmp(b->roots[i], path) == 0)
			return (int)i;
	}
	if (b->g->n_roots == 32) {
		b->full = true;
		return -1;
	}
	b->roots[b->g->n_roots] = path;
	return (int)b->g->n_roots++;
}

static void builder_path(struct builder *b, const char *root, const char *path, uint32_t rights)
{
	int n = builder_root(b, root);

	if (n < 0)
		return;
	for (size_t i = 0; i < b->g->n_paths; i++) {
		if (b->paths[i].root == (uint32_t)n && strcmp(b->paths[i].path, path) == 0) {
			b->paths[i].rights |= rights;
			return;
		}
	}
	if (b->g->n_paths == GRANT_PATHS_MAX / 2) {
		b->full = true;
		return;
	}
	b->paths[b->g->n_paths++] =
		(struct grant_path){ .root = (uint32_t)n, .path = path, .rights = rights };
}

static uint32_t rights_of(const struct effect *e)
{
	switch (e->kind) {
	case EFFECT_READ:
	case EFFECT_LIST:
		return GRANT_READ;
	case EFFECT_WRITE:
		return GRANT_READ | GRANT_WRITE | GRANT_CREATE;
	case EFFECT_ATTRIBUTES:
		return GRANT_READ | GRANT_WRITE;
	case EFFECT_CREATE:
	case EFFECT_ARMS:
		return GRANT_READ | GRANT_WRITE | GRANT_CREATE;
	case EFFECT_DELETE:
	case EFFECT_RENAME:
		return GRANT_READ | GRANT_WRITE | GRANT_DELETE;
	case EFFECT_OPAQUE:
	case EFFECT_EXEC:
	case EFFECT_CONNECT:
	case EFFECT_LISTEN:
	case EFFECT_SEND:
	case EFFECT_SIGNAL:
	case EFFECT_SPAWN_AGENT:
	case EFFECT_SCHEDULE:
	case EFFECT_REMEMBER:
	case EFFECT_ENVIRONMENT:
	case EFFECT_PRIVILEGE:
	case EFFECT_N_:
		break;
	}
	return 0;
}

/* The part of a path before its first pattern character, as a directory. */
static const char *without_pattern(struct arena *a, const char *path)
{
	size_t n = strcspn(path, "*?[");

	if (path[n] == '\0')
		return path;
	while (n > 1 && path[n - 1] != '/')
		n--;
	while (n > 1 && path[n - 1] == '/')
		n--;
	return arena_text(a, path, n);
}

static void grant_place(struct builder *b, const struct effect *e, bool command)
{
	struct arena *a = b->j->arena;
	const char *path = without_pattern(a, e->object);
	const char *workspace = b->j->places.workspace;
	uint32_t rights = rights_of(e);
	const char *rest, *name;

	if (!path) {
		b->full = true;
		return;
	}
	if (command)
		rights |= GRANT_EXEC;
	/* Looking at a directory that holds a home must not open the home: names of the system are
	 * visible without any grant, and a search of "/" does without what is private, as it does
	 * for any other user. */
	if (is_path_beneath(b->j->places.home, path, true) &&
		!is_path_beneath(path, workspace, false) &&
		(e->kind == EFFECT_LIST || (e->kind == EFFECT_READ && !e->recursive)))
		return;
	rest = path_rest(path, workspace, false);
	if (rest) {
		/* A command has the whole workspace; a file action only what it names. */
		if (!command)
			builder_path(b, workspace, rest, rights);
		return;
	}
	if (command && is_place_temporary(path)) {
		builder_path(b, "/tmp", "", GRANT_WRITABLE);
		if (is_path_beneath(path, "/var/tmp", false))
			builder_path(b, "/var/tmp", "", GRANT_WRITABLE);
		return;
	}
	if (command && rights == (GRANT_READ | GRANT_EXEC) &&
		(is_path_beneath(path, "/usr", false) || is_path_beneath(path, "/etc", false) ||
			is_path_beneath(path, "/bin", false) || is_path_beneath(path, "/lib", false) ||
			is_path_beneath(path, "/proc", false) || is_path_beneath(path, "/dev", false)))
		return; /* system_readable */
	if (is_path_beneath(path, "/dev", false) || is_path_beneath(path, "/proc/self/fd", false) ||
		strcmp(path, "/") == 0) {
		if (strcmp(path, "/") == 0)
			builder_path(b, "/", "", rights);
		return;
	}
	name = path_name(path);
	rest = name - 1 == path ? "/" : arena_text(a, path, (size_t)(name - 1 - path));
	if (!rest) {
		b->full = true;
		return;
	}
	builder_path(b, rest, name, rights);
}

static bool is_host_name(const char *host)
{
	size_t n = strlen(host);

	if (n == 0 || n > 253)
		return false;
	for (const char *p = host; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr(".-_:", *p))
			return false;
		if (isupper((unsigned char)*p))
			return false;
	}
	return strncmp(host, "remote:", 7) != 0;
}

static void builder_host(struct builder *b, const char *host, uint16_t port, bool private_ok)
{
	for (size_t i = 0; i < b->g->n_hosts; i++) {
		if (strcmp(b->hosts[i].host, host) == 0 && b->hosts[i].port == port)
			return;
	}
	if (b->g->n_hosts == GRANT_HOSTS_MAX) {
		b->full = true;
		return;
	}
	b->hosts[b->g->n_hosts++] =
		(struct grant_host){ .host = host, .port = port, .private_ok = private_ok };
	b->g->net = GRANT_NET_HOSTS;
}

/* The forges among the listed hosts, for a remote that only the repository knows. */
static void grant_remote(struct builder *b)
{
	static const char *const forges[] = { "github.com", "gitlab.com", "bitbucket.org",
		"codeberg.org" };

	for (size_t i = 0; i < N_ELEMENTS(forges); i++) {
		builder_host(b, forges[i], 443, false);
		builder_host(b, forges[i], 22, false);
	}
}

static void grant_connection(struct builder *b, const struct effect *e)
{
	char *host = arena_text(b->j->arena, e->object, strlen(e->object));

	for (char *p = host; p && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (!host) {
		b->full = true;
	} else if (strncmp(host, "remote:", 7) == 0) {
		grant_remote(b);
	} else if (is_host_name(host)) {
		uint16_t port = e->port == 80 || e->port == 443 ? 0 : e->port;

		builder_host(b, host, port, is_host_internal(host));
	} else {
		judgement_findf(b->j, "GRANT-HOST", IL_ASK, IL_SEVERITY_MEDIUM, e,
			"Connects to a host that cannot be known before the start (%s).", host);
	}
}

static void grant_hide(struct builder *b)
{
	if (b->g->n_hosts == 0 || !b->j->context->enforcer || !b->j->context->enforcer->hide)
		return;
	for (size_t i = 0; i < N_ELEMENTS(hidden_names) && b->g->n_paths < GRANT_PATHS_MAX; i++)
		b->paths[b->g->n_paths++] =
			(struct grant_path){ .root = 0, .path = hidden_names[i], .hide = true };
}

static void grant_effect(struct builder *b, const struct judged_effect *judged, bool command)
{
	const struct effect *e = &judged->effect;

	if (judged->is_path)
		grant_place(b, e, command);
	if (e->kind == EFFECT_CONNECT)
		grant_connection(b, e);
	if (judged->is_path && effect_kind_mutates(e->kind)) {
		if (arms_match(e->object, NULL) == ARMS_ITSELF)
			b->g->armed = GRANT_ARMED_WRITABLE;
		if (strstr(e->object, "/.git/") || strcmp(path_name(e->object), ".git") == 0)
			b->g->git = GRANT_GIT_COMMIT;
	}
	if (e->kind == EFFECT_PRIVILEGE)
		judgement_findf(b->j, "GRANT-PRIVILEGE", IL_ASK, IL_SEVERITY_HIGH, e,
			"Wants the privilege %s, which no grant can give.", e->object);
}

static bool is_spawning(const struct judgement *j)
{
	return j->detail->is_command || strcmp(j->analysis->type->group, "git") == 0;
}

static void grant_programs(struct builder *b)
{
	struct judgement *j = b->j;

	if (!is_spawning(j))
		return;
	b->g->may_spawn = true;
	b->g->system_readable = true;
	b->g->interpreters = j->detail->is_command;
	if (j->detail->is_command)
		builder_path(b, j->places.workspace, "", GRANT_WRITABLE);
	else
		builder_path(b, j->places.workspace, "",
			j->analysis->type->mutates ? GRANT_WRITABLE : GRANT_READ | GRANT_EXEC);
	for (size_t i = 0; i < j->n_calls; i++) {
		if (j->calls[i].program && strcmp(j->calls[i].program, "git") == 0)
			b->g->git = GRANT_GIT_COMMIT;
	}
	if (!j->detail->is_command && j->analysis->type->mutates)
		b->g->git = GRANT_GIT_COMMIT;
}

/* An allow may only rely on what is proved to be held here. */
static void check_enforcer(struct judgement *j, const struct grant *g)
{
	const struct il_judge_enforcer *e = j->context->enforcer;
	const char *missing = NULL;

	if (!is_spawning(j))
		return;
	if (!e || e->nobody) {
		if (j->opaque)
			missing = "a part of the command cannot be known, and nobody here holds the "
				  "grant";
	} else if (!e->filesystem) {
		missing = "writing cannot be confined to the workspace on this machine";
	} else if (!e->network && g->net != GRANT_NET_OPEN) {
		missing = "the network cannot be closed on this machine";
	} else if (g->net == GRANT_NET_HOSTS && !e->net_hosts) {
		missing = "connections cannot be limited to named hosts on this machine";
	}
	if (missing)
		judgement_findf(j, "GRANT-UNPROVED", IL_ASK, IL_SEVERITY_MEDIUM, NULL,
			"An allow would rely on what is not proved: %s.", missing);
}

static void check_ceiling(struct judgement *j, const struct grant *g)
{
	struct grant ceiling;
	struct diag diag = { 0 };

	if (il_policy_ceiling(j->arena, j->context->policy, j->places.workspace, j->places.home,
		    &ceiling) != 0) {
		j->failed = true;
		return;
	}
	if (!grant_subset(g, &ceiling, &diag))
		judgement_findf(j, "GRANT-CEILING", IL_DENY, IL_SEVERITY_HIGH, NULL,
			"Needs more than the ceiling of the policy gives: %s", diag.text);
}

bool judge_grant(struct judgement *j, struct grant *ret_grant)
{
	struct grant g = { .profile = "read-only" };
	struct builder b = { .j = j, .g = &g };
	size_t before = j->n_findings;
	bool wider;

	b.roots = arena_alloc_array(j->arena, 32, sizeof(*b.roots));
	b.paths = arena_alloc_array(
		j->arena, is_spawning(j) ? GRANT_PATHS_MAX : GRANT_PATHS_MAX / 2 + 1, sizeof(*b.paths));
	b.hosts = arena_alloc_array(j->arena, is_spawning(j) || j->analysis->type->open_world ? 64 : 1,
		sizeof(*b.hosts));
	if (!b.roots || !b.paths || !b.hosts) {
		j->failed = true;
		return false;
	}
	(void)builder_root(&b, j->places.workspace);
	grant_programs(&b);
	for (size_t i = 0; i < j->n_effects; i++)
		grant_effect(&b, &j->effects[i], j->detail->is_command);
	if (j->analysis->type->mutates)
		g.profile = g.n_hosts > 0 ? "workspace-write+hosts" : "workspace-write";
	grant_hide(&b);
	g.roots = b.roots;
	g.paths = b.paths;
	g.hosts = b.hosts;
	g.limits = j->context->policy->limits;
	if (b.full)
		judgement_findf(j, "GRANT-FULL", IL_ASK, IL_SEVERITY_MEDIUM, NULL,
			"The action touches more places than one grant can name.");
	wider = g.n_roots > 1 || g.n_hosts > 0;
	if (wider)
		check_ceiling(j, &g);
	check_enforcer(j, &g);
	*ret_grant = g;
	return j->n_findings == before && !j->failed;
}

/* Every place of the ceiling beneath its own root, "~" expanded. */
static int ceiling_paths(struct arena *a, const struct texts *places, const char *home,
	uint32_t rights, const char **roots, struct grant_path *paths, size_t *n)
{
	for (size_t i = 0; i < places->n; i++) {
		const char *text = places->items[i];
		char *root = text[0] == '~' ? arena_printf(a, "%s/%s", home, text + 2) :
					      arena_printf(a, "%s", text);

		if (!root)
			return -ENOMEM;
		for (size_t k = strlen(root); k > 1 && root[k - 1] == '/'; k--)
			root[k - 1] = '\0';
		roots[*n] = root;
		paths[*n] = (struct grant_path){ .root = (uint32_t)*n, .path = "", .rights = rights };
		(*n)++;
	}
	return 0;
}

int il_policy_ceiling(struct arena *a, const struct il_policy *policy, const char *workspace,
	const char *home, struct grant *ret_ceiling)
{
	size_t most = policy->read.n + policy->write.n + 3;
	const char **roots = arena_alloc_array(a, most, sizeof(*roots));
	struct grant_path *paths = arena_alloc_array(a, most, sizeof(*paths));
	struct grant_host *hosts = arena_alloc_array(a, policy->hosts.n + 1, sizeof(*hosts));
	size_t n = 1;
	int r;

	if (!roots || !paths || !hosts)
		return -ENOMEM;
	roots[0] = workspace;
	paths[0] = (struct grant_path){ .root = 0, .path = "", .rights = GRANT_WRITABLE };
	if (policy->temp_writable) {
		roots[1] = "/tmp";
		roots[2] = "/var/tmp";
		for (; n < 3; n++)
			paths[n] = (struct grant_path){ .root = (uint32_t)n, .path = "",
							.rights = GRANT_WRITABLE };
	}
	r = ceiling_paths(a, &policy->write, home, GRANT_WRITABLE, roots, paths, &n);
	if (r == 0)
		r = ceiling_paths(a, &policy->read, home, GRANT_READ | GRANT_EXEC, roots, paths, &n);
	if (r != 0)
		return r;
	for (size_t i = 0; i < policy->hosts.n; i++)
		hosts[i] = (struct grant_host){ .host = policy->hosts.items[i][0] == '*' ?
							policy->hosts.items[i] + 1 :
							policy->hosts.items[i] };
	*ret_ceiling = (struct grant){ .profile = "ceiling", .roots = roots, .n_roots = n,
		.paths = paths, .n_paths = n, .system_readable = true,
		.net = policy->any_host ? GRANT_NET_OPEN : GRANT_NET_HOSTS, .hosts = hosts,
		.n_hosts = policy->hosts.n, .may_spawn = true, .interpreters = true,
		.armed = GRANT_ARMED_WRITABLE, .git = GRANT_GIT_COMMIT, .limits = policy->limits };
	return 0;
}
