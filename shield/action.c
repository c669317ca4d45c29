#include <string.h>

#include "base/utf8.h"
#include "shield/action.h"
#include "shield/action_table.h"

const struct il_action_type *il_action_types(size_t *ret_n)
{
	*ret_n = action_n_rows;
	return action_rows;
}

const struct il_action_type *il_action_type_find(const char *name)
{
	for (size_t i = 0; i < action_n_aliases; i++) {
		if (strcmp(action_aliases[i].alias, name) == 0) {
			name = action_aliases[i].name;
			break;
		}
	}
	for (size_t i = 0; i < action_n_rows; i++) {
		if (strcmp(action_rows[i].name, name) == 0)
			return &action_rows[i];
	}
	return NULL;
}

static const struct il_field *field_find(const struct il_action_type *type, const char *name)
{
	for (const struct il_field *f = type->fields; f->name; f++) {
		if (strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

/* A field's own name always wins over a second name. */
static const struct il_field *field_resolve(const struct il_action_type *type, const char *name)
{
	const struct il_field *f = field_find(type, name);

	for (size_t i = 0; !f && i < action_n_field_aliases; i++) {
		const struct action_field_alias *alias = &action_field_aliases[i];

		if (strcmp(alias->alias, name) == 0 &&
			(!alias->action || strcmp(alias->action, type->name) == 0))
			f = field_find(type, alias->name);
	}
	return f;
}

static int check_text(const struct il_field *f, const struct value *v, struct diag *diag)
{
	size_t limit = f->size_max ? f->size_max : 4096;

	if (v->kind != VALUE_TEXT)
		return diag_set(diag, IL_ACTION_E_FIELD, 0, 0, "field \"%s\" must be text, not %s",
			f->name, value_kind_name(v->kind));
	if (v->size > limit)
		return diag_set(diag, IL_ACTION_E_FIELD, 0, 0,
			"field \"%s\" has %zu bytes, more than the %zu allowed", f->name, v->size,
			limit);
	if (memchr(v->text, '\0', v->size))
		return diag_set(
			diag, IL_ACTION_E_FIELD, 0, 0, "field \"%s\" contains a NUL byte", f->name);
	if (!is_utf8(v->text, v->size))
		return diag_set(
			diag, IL_ACTION_E_FIELD, 0, 0, "field \"%s\" is not valid UTF-8", f->name);
	if (v->size == 0 && (f->type == IL_FIELD_PATH || f->type == IL_FIELD_PATHS ||
				    f->type == IL_FIELD_HOST_URL))
		return diag_set(diag, IL_ACTION_E_FIELD, 0, 0, "field \"%s\" is empty", f->name);
	return 0;
}

static int check_texts(const struct il_field *f, const struct value *v, struct diag *diag)
{
	size_t limit = f->count_max ? f->count_max : 256;

	if (v->kind != VALUE_ARRAY)
		return diag_set(diag, IL_ACTION_E_FIELD, 0, 0,
			"field \"%s\" must be an array of text, not %s", f->name,
			value_kind_name(v->kind));
	if (v->size > limit || (v->size == 0 && f->type == IL_FIELD_COMMAND))
		return diag_set(diag, IL_ACTION_E_FIELD, 0, 0,
			"field \"%s\" has %zu items, allowed are 1 to %zu", f->name, v->size,
			limit);
	for (size_t i = 0; i < v->size; i++) {
		/* Arguments of a command may well be empty; paths may not. */
		struct il_field item = *f;

		if (f->type == IL_FIELD_COMMAND)
			item.type = IL_FIELD_TEXTS;
		int r = check_text(&item, &v->items[i], diag);

		if (r != 0)
			return r;
	}
	return 0;
}

static int check_int(const struct il_field *f, const struct value *v, struct diag *diag)
{
	if (v->kind != VALUE_INT)
		return diag_set(diag, IL_ACTION_E_FIELD, 0, 0,
			"field \"%s\" must be a number, not %s", f->name, value_kind_name(v->kind));
	if (v->integer < f->min || v->integer > f->max)
		return diag_set(diag, IL_ACTION_E_FIELD, 0, 0,
			"field \"%s\" is %lld, allowed are %lld to %lld", f->name,
			(long long)v->integer, (long long)f->min, (long long)f->max);
	return 0;
}

/* Every text anywhere beneath is checked, so that no decoder can be surprised later. */
static int check_any(const struct il_field *f, const struct value *v, struct diag *diag)
{
	struct il_field text = { .name = f->name, .type = IL_FIELD_TEXT, .size_max = 1U << 20 };
	int r = 0;

	switch (v->kind) {
	case VALUE_TEXT:
		return check_text(&text, v, diag);
	case VALUE_ARRAY:
		for (size_t i = 0; r == 0 && i < v->size; i++)
			r = check_any(f, &v->items[i], diag);
		return r;
	case VALUE_MAP:
		for (size_t i = 0; r == 0 && i < v->size; i++)
			r = check_any(f, v->pairs[i].value, diag);
		return r;
	case VALUE_NIL:
	case VALUE_BOOL:
	case VALUE_INT:
	case VALUE_BIN:
	case VALUE_N_:
		break;
	}
	return 0;
}

static int check_field(const struct il_field *f, const struct value *v, struct diag *diag)
{
	switch (f->type) {
	case IL_FIELD_TEXT:
	case IL_FIELD_PATH:
	case IL_FIELD_HOST_URL:
		return check_text(f, v, diag);
	case IL_FIELD_BOOL:
		if (v->kind == VALUE_BOOL)
			return 0;
		return diag_set(diag, IL_ACTION_E_FIELD, 0, 0,
			"field \"%s\" must be true or false, not %s", f->name,
			value_kind_name(v->kind));
	case IL_FIELD_INT:
		return check_int(f, v, diag);
	case IL_FIELD_TEXTS:
	case IL_FIELD_PATHS:
		return check_texts(f, v, diag);
	case IL_FIELD_COMMAND:
		return v->kind == VALUE_ARRAY ? check_texts(f, v, diag) : check_text(f, v, diag);
	case IL_FIELD_ANY:
		return check_any(f, v, diag);
	case IL_FIELD_N_:
		break;
	}
	return -EINVAL;
}

static int check_required(
	const struct il_action_type *type, const struct value *payload, struct diag *diag)
{
	for (const struct il_field *f = type->fields; f->name; f++) {
		if (f->required && !value_get(payload, f->name))
			return diag_set(diag, IL_ACTION_E_FIELD, 0, 0,
				"field \"%s\" of %s is missing", f->name, type->name);
	}
	return 0;
}

int il_action_check(struct arena *a, const char *name, const struct value *payload,
	const struct il_action_type **ret_type, const struct value **ret_payload,
	struct diag *reterr_diag)
{
	const struct il_action_type *type = il_action_type_find(name);
	struct value *map = NULL;
	int r = 0;

	if (!type)
		return diag_set(reterr_diag, IL_ACTION_E_UNKNOWN, 0, 0,
			"there is no action \"%.64s\"", name);
	if (!payload || payload->kind != VALUE_MAP)
		return diag_set(reterr_diag, IL_ACTION_E_FIELD, 0, 0,
			"the payload of %s must be a map", type->name);
	map = value_map(a, payload->size);
	if (!map)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < payload->size; i++) {
		const struct value_pair *pair = &payload->pairs[i];
		const struct il_field *f = field_resolve(type, pair->key);

		if (!f)
			return diag_set(reterr_diag, IL_ACTION_E_FIELD, 0, 0,
				"%s has no field \"%.64s\"", type->name, pair->key);
		if (value_get(map, f->name))
			return diag_set(reterr_diag, IL_ACTION_E_FIELD, 0, 0,
				"field \"%s\" is there twice (as \"%.64s\")", f->name, pair->key);
		r = check_field(f, pair->value, reterr_diag);
		if (r == 0)
			r = value_put(map, f->name, pair->value);
	}
	if (r == 0)
		r = check_required(type, map, reterr_diag);
	if (r != 0)
		return r;
	*ret_type = type;
	*ret_payload = map;
	return 0;
}
