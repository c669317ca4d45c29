#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/runner/run_plan.h"

/* Taken from our own environment where set: none of them names a program or a library. */
static const char *const passed[] = { "TERM", "COLORTERM", "NO_COLOR", "TZ", "LC_ALL", "LC_CTYPE",
	"USER", "LOGNAME", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
	"GIT_COMMITTER_EMAIL", "SOURCE_DATE_EPOCH" };

struct list {
	struct arena *memory;
	char **items;
	size_t n;
};

static bool is_name(const char *text, size_t n)
{
	if (n == 0 || (text[0] >= '0' && text[0] <= '9'))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '=' || text[i] <= ' ' || text[i] == 0x7f)
			return false;
	}
	return true;
}

/* The last one said wins. */
static int put(struct list *l, const char *name, size_t n_name, const char *value)
{
	char *text = arena_printf(l->memory, "%.*s=%s", (int)n_name, name, value);

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		if (strncmp(l->items[i], text, n_name + 1) == 0) {
			l->items[i] = text;
			return 0;
		}
	}
	if (l->n == JOB_ENV_MAX)
		return -E2BIG;
	l->items[l->n++] = text;
	return 0;
}

static int put_text(struct list *l, const char *name, const char *value)
{
	return put(l, name, strlen(name), value);
}

static int put_ours(struct list *l, const char *name)
{
	const char *value = getenv(name);

	return value ? put_text(l, name, value) : 0;
}

static int put_base(struct list *l, const struct il_run_plan *p)
{
	const char *private = p->private_dir ? p->private_dir : "/tmp";
	int r = put_text(l, "PATH", RUN_PATH);

	if (r == 0)
		r = put_text(l, "HOME", private);
	if (r == 0)
		r = put_text(l, "TMPDIR", private);
	if (r == 0)
		r = put_text(l, "LANG", "C.UTF-8");
	if (r == 0)
		r = put_text(l, "PWD", p->cwd);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(passed); i++)
		r = put_ours(l, passed[i]);
	return r;
}

/* Programs find the way out by these; nothing depends on their obeying. */
static int put_proxy(struct list *l)
{
	static const char *const http[] = { "http_proxy", "https_proxy", "HTTP_PROXY",
		"HTTPS_PROXY" };
	static const char proxy[] = "http://127.0.0.1:3128", socks[] = "socks5h://127.0.0.1:3128";
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(http); i++)
		r = put_text(l, http[i], proxy);
	if (r == 0)
		r = put_text(l, "all_proxy", socks);
	if (r == 0)
		r = put_text(l, "ALL_PROXY", socks);
	if (r == 0)
		r = put_text(l, "NODE_USE_ENV_PROXY", "1");
	return r;
}

static int put_asked(struct list *l, const struct il_run_command *c, struct diag *diag)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->n_pass_env; i++) {
		if (!is_name(c->pass_env[i], strlen(c->pass_env[i])) ||
			strncmp(c->pass_env[i], "INTERLOCK_", 10) == 0)
			return diag_set(
				diag, -EINVAL, 0, 0, "\"%.100s\" cannot be passed", c->pass_env[i]);
		r = put_ours(l, c->pass_env[i]);
	}
	for (size_t i = 0; r == 0 && i < c->n_env; i++) {
		size_t n = strcspn(c->env[i], "=");

		if (!c->env[i][n] || !is_name(c->env[i], n) ||
			strncmp(c->env[i], "INTERLOCK_", 10) == 0)
			return diag_set(diag, -EINVAL, 0, 0, "\"%.*s\" cannot be set",
				(int)(n > 100 ? 100 : n), c->env[i]);
		r = put(l, c->env[i], n, c->env[i] + n + 1);
	}
	return r;
}

int run_environment(struct il_run_plan *p, const struct il_run_command *command, char ***ret_envp,
	struct diag *reterr_diag)
{
	struct list l = { .memory = &p->memory };
	const char **names;
	int r;

	l.items = arena_alloc_array(l.memory, JOB_ENV_MAX + 1, sizeof(*l.items));
	names = arena_alloc_array(l.memory, JOB_ENV_MAX, sizeof(*names));
	if (!l.items || !names)
		return -ENOMEM;
	r = put_base(&l, p);
	if (r == 0 && p->egress_program[0])
		r = put_proxy(&l);
	if (r == 0)
		r = put_asked(&l, command, reterr_diag);
	if (r != 0)
		return r;
	for (size_t i = 0; i < l.n; i++) {
		names[i] = arena_text(l.memory, l.items[i], strcspn(l.items[i], "="));
		if (!names[i])
			return -ENOMEM;
	}
	p->env_names = names;
	p->n_env_names = l.n;
	*ret_envp = l.items;
	return 0;
}
