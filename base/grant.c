#include "base/grant.h"

#include <errno.h>
#include <string.h>

#include "base/canon.h"

static const char *const net_names[] = {
	[GRANT_NET_NONE] = "none",
	[GRANT_NET_HOSTS] = "strict",
	[GRANT_NET_PREFLIGHT] = "preflight",
	[GRANT_NET_OPEN] = "open",
};
static const char *const armed_names[] = {
	[GRANT_ARMED_READONLY] = "readonly",
	[GRANT_ARMED_WRITABLE] = "writable",
};
static const char *const git_names[] = {
	[GRANT_GIT_READONLY] = "readonly",
	[GRANT_GIT_COMMIT] = "commit",
};
static const char *const secret_names[] = {
	[GRANT_SECRET_ENV] = "env",
	[GRANT_SECRET_FILE] = "file",
	[GRANT_SECRET_SSH_AGENT] = "ssh-agent",
};
_Static_assert(N_ELEMENTS(net_names) == GRANT_NET_N_, "name every mode");
_Static_assert(N_ELEMENTS(armed_names) == GRANT_ARMED_N_, "name every mode");
_Static_assert(N_ELEMENTS(git_names) == GRANT_GIT_N_, "name every mode");
_Static_assert(N_ELEMENTS(secret_names) == GRANT_SECRET_N_, "name every kind");

/* ---- checking ---- */

static bool is_canonical_relative(const char *path)
{
	if (*path == '\0')
		return true;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (n == 0 || (n == 1 && path[0] == '.') ||
			(n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += n;
		if (*path == '\0')
			return true;
		path++;
	}
}

static bool is_canonical_absolute(const char *path)
{
	return path && path[0] == '/' && (path[1] == '\0' || is_canonical_relative(path + 1));
}

static bool is_host(const char *host)
{
	size_t n = host ? strlen(host) : 0;

	if (n == 0 || n > 253)
		return false;
	for (const char *at = host; *at; at++) {
		if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') ||
			    strchr(".-_:", *at)))
			return false;
	}
	return true;
}

static int check_paths(const struct grant *g, struct diag *diag)
{
	for (size_t i = 0; i < g->n_roots; i++) {
		if (!is_canonical_absolute(g->roots[i]))
			return diag_set(
				diag, -EINVAL, 0, 0, "roots[%zu] is no canonical absolute path", i);
	}
	for (size_t i = 0; i < g->n_paths; i++) {
		const struct grant_path *p = &g->paths[i];

		if (p->root >= g->n_roots)
			return diag_set(diag, -EINVAL, 0, 0, "paths[%zu].root names no root", i);
		if (!p->path || !is_canonical_relative(p->path))
			return diag_set(diag, -EINVAL, 0, 0, "paths[%zu].path is not canonical", i);
		if ((p->rights & ~(uint32_t)GRANT_WRITABLE) != 0 || (p->hide && p->rights != 0))
			return diag_set(
				diag, -EINVAL, 0, 0, "paths[%zu].rights is not a set of rights", i);
	}
	for (size_t i = 0; i < g->n_unix_sockets; i++) {
		if (!is_canonical_absolute(g->unix_sockets[i]))
			return diag_set(diag, -EINVAL, 0, 0,
				"unix_sockets[%zu] is no canonical absolute path", i);
	}
	for (size_t i = 0; i < g->n_exec; i++) {
		if (!g->exec[i] || g->exec[i][0] == '\0')
			return diag_set(diag, -EINVAL, 0, 0, "exec[%zu] is empty", i);
	}
	return 0;
}

static int check_network(const struct grant *g, struct diag *diag)
{
	for (size_t i = 0; i < g->n_hosts; i++) {
		if (!is_host(g->hosts[i].host))
			return diag_set(
				diag, -EINVAL, 0, 0, "hosts[%zu].host is no lower-case host", i);
	}
	for (size_t i = 0; i < g->n_secrets; i++) {
		const struct grant_secret *s = &g->secrets[i];
		bool listed = false;

		if ((unsigned)s->kind >= GRANT_SECRET_N_ || !s->name || !s->source || !s->host)
			return diag_set(diag, -EINVAL, 0, 0, "secrets[%zu] is incomplete", i);
		for (size_t j = 0; j < g->n_hosts; j++)
			listed = listed || strcmp(g->hosts[j].host, s->host) == 0;
		if (!listed)
			return diag_set(diag, -EINVAL, 0, 0,
				"secrets[%zu].host is not one of the hosts", i);
	}
	return 0;
}

int grant_check(const struct grant *g, struct diag *diag)
{
	int r;

	if (!g->profile)
		return diag_set(diag, -EINVAL, 0, 0, "profile is missing");
	if ((unsigned)g->net >= GRANT_NET_N_ || (unsigned)g->armed >= GRANT_ARMED_N_ ||
		(unsigned)g->git >= GRANT_GIT_N_)
		return diag_set(diag, -EINVAL, 0, 0, "net, armed or git is out of range");
	if (g->n_roots > GRANT_PATHS_MAX || g->n_paths > GRANT_PATHS_MAX ||
		g->n_hosts > GRANT_HOSTS_MAX || g->n_secrets > GRANT_SECRETS_MAX ||
		g->n_unix_sockets > GRANT_SOCKETS_MAX || g->n_exec > GRANT_EXEC_MAX)
		return diag_set(diag, -EINVAL, 0, 0, "more entries than a grant may hold");
	r = check_paths(g, diag);
	return r != 0 ? r : check_network(g, diag);
}

/* ---- as a value ---- */

static struct value *text_value(struct arena *a, const char *text)
{
	return value_text(a, text, strlen(text));
}

static const struct value *texts_value(struct arena *a, const char *const *texts, size_t n)
{
	struct value *v = value_array(a, n);

	for (size_t i = 0; i < n; i++) {
		if (value_push(v, text_value(a, texts[i])) != 0)
			return NULL;
	}
	return v;
}

static const struct value *paths_value(struct arena *a, const struct grant *g)
{
	struct value *v = value_array(a, g->n_paths);

	for (size_t i = 0; i < g->n_paths; i++) {
		struct value *p = value_map(a, 4);

		if (value_put(p, "root", value_int(a, g->paths[i].root)) != 0 ||
			value_put(p, "path", text_value(a, g->paths[i].path)) != 0 ||
			value_put(p, "rights", value_int(a, g->paths[i].rights)) != 0 ||
			value_put(p, "hide", value_bool(a, g->paths[i].hide)) != 0 ||
			value_push(v, p) != 0)
			return NULL;
	}
	return v;
}

static const struct value *hosts_value(struct arena *a, const struct grant *g)
{
	struct value *v = value_array(a, g->n_hosts);

	for (size_t i = 0; i < g->n_hosts; i++) {
		struct value *h = value_map(a, 3);

		if (value_put(h, "host", text_value(a, g->hosts[i].host)) != 0 ||
			value_put(h, "port", value_int(a, g->hosts[i].port)) != 0 ||
			value_put(h, "private", value_bool(a, g->hosts[i].private_ok)) != 0 ||
			value_push(v, h) != 0)
			return NULL;
	}
	return v;
}

static const struct value *secrets_value(struct arena *a, const struct grant *g)
{
	struct value *v = value_array(a, g->n_secrets);

	for (size_t i = 0; i < g->n_secrets; i++) {
		struct value *s = value_map(a, 4);

		if (value_put(s, "kind", text_value(a, secret_names[g->secrets[i].kind])) != 0 ||
			value_put(s, "name", text_value(a, g->secrets[i].name)) != 0 ||
			value_put(s, "source", text_value(a, g->secrets[i].source)) != 0 ||
			value_put(s, "host", text_value(a, g->secrets[i].host)) != 0 ||
			value_push(v, s) != 0)
			return NULL;
	}
	return v;
}

/* The limits by name, so that writing and reading cannot differ. */
static const struct {
	const char *name;
	size_t offset;
} limit_fields[] = {
	{ "wall_ms", offsetof(struct grant_limits, wall_ms) },
	{ "cpu_ms", offsetof(struct grant_limits, cpu_ms) },
	{ "memory_bytes", offsetof(struct grant_limits, memory_bytes) },
	{ "processes", offsetof(struct grant_limits, processes) },
	{ "output_bytes", offsetof(struct grant_limits, output_bytes) },
	{ "file_size_bytes", offsetof(struct grant_limits, file_size_bytes) },
};
_Static_assert(N_ELEMENTS(limit_fields) * sizeof(uint64_t) == sizeof(struct grant_limits),
	"name every limit");

static const struct value *limits_value(struct arena *a, const struct grant_limits *limits)
{
	struct value *v = value_map(a, N_ELEMENTS(limit_fields));

	for (size_t i = 0; i < N_ELEMENTS(limit_fields); i++) {
		uint64_t n;

		memcpy(&n, (const char *)limits + limit_fields[i].offset, sizeof(n));
		if (n > INT64_MAX ||
			value_put(v, limit_fields[i].name, value_int(a, (int64_t)n)) != 0)
			return NULL;
	}
	return v;
}

const struct value *grant_to_value(struct arena *a, const struct grant *g)
{
	struct value *v = value_map(a, 16);

	if (value_put(v, "profile", text_value(a, g->profile)) != 0 ||
		value_put(v, "roots", texts_value(a, g->roots, g->n_roots)) != 0 ||
		value_put(v, "paths", paths_value(a, g)) != 0 ||
		value_put(v, "system_readable", value_bool(a, g->system_readable)) != 0 ||
		value_put(v, "net", text_value(a, net_names[g->net])) != 0 ||
		value_put(v, "hosts", hosts_value(a, g)) != 0 ||
		value_put(v, "unix_sockets", texts_value(a, g->unix_sockets, g->n_unix_sockets)) !=
			0 ||
		value_put(v, "secrets", secrets_value(a, g)) != 0 ||
		value_put(v, "may_spawn", value_bool(a, g->may_spawn)) != 0 ||
		value_put(v, "interpreters", value_bool(a, g->interpreters)) != 0 ||
		value_put(v, "exec", texts_value(a, g->exec, g->n_exec)) != 0 ||
		value_put(v, "armed", text_value(a, armed_names[g->armed])) != 0 ||
		value_put(v, "git", text_value(a, git_names[g->git])) != 0 ||
		value_put(v, "limits", limits_value(a, &g->limits)) != 0)
		return NULL;
	return v;
}

int grant_hash(const struct grant *g, uint8_t ret_hash[static SHA256_SIZE])
{
	auto_arena struct arena a = { 0 };
	const struct value *v;

	arena_init(&a, (size_t)4 << 20);
	v = grant_to_value(&a, g);
	return v ? canon_hash(v, ret_hash) : -ENOMEM;
}

/* ---- from a value ---- */

static int field_error(struct diag *diag, const char *field)
{
	return diag_set(
		diag, -EINVAL, 0, 0, "grant field \"%s\" is missing or of the wrong type", field);
}

static int get_kind(const struct value *v, const char *field, enum value_kind kind,
	const struct value **ret_value, struct diag *diag)
{
	const struct value *found = value_get(v, field);

	if (!found || found->kind != kind)
		return field_error(diag, field);
	*ret_value = found;
	return 0;
}

static int get_text(
	const struct value *v, const char *field, const char **ret_text, struct diag *diag)
{
	const struct value *found;
	int r = get_kind(v, field, VALUE_TEXT, &found, diag);

	if (r == 0)
		*ret_text = found->text;
	return r;
}

static int get_bool(const struct value *v, const char *field, bool *ret_bool, struct diag *diag)
{
	const struct value *found;
	int r = get_kind(v, field, VALUE_BOOL, &found, diag);

	if (r == 0)
		*ret_bool = found->boolean;
	return r;
}

static int get_uint(
	const struct value *v, const char *field, uint64_t max, uint64_t *ret_n, struct diag *diag)
{
	const struct value *found;
	int r = get_kind(v, field, VALUE_INT, &found, diag);

	if (r != 0)
		return r;
	if (found->integer < 0 || (uint64_t)found->integer > max)
		return diag_set(diag, -EINVAL, 0, 0, "grant field \"%s\" is out of range", field);
	*ret_n = (uint64_t)found->integer;
	return 0;
}

static int get_enum(const struct value *v, const char *field, const char *const *names, unsigned n,
	unsigned *ret_value, struct diag *diag)
{
	const char *text;
	int r = get_text(v, field, &text, diag);

	for (unsigned i = 0; r == 0 && i < n; i++) {
		if (strcmp(names[i], text) == 0) {
			*ret_value = i;
			return 0;
		}
	}
	return r != 0 ? r
		      : diag_set(
				diag, -EINVAL, 0, 0, "grant field \"%s\" has no such value", field);
}

static int get_texts(struct arena *a, const struct value *v, const char *field,
	const char *const **ret_texts, size_t *ret_n, struct diag *diag)
{
	const struct value *found;
	const char **texts;
	int r = get_kind(v, field, VALUE_ARRAY, &found, diag);

	if (r != 0)
		return r;
	texts = arena_alloc_array(a, found->size, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	for (size_t i = 0; i < found->size; i++) {
		if (found->items[i].kind != VALUE_TEXT)
			return field_error(diag, field);
		texts[i] = found->items[i].text;
	}
	*ret_texts = texts;
	*ret_n = found->size;
	return 0;
}

/* True if v is a map with exactly n keys; with each of them read once, no other key can be there.
 */
static int expect_map(const struct value *v, size_t n, const char *what, struct diag *diag)
{
	if (v->kind != VALUE_MAP)
		return diag_set(diag, -EINVAL, 0, 0, "%s is not a map", what);
	if (v->size != n)
		return diag_set(
			diag, -EINVAL, 0, 0, "%s has %zu fields instead of %zu", what, v->size, n);
	return 0;
}

static int get_paths(struct arena *a, const struct value *v, struct grant *g, struct diag *diag)
{
	const struct value *found;
	struct grant_path *paths;
	int r = get_kind(v, "paths", VALUE_ARRAY, &found, diag);

	if (r != 0)
		return r;
	paths = arena_alloc_array(a, found->size, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < found->size; i++) {
		uint64_t root, rights;

		if ((r = expect_map(&found->items[i], 4, "an entry of paths", diag)) != 0 ||
			(r = get_uint(&found->items[i], "root", UINT32_MAX, &root, diag)) != 0 ||
			(r = get_text(&found->items[i], "path", &paths[i].path, diag)) != 0 ||
			(r = get_uint(&found->items[i], "rights", UINT32_MAX, &rights, diag)) !=
				0 ||
			(r = get_bool(&found->items[i], "hide", &paths[i].hide, diag)) != 0)
			return r;
		paths[i].root = (uint32_t)root;
		paths[i].rights = (uint32_t)rights;
	}
	g->paths = paths;
	g->n_paths = found->size;
	return 0;
}

static int get_hosts(struct arena *a, const struct value *v, struct grant *g, struct diag *diag)
{
	const struct value *found;
	struct grant_host *hosts;
	int r = get_kind(v, "hosts", VALUE_ARRAY, &found, diag);

	if (r != 0)
		return r;
	hosts = arena_alloc_array(a, found->size, sizeof(*hosts));
	if (!hosts)
		return -ENOMEM;
	for (size_t i = 0; i < found->size; i++) {
		uint64_t port;

		if ((r = expect_map(&found->items[i], 3, "an entry of hosts", diag)) != 0 ||
			(r = get_text(&found->items[i], "host", &hosts[i].host, diag)) != 0 ||
			(r = get_uint(&found->items[i], "port", UINT16_MAX, &port, diag)) != 0 ||
			(r = get_bool(&found->items[i], "private", &hosts[i].private_ok, diag)) !=
				0)
			return r;
		hosts[i].port = (uint16_t)port;
	}
	g->hosts = hosts;
	g->n_hosts = found->size;
	return 0;
}

static int get_secrets(struct arena *a, const struct value *v, struct grant *g, struct diag *diag)
{
	const struct value *found;
	struct grant_secret *secrets;
	int r = get_kind(v, "secrets", VALUE_ARRAY, &found, diag);

	if (r != 0)
		return r;
	secrets = arena_alloc_array(a, found->size, sizeof(*secrets));
	if (!secrets)
		return -ENOMEM;
	for (size_t i = 0; i < found->size; i++) {
		unsigned kind;

		if ((r = expect_map(&found->items[i], 4, "an entry of secrets", diag)) != 0 ||
			(r = get_enum(&found->items[i], "kind", secret_names, GRANT_SECRET_N_,
				 &kind, diag)) != 0 ||
			(r = get_text(&found->items[i], "name", &secrets[i].name, diag)) != 0 ||
			(r = get_text(&found->items[i], "source", &secrets[i].source, diag)) != 0 ||
			(r = get_text(&found->items[i], "host", &secrets[i].host, diag)) != 0)
			return r;
		secrets[i].kind = (enum grant_secret_kind)kind;
	}
	g->secrets = secrets;
	g->n_secrets = found->size;
	return 0;
}

static int get_limits(const struct value *v, struct grant_limits *limits, struct diag *diag)
{
	const struct value *found;
	int r = get_kind(v, "limits", VALUE_MAP, &found, diag);

	if (r == 0)
		r = expect_map(found, N_ELEMENTS(limit_fields), "limits", diag);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(limit_fields); i++) {
		uint64_t n;

		r = get_uint(found, limit_fields[i].name, INT64_MAX, &n, diag);
		if (r == 0)
			memcpy((char *)limits + limit_fields[i].offset, &n, sizeof(n));
	}
	return r;
}

static int get_modes(const struct value *v, struct grant *g, struct diag *diag)
{
	unsigned net, armed, git;
	int r;

	if ((r = get_enum(v, "net", net_names, GRANT_NET_N_, &net, diag)) != 0 ||
		(r = get_enum(v, "armed", armed_names, GRANT_ARMED_N_, &armed, diag)) != 0 ||
		(r = get_enum(v, "git", git_names, GRANT_GIT_N_, &git, diag)) != 0)
		return r;
	g->net = (enum grant_net)net;
	g->armed = (enum grant_armed)armed;
	g->git = (enum grant_git)git;
	return 0;
}

int grant_from_value(
	struct arena *a, const struct value *v, struct grant *ret_grant, struct diag *reterr_diag)
{
	struct grant g = { 0 };
	struct diag *diag = reterr_diag;
	int r;

	if ((r = expect_map(v, 14, "the grant", diag)) != 0 ||
		(r = get_text(v, "profile", &g.profile, diag)) != 0 ||
		(r = get_texts(a, v, "roots", &g.roots, &g.n_roots, diag)) != 0 ||
		(r = get_paths(a, v, &g, diag)) != 0 ||
		(r = get_bool(v, "system_readable", &g.system_readable, diag)) != 0 ||
		(r = get_modes(v, &g, diag)) != 0 || (r = get_hosts(a, v, &g, diag)) != 0 ||
		(r = get_texts(a, v, "unix_sockets", &g.unix_sockets, &g.n_unix_sockets, diag)) !=
			0 ||
		(r = get_secrets(a, v, &g, diag)) != 0 ||
		(r = get_bool(v, "may_spawn", &g.may_spawn, diag)) != 0 ||
		(r = get_bool(v, "interpreters", &g.interpreters, diag)) != 0 ||
		(r = get_texts(a, v, "exec", &g.exec, &g.n_exec, diag)) != 0 ||
		(r = get_limits(v, &g.limits, diag)) != 0 || (r = grant_check(&g, diag)) != 0)
		return r;
	*ret_grant = g;
	return 0;
}
