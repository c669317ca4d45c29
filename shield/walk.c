/* What a walk knows and collects. */
#include "shield/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arms.h"
#include "base/num.h"

/* A list in the arena that doubles; NULL when it may not grow. */
static void *grow(struct walk *w, void *old, size_t n, size_t size, size_t *capacity, size_t most)
{
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *grown;

	if (n < *capacity)
		return old;
	if (n >= most) {
		w->error = -E2BIG;
		return NULL;
	}
	grown = arena_alloc_array(w->arena, wanted, size);
	if (!grown) {
		w->error = -ENOMEM;
		return NULL;
	}
	if (n > 0)
		memcpy(grown, old, n * size);
	*capacity = wanted;
	return grown;
}

void walk_effect(struct walk *w, enum effect_kind kind, const char *object, const char *target,
	bool recursive)
{
	struct effect *grown;

	if (!object) {
		w->error = w->error ? w->error : -ENOMEM;
		return;
	}
	grown = grow(w, w->effects, w->n_effects, sizeof(*grown), &w->effects_capacity,
		WALK_EFFECTS_MAX);
	if (!grown)
		return;
	w->effects = grown;
	w->effects[w->n_effects++] = (struct effect){ .kind = kind,
		.certainty = EFFECT_CERTAIN,
		.recursive = recursive,
		.object = object,
		.target = target,
		.field = w->context->field,
		.origin_at = w->at,
		.origin_size = w->size };
}

void walk_connect(struct walk *w, const char *host, uint16_t port)
{
	walk_effect(w, EFFECT_CONNECT, host, NULL, false);
	if (w->error == 0)
		w->effects[w->n_effects - 1].port = port;
	w->needs_network = true;
}

void walk_send(struct walk *w, const char *what, const char *sink)
{
	walk_effect(w, EFFECT_SEND, what, sink, false);
}

void walk_opaque(struct walk *w, const char *why)
{
	w->opaque = true;
	walk_effect(w, EFFECT_OPAQUE, why, NULL, false);
}

void walk_note(struct walk *w, const char *id, const char *text)
{
	struct command_note *grown =
		grow(w, w->notes, w->n_notes, sizeof(*grown), &w->notes_capacity, WALK_EFFECTS_MAX);

	if (!grown || !text)
		return;
	w->notes = grown;
	w->notes[w->n_notes++] =
		(struct command_note){ .id = id, .text = text, .at = w->at, .size = w->size };
}

void walk_want(struct walk *w, enum il_fact_kind kind, const char *subject)
{
	struct il_fact_wanted *grown;

	for (size_t i = 0; i < w->n_wanted; i++) {
		if (w->wanted[i].kind == kind && strcmp(w->wanted[i].subject, subject) == 0)
			return;
	}
	if (w->n_wanted >= 256)
		return; /* the judge takes facts that were not gathered for the worst */
	grown = grow(
		w, w->wanted, w->n_wanted, sizeof(*grown), &w->wanted_capacity, WALK_EFFECTS_MAX);
	if (!grown)
		return;
	w->wanted = grown;
	w->wanted[w->n_wanted++] = (struct il_fact_wanted){ .kind = kind, .subject = subject };
}

const struct il_fact *walk_fact(const struct walk *w, enum il_fact_kind kind, const char *subject)
{
	for (size_t i = 0; i < w->context->n_facts; i++) {
		const struct il_fact *f = &w->context->facts[i];

		if (f->kind == kind && strcmp(f->subject, subject) == 0)
			return f;
	}
	return NULL;
}

const struct variable *walk_variable(const struct walk *w, const char *name)
{
	for (size_t i = w->n_variables; i > 0; i--) {
		if (strcmp(w->variables[i - 1].name, name) == 0)
			return &w->variables[i - 1];
	}
	return NULL;
}

void walk_assign(struct walk *w, const char *name, const char *value, bool glob)
{
	if (value && strlen(value) > WALK_VALUE_MAX)
		value = NULL;
	for (size_t i = 0; i < w->n_variables; i++) {
		if (strcmp(w->variables[i].name, name) == 0) {
			w->variables[i].value = value;
			w->variables[i].glob = glob;
			return;
		}
	}
	if (w->n_variables < WALK_VARIABLES_MAX)
		w->variables[w->n_variables++] =
			(struct variable){ .name = name, .value = value, .glob = glob };
}

/* A pattern stands for what it may match: everything beneath the directory before its first special
 * character. */
static const char *glob_directory(struct walk *w, const char *text)
{
	size_t n = strcspn(text, "*?[");

	while (n > 0 && text[n - 1] != '/')
		n--;
	if (n == 0)
		return ".";
	return arena_text(w->arena, text, n > 1 ? n - 1 : n);
}

const char *walk_path(struct walk *w, const struct argument *arg)
{
	struct path_origin origin = { .cwd = w->cwd ? w->cwd : w->origin.cwd,
		.home = w->origin.home };
	const char *text = arg->text;

	if (!text || text[0] == '\0')
		return NULL;
	if (!w->cwd && text[0] != '/' && text[0] != '~')
		return NULL;
	text = path_canon(w->arena, &origin, text);
	w->n_paths += text ? strlen(text) : 0;
	if (w->n_paths > WALK_PATHS_MAX)
		w->error = w->error ? w->error : -E2BIG;
	return text;
}

void walk_path_effect(
	struct walk *w, enum effect_kind kind, const struct argument *arg, bool recursive)
{
	const char *path = walk_path(w, arg);
	const char *what = NULL;

	if (!path) {
		/* Reading and writing unknown places is what the grant holds; the rest would be
		 * done to who knows what. */
		if (kind == EFFECT_DELETE || kind == EFFECT_RENAME || kind == EFFECT_ATTRIBUTES)
		{
			walk_opaque(w, "a path that cannot be known is deleted, moved or changed");
			if (kind == EFFECT_DELETE && recursive)
				walk_note(w, "NOTE-UNKNOWN-DELETE",
					"what is deleted with everything beneath cannot be known");
		}
		else if (arg->prefix && (arg->prefix[0] == '/' || arg->prefix[0] == '~') &&
			 arg->prefix[1] != '\0') {
			struct argument known = {
				.text = glob_directory(
					w, arena_printf(w->arena, "%s*", arg->prefix))
			};

			path = known.text ? walk_path(w, &known) : NULL;
			if (path && strcmp(path, "/") == 0 && kind != EFFECT_READ)
				walk_note(w, "NOTE-UNKNOWN-PATH", "what is written cannot be known");
			else if (path)
				walk_effect(w, kind, path, NULL, true);
		}
		return;
	}
	if (arg->glob && kind != EFFECT_DELETE) {
		struct argument dir = { .text = glob_directory(w, arg->text) };
		const char *beneath = dir.text ? walk_path(w, &dir) : NULL;

		walk_effect(w, kind, path, NULL, recursive);
		if (beneath && kind == EFFECT_READ && !strchr(path_name(path), '.'))
			walk_effect(w, EFFECT_LIST, beneath, NULL, false);
	} else {
		walk_effect(w, kind, path, NULL, recursive);
		walk_want(w, IL_FACT_PATH, path);
	}
	if (effect_kind_mutates(kind) && arms_match(path, &what) != ARMS_NOT)
		walk_effect(w, EFFECT_ARMS, path, what, false);
}

static bool is_host_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-' || c == '_';
}

/* host[:port] at text; lower case. */
static const char *take_host(struct walk *w, const char *text, size_t n, uint16_t *ret_port)
{
	size_t n_host = 0;
	char *host;

	if (n > 0 && text[0] == '[') {
		const char *close = memchr(text, ']', n);

		if (!close)
			return NULL;
		n_host = (size_t)(close - text) - 1;
		text++;
		n -= n_host + 2;
	} else {
		while (n_host < n && is_host_char(text[n_host]))
			n_host++;
		n -= n_host;
	}
	if (n_host == 0)
		return NULL;
	host = arena_text(w->arena, text, n_host);
	for (char *c = host; c && *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
	const char *rest = text + n_host + (text[n_host] == ']' ? 1 : 0);

	if (n > 1 && *rest == ':') {
		char digits[8] = "";
		uint32_t port;
		size_t k = 0;

		while (k + 1 < sizeof(digits) && k + 1 < n && rest[1 + k] >= '0' &&
			rest[1 + k] <= '9') {
			digits[k] = rest[1 + k];
			k++;
		}
		if (num_parse_u32(digits, 1, 65535, &port) == 0)
			*ret_port = (uint16_t)port;
	}
	return host;
}

const char *walk_host(struct walk *w, const struct argument *arg)
{
	const char *text = arg->text ? arg->text : arg->prefix;
	const char *scheme = text ? strstr(text, "://") : NULL;
	uint16_t port = 0;
	const char *host, *at, *user;
	size_t n;

	if (!text || text[0] == '-')
		return NULL;
	at = scheme ? scheme + 3 : text;
	if (scheme && strncmp(text, "file:", 5) == 0)
		return NULL;
	if (scheme)
		port = strncmp(text, "http:", 5) == 0  ? 80
		       : strncmp(text, "ssh:", 4) == 0 ? 22
		       : strncmp(text, "ftp:", 4) == 0 ? 21
						       : 443;
	n = strcspn(at, "/?#\\");
	user = n > 0 ? memrchr(at, '@', n) : NULL;
	if (user) {
		n -= (size_t)(user + 1 - at);
		at = user + 1;
	}
	host = take_host(w, at, n, &port);
	if (!host)
		return NULL;
	walk_connect(w, host, port);
	return host;
}
