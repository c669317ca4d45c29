#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/plan.h"
#include "sandbox/runner/run_plan.h"

/* What the namespace has of its own. */
static bool is_private(const char *path)
{
	static const char *const own[] = { "/proc", "/dev/pts", "/dev/ptmx", "/dev/shm", "/dev/fd",
		"/tmp", "/var/tmp", "/dev/tty" };

	for (size_t i = 0; i < N_ELEMENTS(own); i++) {
		size_t n = strlen(own[i]);

		/* A place beneath /tmp may well be granted; beneath the others nothing can be. */
		if (strcmp(path, own[i]) == 0 ||
			(i < 5 && strncmp(path, own[i], n) == 0 && path[n] == '/'))
			return true;
	}
	return false;
}

static bool is_beneath(const char *path, const char *place)
{
	size_t n = strlen(place);

	return strncmp(path, place, n) == 0 && path[n] == '/';
}

static int by_depth(const void *x, const void *y)
{
	const struct job_bind *a = x, *b = y;
	size_t n_a = strlen(a->path), n_b = strlen(b->path);

	return n_a < n_b ? -1 : n_a > n_b ? 1 : strcmp(a->path, b->path);
}

static enum job_bind_kind kind_of(uint32_t rights)
{
	return rights & (PLAN_WRITE | PLAN_CREATE | PLAN_DELETE) ? JOB_BIND_WRITABLE
								 : JOB_BIND_READONLY;
}

/* The nearest bind above says whether a place is there anyway, in the same way. */
static bool is_covered(const struct job_bind *binds, size_t n, const struct job_bind *bind)
{
	const struct job_bind *nearest = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(binds[i].path, bind->path) == 0 && binds[i].kind >= bind->kind)
			return true;
		if (is_beneath(bind->path, binds[i].path))
			nearest = &binds[i];
	}
	return nearest && nearest->kind == bind->kind;
}

static int add_hidden(const struct grant *g, struct arena *m, struct job_bind *binds, size_t *n)
{
	for (size_t i = 0; i < g->n_paths; i++) {
		const struct grant_path *p = &g->paths[i];

		if (!p->hide)
			continue;
		if (*n == JOB_BINDS_MAX)
			return -E2BIG;
		binds[*n] = (struct job_bind){ JOB_BIND_HIDE,
			arena_printf(m, "%s/%s", g->roots[p->root], p->path), true };
		if (!binds[(*n)++].path)
			return -ENOMEM;
	}
	return 0;
}

static int add_armed(struct il_run_plan *p, struct job_bind *binds, size_t *n)
{
#ifdef MUTATION_ARMED_BINDS
	return 0;
#endif
	for (size_t i = 0; i < p->armed.n_entries; i++) {
		if (*n == JOB_BINDS_MAX)
			return -E2BIG;
		/* A link cannot be bound; it is watched. */
		if (!S_ISREG(p->armed.entries[i].mode))
			continue;
		binds[*n] = (struct job_bind){ JOB_BIND_ARMED,
			arena_printf(&p->memory, "%s/%s", p->armed.root, p->armed.entries[i].path),
			true };
		if (!binds[(*n)++].path)
			return -ENOMEM;
	}
	return 0;
}

int run_binds(
	struct il_run_plan *p, const struct grant *g, struct job_bind **ret_binds, size_t *ret_n)
{
	struct job_bind *binds = arena_alloc_array(&p->memory, JOB_BINDS_MAX, sizeof(*binds));
	struct job_bind *all = arena_alloc_array(&p->memory, PLAN_PLACES_MAX, sizeof(*all));
	size_t n = 0, n_all = 0;
	int r;

	if (!binds || !all)
		return -ENOMEM;
	for (size_t i = 0; i < p->sandbox->n_places; i++) {
		const struct plan_place *place = &p->sandbox->places[i];

		if (!is_private(place->path))
			all[n_all++] = (struct job_bind){ kind_of(place->rights), place->path,
				place->optional };
	}
	qsort(all, n_all, sizeof(*all), by_depth);
	for (size_t i = 0; i < n_all; i++) {
		if (!is_covered(binds, n, &all[i]))
			binds[n++] = all[i];
	}
	for (size_t i = 0; i < g->n_unix_sockets; i++) {
		if (n == JOB_BINDS_MAX)
			return -E2BIG;
		binds[n++] = (struct job_bind){ JOB_BIND_WRITABLE, g->unix_sockets[i], false };
	}
	r = add_armed(p, binds, &n);
	if (r == 0)
		r = add_hidden(g, &p->memory, binds, &n);
	*ret_binds = binds;
	*ret_n = n;
	return r;
}
