#include <stdlib.h>
#include <string.h>

#include "base/arms.h"
#include "base/canon.h"
#include "shield/command.h"
#include "shield/judgement.h"
#include "shield/path.h"

#define ANALYSIS_EFFECTS_MAX 1024

/* Effects and wanted facts while they are collected. */
struct collector {
	struct arena *arena;
	const struct il_action *action;
	struct path_origin origin;
	bool recursive;
	struct effect *effects;
	size_t n_effects, effects_capacity;
	struct il_fact_wanted *wanted;
	size_t n_wanted, wanted_capacity;
};

static int collect_effect(struct collector *c, const struct effect *e)
{
	if (c->n_effects == ANALYSIS_EFFECTS_MAX)
		return -E2BIG;
	if (c->n_effects == c->effects_capacity) {
		size_t capacity = c->effects_capacity ? c->effects_capacity * 2 : 8;
		struct effect *grown = arena_alloc_array(c->arena, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (c->n_effects > 0)
			memcpy(grown, c->effects, c->n_effects * sizeof(*grown));
		c->effects = grown;
		c->effects_capacity = capacity;
	}
	c->effects[c->n_effects++] = *e;
	return 0;
}

static int collect_wanted(struct collector *c, enum il_fact_kind kind, const char *subject)
{
	for (size_t i = 0; i < c->n_wanted; i++) {
		if (c->wanted[i].kind == kind && strcmp(c->wanted[i].subject, subject) == 0)
			return 0;
	}
	if (c->n_wanted == c->wanted_capacity) {
		size_t capacity = c->wanted_capacity ? c->wanted_capacity * 2 : 8;
		struct il_fact_wanted *grown =
			arena_alloc_array(c->arena, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (c->n_wanted > 0)
			memcpy(grown, c->wanted, c->n_wanted * sizeof(*grown));
		c->wanted = grown;
		c->wanted_capacity = capacity;
	}
	c->wanted[c->n_wanted++] = (struct il_fact_wanted){ .kind = kind, .subject = subject };
	return 0;
}

static int analyse_path(struct collector *c, const struct il_field *f, const char *text)
{
	struct effect e = { .kind = f->effect, .certainty = EFFECT_CERTAIN, .field = f->name };

	e.recursive = c->recursive;
	e.object = path_canon(c->arena, &c->origin, text);
	if (!e.object)
		return strlen(text) > PATH_TEXT_MAX ? -E2BIG : -ENOMEM;
	int r = collect_wanted(c, IL_FACT_PATH, e.object);

	return r == 0 ? collect_effect(c, &e) : r;
}

/* "https://user@host:port/..." → the host that is really contacted. */
static const char *url_host(struct arena *a, const char *url, uint16_t *ret_port)
{
	const char *at = strstr(url, "://");
	const char *end, *user, *colon;
	size_t n;

	*ret_port = strncmp(url, "http:", 5) == 0 ? 80 : 443;
	at = at ? at + 3 : url;
	end = at + strcspn(at, "/?#\\");
	user = memrchr(at, '@', (size_t)(end - at));
	if (user)
		at = user + 1;
	if (*at == '[') {
		const char *close = memchr(at, ']', (size_t)(end - at));

		if (!close)
			return NULL;
		n = (size_t)(close - at - 1);
		colon = close + 1;
		at++;
	} else {
		colon = memchr(at, ':', (size_t)(end - at));
		n = (size_t)((colon ? colon : end) - at);
	}
	if (colon && *colon == ':' && colon < end)
		*ret_port = (uint16_t)strtoul(colon + 1, NULL, 10);
	char *host = arena_text(a, at, n);

	for (char *p = host; p && *p; p++) {
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p + 32);
	}
	return host;
}

static int analyse_url(struct collector *c, const struct il_action_type *type, const char *url)
{
	struct effect e = { .kind = EFFECT_CONNECT, .certainty = EFFECT_CERTAIN, .field = "url" };
	const struct value *body = value_get(c->action->payload, "body");
	const char *method = value_get_text(c->action->payload, "method");
	int r;

	e.object = url_host(c->arena, url, &e.port);
	if (!e.object) {
		e.kind = EFFECT_OPAQUE;
		e.object = "the host of the address cannot be read";
	}
	r = collect_effect(c, &e);
	if (r != 0 || type->sink != IL_SINK_EXTERNAL ||
		(!body && (!method || strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)))
		return r;
	e.kind = EFFECT_SEND;
	e.target = e.object;
	e.object = "literal";
	e.field = body ? "body" : "url";
	return collect_effect(c, &e);
}

static int analyse_field(struct collector *c, const struct il_action_type *type,
	const struct il_field *f, const struct value *v)
{
	int r = 0;

	if (f->type == IL_FIELD_PATH)
		return analyse_path(c, f, v->text);
	if (f->type == IL_FIELD_HOST_URL)
		return analyse_url(c, type, v->text);
	if (f->type == IL_FIELD_PATHS) {
		for (size_t i = 0; r == 0 && i < v->size; i++)
			r = analyse_path(c, f, v->items[i].text);
	}
	return r;
}

/* What an action does besides its path fields. */
static int analyse_kind(struct collector *c, const struct il_action_type *type)
{
	struct effect e = { .certainty = EFFECT_CERTAIN, .field = "" };
	int r = 0;

	if (strcmp(type->group, "agents") == 0 && type->mutates) {
		e.kind = EFFECT_SPAWN_AGENT;
		e.object = type->name;
	} else if (strcmp(type->group, "schedule") == 0 && type->mutates) {
		e.kind = EFFECT_SCHEDULE;
		e.object = type->name;
	} else if (strcmp(type->name, "memory_write") == 0) {
		e.kind = EFFECT_REMEMBER;
		e.object = "memory";
	} else if (type->sink == IL_SINK_EXTERNAL && strcmp(type->name, "http_request") != 0 &&
		   strcmp(type->name, "git_push") != 0) {
		e.kind = EFFECT_SEND;
		e.object = "literal";
		e.target = type->name;
	} else {
		return 0;
	}
	r = collect_effect(c, &e);
	return r;
}

/* The repository of a git action, and what git does with it. */
static int analyse_git(struct collector *c, const struct il_action_type *type, const struct value *payload)
{
	const char *path = value_get_text(payload, "path");
	const char *remote = value_get_text(payload, "remote");
	struct effect e = { .kind = EFFECT_READ, .certainty = EFFECT_CERTAIN, .recursive = true };
	const char *root;
	int r;

	if (strcmp(type->name, "git_clone") == 0)
		return 0;
	root = path_canon(c->arena, &c->origin, path ? path : c->action->workspace);
	e.object = root;
	e.field = "path";
	if (!e.object)
		return -ENOMEM;
	r = collect_wanted(c, IL_FACT_GIT, e.object);
	if (r == 0 && !path)
		r = collect_effect(c, &e);
	if (r == 0 && (strcmp(type->name, "git_checkout") == 0 || strcmp(type->name, "git_pull") == 0)) {
		e.kind = EFFECT_WRITE;
		r = collect_effect(c, &e);
	}
	if (r == 0 && type->mutates) {
		e.kind = EFFECT_WRITE;
		e.recursive = true;
		e.object = arena_printf(c->arena, "%s/.git", root);
		r = e.object ? collect_effect(c, &e) : -ENOMEM;
	}
	if (r == 0 && type->open_world) {
		e = (struct effect){ .kind = EFFECT_CONNECT, .certainty = EFFECT_CERTAIN, .field = "remote" };
		e.object = arena_printf(c->arena, "remote:%s", remote ? remote : "origin");
		r = e.object ? collect_effect(c, &e) : -ENOMEM;
	}
	if (r == 0 && strcmp(type->name, "git_push") == 0) {
		e.kind = EFFECT_SEND;
		e.target = e.object;
		e.object = "commits";
		r = collect_effect(c, &e);
	}
	return r;
}

static int analyse_command(struct collector *c, const struct il_action_type *type,
	const struct value *payload, struct analysis_detail *detail)
{
	const struct value *v = value_get(payload, "command");
	struct command_context context = { .cwd = c->origin.cwd, .workspace = c->action->workspace,
					   .home = c->action->home, .field = "command",
					   .case_insensitive = c->action->case_insensitive };
	const char **argv;

	(void)type;
	detail->is_command = true;
	if (v->kind == VALUE_TEXT)
		return command_analyse(c->arena, &context, v->text, v->size, &detail->command);
	argv = arena_alloc_array(c->arena, v->size + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (size_t i = 0; i < v->size; i++)
		argv[i] = v->items[i].text;
	return command_analyse_argv(c->arena, &context, argv, v->size, &detail->command);
}

static int analyse_effects(struct collector *c, const struct il_action_type *type,
	const struct value *payload, struct analysis_detail *detail)
{
	const char *cwd = type->executable ? value_get_text(payload, "cwd") : NULL;
	int r = 0;

	if (type->recursive_field) {
		const struct value *v = value_get(payload, type->recursive_field);

		c->recursive = v && v->boolean;
	}
	for (const struct il_field *f = type->fields; r == 0 && f->name; f++) {
		const struct value *v = value_get(payload, f->name);

		if (v && !(type->group[0] == 's' && f->effect == EFFECT_LIST))
			r = analyse_field(c, type, f, v);
	}
	if (cwd && r == 0) {
		c->origin.cwd = path_canon(c->arena, &c->origin, cwd);
		r = c->origin.cwd ? 0 : -ENOMEM;
	}
	detail->cwd = c->origin.cwd;
	if (r == 0)
		r = analyse_kind(c, type);
	if (r == 0 && strcmp(type->group, "git") == 0)
		r = analyse_git(c, type, payload);
	if (r == 0 && strcmp(type->name, "grep_files") == 0 && !value_get(payload, "path")) {
		struct effect e = { .kind = EFFECT_READ, .certainty = EFFECT_CERTAIN, .recursive = true,
				    .object = c->action->workspace, .field = "path" };

		r = collect_effect(c, &e);
	}
	if (r == 0 && type->sink == IL_SINK_EXEC && value_get(payload, "command"))
		r = analyse_command(c, type, payload, detail);
	return r;
}

/* The command's own effects and wishes come behind those of the fields. */
static int merge_command(struct collector *c, const struct analysis_detail *detail)
{
	int r = 0;

	if (!detail->is_command)
		return 0;
	for (size_t i = 0; r == 0 && i < detail->command.n_effects; i++)
		r = collect_effect(c, &detail->command.effects[i]);
	for (size_t i = 0; r == 0 && i < detail->command.n_wanted; i++)
		r = collect_wanted(
			c, detail->command.wanted[i].kind, detail->command.wanted[i].subject);
	return r;
}

static bool is_absolute(const char *path)
{
	return path && path[0] == '/';
}

int il_analyse(struct arena *a, const struct il_action *action, struct il_analysis *ret_analysis)
{
	struct collector c = { .arena = a, .action = action };
	struct analysis_detail *detail = arena_alloc(a, sizeof(*detail));
	struct il_analysis analysis = { .action = action };
	struct diag diag = { 0 };
	int r;

	if (!detail)
		return -ENOMEM;
	analysis.detail = detail;
	analysis.payload = action->payload;
	r = canon_action_hash(action->type, action->payload, analysis.action_hash);
	if (r == 0 && (!is_absolute(action->cwd) || !is_absolute(action->workspace) ||
			      !is_absolute(action->home))) {
		analysis.refused = "cwd, workspace and home must be absolute paths";
		*ret_analysis = analysis;
		return 0;
	}
	if (r == 0)
		r = il_action_check(a, action->type, action->payload, &analysis.type,
			&analysis.payload, &diag);
	if (r > 0) {
		analysis.refused = arena_text(a, diag.text, strlen(diag.text));
		analysis.payload = action->payload;
		if (!analysis.refused)
			return -ENOMEM;
		*ret_analysis = analysis;
		return 0;
	}
	if (r == 0) {
		c.origin = (struct path_origin){ .cwd = action->cwd, .home = action->home };
		c.recursive = analysis.type->recursive;
		r = analyse_effects(&c, analysis.type, analysis.payload, detail);
	}
	if (r == 0)
		r = merge_command(&c, detail);
	if (r == -E2BIG) {
		analysis.refused = "the action is larger than what can be analysed";
		*ret_analysis = analysis;
		return 0;
	}
	if (r != 0)
		return r;
	analysis.effects = c.effects;
	analysis.n_effects = c.n_effects;
	analysis.wanted = c.wanted;
	analysis.n_wanted = c.n_wanted;
	*ret_analysis = analysis;
	return 0;
}
