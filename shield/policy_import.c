/*
 * The reference system's policy files - deny, verify and allow lists of {name, action_types,
 * paths, tier_override} - written anew in this program's language. What it silently ignored is
 * refused here, with its place.
 */
#include <ctype.h>
#include <string.h>

#include "base/yaml.h"
#include "shield/path.h"
#include "shield/shield.h"

#define IMPORT_MAX ((size_t)4 << 20)

struct import {
	struct yaml_doc doc;
	struct buf out;
	struct diag *diag;
};

#define refuse(import_, value_, ...)                                                               \
	diag_set((import_)->diag, -EBADMSG, yaml_place_get(&(import_)->doc, (value_)).line,        \
		yaml_place_get(&(import_)->doc, (value_)).column, __VA_ARGS__)

/* JSON text is YAML text. */
static void put_quoted(struct buf *b, const char *text, size_t n)
{
	struct value v = { .kind = VALUE_TEXT, .text = text, .size = n };

	value_to_json(b, &v);
}

/* "C:\Windows" → "/c:/windows", "name" → "./name". */
static void put_path(struct buf *b, const char *path)
{
	auto_buf struct buf text = BUF_INIT(8192);

	if (isalpha((unsigned char)path[0]) && path[1] == ':') {
		buf_byte(&text, '/');
		for (const char *p = path; *p; p++)
			buf_byte(&text, *p == '\\' ? '/' : (uint8_t)tolower((unsigned char)*p));
	} else {
		if (!strchr("/~*.", path[0]) && !strchr(path, '/'))
			buf_text(&text, "./");
		buf_text(&text, path);
	}
	put_quoted(b, buf_get_text(&text), text.size);
}

static int import_list(struct import *m, const char *key, const struct value *v, bool paths)
{
	if (v->kind != VALUE_ARRAY)
		return refuse(m, v, "%s must be a list", key);
	if (v->size == 0)
		return 0;
	buf_printf(&m->out, "    %s: [", paths ? "paths" : "actions");
	for (size_t i = 0; i < v->size; i++) {
		const struct value *item = &v->items[i];
		const struct il_action_type *type;

		if (item->kind != VALUE_TEXT || item->size == 0 || item->size > 4096)
			return refuse(m, item, "%s holds texts only", key);
		buf_text(&m->out, i > 0 ? ", " : "");
		if (paths) {
			put_path(&m->out, item->text);
			continue;
		}
		type = il_action_type_find(item->text);
		if (!type)
			return refuse(m, item, "there is no action \"%.64s\"", item->text);
		buf_text(&m->out, type->name);
	}
	buf_text(&m->out, "]\n");
	return 0;
}

/* A rule without any condition speaks of every action. */
static void put_all_actions(struct import *m)
{
	size_t n;
	const struct il_action_type *types = il_action_types(&n);

	buf_text(&m->out, "    actions: [");
	for (size_t i = 0; i < n; i++)
		buf_printf(&m->out, "%s%s", i > 0 ? ", " : "", types[i].name);
	buf_text(&m->out, "]\n");
}

static int import_rule(struct import *m, const char *list, const struct value *rule)
{
	const struct value *name = value_get(rule, "name");
	const struct value *paths = value_get(rule, "paths");
	const struct value *types = value_get(rule, "action_types");
	const struct value *tier = value_get(rule, "tier_override");
	int r = 0;

	if (rule->kind != VALUE_MAP)
		return refuse(m, rule, "a rule is a map");
	for (size_t i = 0; i < rule->size; i++) {
		const char *key = rule->pairs[i].key;

		if (strcmp(key, "name") != 0 && strcmp(key, "paths") != 0 &&
			strcmp(key, "action_types") != 0 && strcmp(key, "tier_override") != 0 &&
			strcmp(key, "description") != 0)
			return refuse(m, rule->pairs[i].value, "a rule has no key \"%.64s\"", key);
	}
	if (!name || name->kind != VALUE_TEXT)
		return refuse(m, rule, "a rule needs a name");
	if (tier && (tier->kind != VALUE_INT || tier->integer < 0 || tier->integer > 3))
		return refuse(m, tier, "tier_override is 0 to 3");
	buf_text(&m->out, "  - name: ");
	put_quoted(&m->out, name->text, name->size);
	buf_byte(&m->out, '\n');
	if (strcmp(list, "verify") == 0 && tier && tier->integer > 0)
		buf_printf(&m->out, "    tier: %d\n", (int)tier->integer);
	if (types)
		r = import_list(m, "action_types", types, false);
	if (r == 0 && paths)
		r = import_list(m, "paths", paths, true);
	if (r == 0 && (!types || types->size == 0) && (!paths || paths->size == 0))
		put_all_actions(m);
	return r;
}

static int import_lists(struct import *m, const struct value *root)
{
	int r = 0;

	buf_text(&m->out, "version: 1\ndefault: ask\n");
	for (size_t i = 0; r == 0 && i < root->size; i++) {
		const char *key = root->pairs[i].key;
		const struct value *v = root->pairs[i].value;

		if (strcmp(key, "deny") != 0 && strcmp(key, "verify") != 0 &&
			strcmp(key, "allow") != 0)
			return refuse(m, v, "there is no list \"%.64s\"", key);
		if (v->kind == VALUE_NIL)
			continue;
		if (v->kind != VALUE_ARRAY)
			return refuse(m, v, "%s is a list of rules", key);
		buf_printf(&m->out, "%s:\n", key);
		for (size_t k = 0; r == 0 && k < v->size; k++)
			r = import_rule(m, key, &v->items[k]);
	}
	return r;
}

int il_policy_import(struct arena *a, const char *text, size_t n, const char **ret_yaml,
	struct diag *reterr_diag)
{
	struct import m = { .out = BUF_INIT(IMPORT_MAX), .diag = reterr_diag };
	const char *yaml = NULL;
	int r = yaml_parse(a, text, n, &m.doc, reterr_diag);

	if (r == 0 && (!m.doc.root || m.doc.root->kind != VALUE_MAP))
		r = diag_set(reterr_diag, -EBADMSG, 1, 1, "a policy is a map of lists");
	if (r == 0)
		r = import_lists(&m, m.doc.root);
	if (r == 0)
		r = buf_error(&m.out);
	if (r == 0) {
		yaml = arena_text(a, buf_get_text(&m.out), m.out.size);
		r = yaml ? 0 : -ENOMEM;
	}
	buf_done(&m.out);
	if (r == 0)
		*ret_yaml = yaml;
	return r;
}
