#include "engine/writers.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/pipeline.h"

#define PLACES_MAX 512

static const char *beneath(const char *path, const char *root)
{
	size_t n = strlen(root);

	if (strncmp(path, root, n) != 0 || (path[n] != '\0' && path[n] != '/'))
		return NULL;
	return path[n] == '/' ? path + n + 1 : path + n;
}

/* Shared with everybody on the machine: not ours to keep or to bring back. */
static bool is_shared(const char *path)
{
	return beneath(path, "/tmp") || beneath(path, "/var/tmp") || beneath(path, "/dev");
}

static int add(struct proposal *p, const char *root, const char *path, bool recursive, bool deletes)
{
	for (size_t i = 0; i < p->n_places; i++) {
		struct place *old = &p->places[i];

		if (strcmp(old->root, root) != 0 || strcmp(old->path, path) != 0)
			continue;
		old->recursive |= recursive;
		old->deletes |= deletes;
		return 0;
	}
	if (p->n_places == PLACES_MAX)
		return -E2BIG;
	p->places[p->n_places++] = (struct place){ .root = root,
		.path = path,
		.recursive = recursive,
		.may_create = true,
		.deletes = deletes,
		.fd = -1 };
	return 0;
}

static int add_object(struct proposal *p, const char *object, bool recursive, bool deletes)
{
	const char *rest, *slash;
	char *root;

	if (!object || object[0] != '/')
		return 0;
	rest = beneath(object, p->engine->workspace);
	if (rest)
		return add(p, p->engine->workspace, rest, recursive, deletes);
	slash = strrchr(object, '/');
	root = slash == object ? arena_text(&p->arena, "/", 1)
			       : arena_text(&p->arena, object, (size_t)(slash - object));
	return root ? add(p, root, slash + 1, recursive, deletes) : -ENOMEM;
}

static int places_of_effects(struct proposal *p)
{
	for (size_t i = 0; i < p->verdict.n_effects; i++) {
		const struct effect *effect = &p->verdict.effects[i];
		const struct il_fact *fact = proposal_fact(p, effect->object);
		bool deletes = effect->kind == EFFECT_DELETE || effect->kind == EFFECT_RENAME;
		bool recursive =
			effect->recursive || (deletes && fact && fact->type == IL_FILE_DIRECTORY);
		int r;

		if (!effect_kind_mutates(effect->kind))
			continue;
		r = add_object(p, effect->object, recursive, deletes);
		if (r == 0 && effect->kind == EFFECT_RENAME)
			r = add_object(p, effect->target, recursive, false);
		if (r != 0)
			return r;
	}
	return 0;
}

static int places_of_grant(struct proposal *p)
{
	const struct grant *g = &p->verdict.grant;

	for (size_t i = 0; i < g->n_paths; i++) {
		const struct grant_path *path = &g->paths[i];
		const char *root = g->roots[path->root];
		int r;

		/* A workspace may lie beneath a shared directory and is captured all the same. */
		if ((path->rights & (GRANT_WRITE | GRANT_CREATE | GRANT_DELETE)) == 0 ||
			(is_shared(root) && strcmp(root, p->engine->workspace) != 0))
			continue;
		r = add(p, root, path->path, true, false);
		if (r != 0)
			return r;
	}
	return 0;
}

int places_of(struct proposal *p)
{
	p->places = arena_alloc_array(&p->arena, PLACES_MAX, sizeof(*p->places));
	p->n_places = 0;
	if (!p->places)
		return -ENOMEM;
	if (!p->analysis.type->mutates)
		return 0;
	return strcmp(p->analysis.type->group, "files") == 0 ? places_of_effects(p)
							     : places_of_grant(p);
}

static bool contains(const struct place *x, const struct place *y)
{
	size_t n_root = strlen(x->root);
	const char *rest;

	if (strncmp(y->root, x->root, n_root) != 0)
		return false;
	if (y->root[n_root] == '\0')
		rest = beneath(y->path, x->path);
	else if (x->path[0] == '\0' && (y->root[n_root] == '/' || strcmp(x->root, "/") == 0))
		rest = y->path;
	else
		return false;
	return x->path[0] == '\0' || (rest && (rest[0] == '\0' || x->recursive));
}

static bool overlap(const struct proposal *p, const struct proposal *q)
{
	for (size_t i = 0; i < p->n_places; i++) {
		for (size_t j = 0; j < q->n_places; j++) {
			if (contains(&p->places[i], &q->places[j]) ||
				contains(&q->places[j], &p->places[i]))
				return true;
		}
	}
	return false;
}

/* engine.proposals has the newest first; only those before p in time count. */
static bool is_blocked(const struct proposal *p)
{
	for (const struct proposal *q = p->engine->proposals; q; q = q->next) {
		if (q == p || q->n_places == 0)
			continue;
		if (q->holds_places && overlap(p, q))
			return true;
		if (q->waits_turn && q->number < p->number && overlap(p, q))
			return true;
	}
	return false;
}

bool writers_enter(struct proposal *p)
{
	if (p->n_places > 0 && is_blocked(p)) {
		p->waits_turn = true;
		return false;
	}
	p->waits_turn = false;
	p->holds_places = p->n_places > 0;
	return true;
}

static struct proposal *next_in_turn(struct engine *e)
{
	struct proposal *best = NULL;

	for (struct proposal *q = e->proposals; q; q = q->next) {
		if (q->waits_turn && (!best || q->number < best->number) &&
			(q->cancelled || !is_blocked(q)))
			best = q;
	}
	return best;
}

void writers_leave(struct proposal *p)
{
	struct engine *e = p->engine;
	struct proposal *next;

	p->holds_places = p->waits_turn = false;
	while ((next = next_in_turn(e)) != NULL) {
		next->waits_turn = false;
		next->holds_places = !next->cancelled;
		pipeline_run(next);
	}
}
