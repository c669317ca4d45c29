#include "base/grant.h"

#include <errno.h>
#include <string.h>

/*
 * How a path compares to one place of a grant: the length of the place's absolute path when the
 * place covers it, -1 when it does not.
 */
static ptrdiff_t place_covers(const struct grant *g, const struct grant_path *p, const char *path)
{
	const char *root = g->roots[p->root];
	size_t n = strlen(root);

	if (n == 1) /* "/" */
		n = 0;
	if (strncmp(path, root, n) != 0)
		return -1;
	path += n;
	if (p->path[0] != '\0') {
		size_t n_rel = strlen(p->path);

		if (path[0] != '/' || strncmp(path + 1, p->path, n_rel) != 0)
			return -1;
		path += 1 + n_rel;
		n += 1 + n_rel;
	}
	return *path == '\0' || *path == '/' ? (ptrdiff_t)n : -1;
}

uint32_t grant_rights_on(const struct grant *g, const char *path)
{
	ptrdiff_t best = -1;
	uint32_t rights = 0;

	for (size_t i = 0; i < g->n_paths; i++) {
		ptrdiff_t n = place_covers(g, &g->paths[i], path);

		if (n < 0 || n < best)
			continue;
		if (n > best)
			rights = g->paths[i].rights;
		else
			rights = g->paths[i].hide ? 0 : rights | g->paths[i].rights;
		best = n;
	}
	return rights;
}

/* True if the path of `place` (of grant g) lies beneath, or is, `path`. */
static bool place_is_beneath(
	const struct grant *g, const struct grant_path *place, const char *path, size_t n_path)
{
	const char *root = g->roots[place->root];
	size_t n_root = strlen(root);
	char absolute[4096];
	size_t n_rel = strlen(place->path);

	if (n_root == 1)
		n_root = 0;
	if (n_root + 1 + n_rel >= sizeof(absolute))
		return true; /* cannot tell: the caller takes the stricter branch */
	memcpy(absolute, root, n_root);
	absolute[n_root] = '\0';
	if (n_rel > 0) {
		absolute[n_root] = '/';
		memcpy(absolute + n_root + 1, place->path, n_rel + 1);
	}
	if (n_path == 1)
		n_path = 0; /* "/" is above everything */
	return strncmp(absolute, path, n_path) == 0 &&
	       (absolute[n_path] == '\0' || absolute[n_path] == '/');
}

static const char *absolute_of(
	const struct grant *g, const struct grant_path *p, char *buffer, size_t size)
{
	const char *root = g->roots[p->root];
	size_t n = strlen(root) == 1 ? 0 : strlen(root);
	size_t n_rel = strlen(p->path);

	if (n + n_rel + 2 >= size)
		return NULL;
	memcpy(buffer, root, n);
	if (n_rel > 0)
		buffer[n++] = '/';
	memcpy(buffer + n, p->path, n_rel);
	n += n_rel;
	if (n == 0)
		buffer[n++] = '/';
	buffer[n] = '\0';
	return buffer;
}

/* One place of g against the ceiling: its rights there, and no narrower place of the ceiling inside
 * it. */
static bool place_allowed(const struct grant *g, const struct grant_path *p,
	const struct grant *ceiling, struct diag *diag)
{
	char buffer[4096];
	const char *path = absolute_of(g, p, buffer, sizeof(buffer));
	uint32_t given;

	if (!path) {
		diag_set(diag, 0, 0, 0, "a path of the grant is too long to compare");
		return false;
	}
	given = grant_rights_on(ceiling, path);
	if ((p->rights & ~given) != 0) {
		diag_set(diag, 0, 0, 0, "%.180s: more rights than the ceiling gives there", path);
		return false;
	}
	for (size_t i = 0; i < ceiling->n_paths; i++) {
		const struct grant_path *inner = &ceiling->paths[i];
		char inner_buffer[4096];
		const char *inner_path;

		if ((p->rights & ~inner->rights) == 0)
			continue;
		if (!place_is_beneath(ceiling, inner, path, strlen(path)))
			continue;
		inner_path = absolute_of(ceiling, inner, inner_buffer, sizeof(inner_buffer));
		/* Narrower in the ceiling: fine only if g narrows there at least as much. */
		if (!inner_path || (grant_rights_on(g, inner_path) & ~inner->rights) != 0) {
			diag_set(diag, 0, 0, 0, "%.180s: the ceiling is narrower inside it", path);
			return false;
		}
	}
	return true;
}

static bool host_entry_covers(const struct grant_host *wide, const struct grant_host *narrow)
{
	size_t n_wide = strlen(wide->host), n_narrow = strlen(narrow->host);

	if (wide->port != narrow->port || (narrow->private_ok && !wide->private_ok))
		return false;
	if (strcmp(wide->host, narrow->host) == 0)
		return true;
	/* ".example.org" covers "a.example.org" and ".a.example.org". */
	return wide->host[0] == '.' && n_narrow > n_wide &&
	       strcmp(narrow->host + n_narrow - n_wide, wide->host) == 0;
}

static bool hosts_allowed(const struct grant *g, const struct grant *ceiling, struct diag *diag)
{
	if (g->net == GRANT_NET_NONE || ceiling->net == GRANT_NET_OPEN)
		return true;
	if (g->net != GRANT_NET_HOSTS && g->net != ceiling->net) {
		diag_set(diag, 0, 0, 0, "the network is wider than the ceiling's");
		return false;
	}
	if (ceiling->net == GRANT_NET_NONE) {
		diag_set(diag, 0, 0, 0, "the ceiling gives no network");
		return false;
	}
	for (size_t i = 0; i < g->n_hosts; i++) {
		bool covered = false;

		for (size_t j = 0; !covered && j < ceiling->n_hosts; j++)
			covered = host_entry_covers(&ceiling->hosts[j], &g->hosts[i]);
		if (!covered) {
			diag_set(diag, 0, 0, 0, "%s:%u is not a host of the ceiling",
				g->hosts[i].host, (unsigned)g->hosts[i].port);
			return false;
		}
	}
	return true;
}

static bool text_in(const char *text, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], text) == 0)
			return true;
	}
	return false;
}

static bool secret_in(const struct grant_secret *s, const struct grant *ceiling)
{
	for (size_t i = 0; i < ceiling->n_secrets; i++) {
		const struct grant_secret *c = &ceiling->secrets[i];

		if (c->kind == s->kind && strcmp(c->name, s->name) == 0 &&
			strcmp(c->source, s->source) == 0 && strcmp(c->host, s->host) == 0)
			return true;
	}
	return false;
}

static bool lists_allowed(const struct grant *g, const struct grant *ceiling, struct diag *diag)
{
	for (size_t i = 0; i < g->n_unix_sockets; i++) {
		if (!text_in(g->unix_sockets[i], ceiling->unix_sockets, ceiling->n_unix_sockets)) {
			diag_set(diag, 0, 0, 0, "%.180s is not a socket of the ceiling",
				g->unix_sockets[i]);
			return false;
		}
	}
	for (size_t i = 0; i < g->n_secrets; i++) {
		if (!secret_in(&g->secrets[i], ceiling)) {
			diag_set(diag, 0, 0, 0, "%.180s is not a secret of the ceiling",
				g->secrets[i].name);
			return false;
		}
	}
	if (ceiling->n_exec > 0 && g->may_spawn && g->n_exec == 0) {
		diag_set(diag, 0, 0, 0, "any program may be started; the ceiling lists them");
		return false;
	}
	for (size_t i = 0; ceiling->n_exec > 0 && i < g->n_exec; i++) {
		if (!text_in(g->exec[i], ceiling->exec, ceiling->n_exec)) {
			diag_set(diag, 0, 0, 0, "%.180s is not a program of the ceiling",
				g->exec[i]);
			return false;
		}
	}
	return true;
}

static bool switches_allowed(const struct grant *g, const struct grant *ceiling, struct diag *diag)
{
	if ((g->system_readable && !ceiling->system_readable) ||
		(g->may_spawn && !ceiling->may_spawn) ||
		(g->interpreters && !ceiling->interpreters) || g->armed > ceiling->armed ||
		g->git > ceiling->git) {
		diag_set(diag, 0, 0, 0,
			"system_readable, may_spawn, interpreters, armed or git is wider than the "
			"ceiling's");
		return false;
	}
	return true;
}

static bool limit_within(uint64_t limit, uint64_t most)
{
	return most == 0 || (limit != 0 && limit <= most);
}

static bool limits_allowed(
	const struct grant_limits *g, const struct grant_limits *c, struct diag *diag)
{
	if (limit_within(g->wall_ms, c->wall_ms) && limit_within(g->cpu_ms, c->cpu_ms) &&
		limit_within(g->memory_bytes, c->memory_bytes) &&
		limit_within(g->processes, c->processes) &&
		limit_within(g->output_bytes, c->output_bytes) &&
		limit_within(g->file_size_bytes, c->file_size_bytes))
		return true;
	diag_set(diag, 0, 0, 0, "a limit is looser than the ceiling's");
	return false;
}

bool grant_subset(const struct grant *g, const struct grant *ceiling, struct diag *reterr_diag)
{
	if (grant_check(g, reterr_diag) != 0 || grant_check(ceiling, reterr_diag) != 0)
		return false;
	for (size_t i = 0; i < g->n_paths; i++) {
		if (!place_allowed(g, &g->paths[i], ceiling, reterr_diag))
			return false;
	}
	return hosts_allowed(g, ceiling, reterr_diag) && lists_allowed(g, ceiling, reterr_diag) &&
	       switches_allowed(g, ceiling, reterr_diag) &&
	       limits_allowed(&g->limits, &ceiling->limits, reterr_diag);
}
