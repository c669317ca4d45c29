#include "engine/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/num.h"
#include "base/state.h"
#include "base/yaml.h"

#define CONFIG_LIMIT (1u << 20)

enum key_type {
	KEY_TEXT,
	KEY_PATH,
	KEY_BOOL,
	KEY_SIZE,
	KEY_DURATION,
	KEY_U32,
	KEY_TEXTS
};

struct key {
	const char *section, *name;
	enum key_type type;
	size_t at; /* of the field in struct engine_config */
	uint64_t max;
};

#define AT(field) offsetof(struct engine_config, field)
static const struct key keys[] = {
	{ "policy", "preset", KEY_TEXT, AT(policy_preset), 64 },
	{ "policy", "file", KEY_PATH, AT(policy_file), 4096 },
	{ "agent", "enabled", KEY_BOOL, AT(agent_enabled), 0 },
	{ "agent", "transcript", KEY_PATH, AT(agent_transcript), 4096 },
	{ "sandbox", "require", KEY_BOOL, AT(sandbox_require), 0 },
	{ "web", "program", KEY_PATH, AT(web_program), 4096 },
	{ "web", "port", KEY_U32, AT(web_port), 65535 },
	{ "limits", "command_time", KEY_DURATION, AT(command_ms), 86400000 },
	{ "limits", "command_output", KEY_SIZE, AT(output_bytes), 1u << 30 },
	{ "limits", "command_memory", KEY_SIZE, AT(memory_bytes), UINT64_C(1) << 40 },
	{ "limits", "command_processes", KEY_SIZE, AT(processes), 1u << 20 },
	{ "limits", "result", KEY_SIZE, AT(result_bytes), 512u << 10 },
	{ "approvals", "time", KEY_DURATION, AT(approval_ms), 86400000 },
	{ "approvals", "per_hour", KEY_U32, AT(approvals_per_hour), 1000 },
	{ "chronicle", "max_snapshots", KEY_U32, AT(keep_snapshots), 1000000 },
	{ "chronicle", "max_age_days", KEY_U32, AT(keep_days), 36500 },
	{ "chronicle", "exclude", KEY_TEXTS, AT(exclude), 256 },
};

static void set_defaults(struct engine_config *c)
{
	*c = (struct engine_config){ .policy_preset = "default",
		.agent_enabled = true,
		.sandbox_require = true,
		.web_port = 3100,
		.command_ms = 30000,
		.output_bytes = 1u << 20,
		.result_bytes = 256u << 10,
		.memory_bytes = UINT64_C(4) << 30,
		.processes = 512,
		.approval_ms = 300000,
		.approvals_per_hour = 10 };
	arena_init(&c->arena, 4u << 20);
}

static int take_texts(struct engine_config *c, const struct value *v)
{
	const char **texts = arena_alloc_array(&c->arena, v->size + 1, sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	for (size_t i = 0; i < v->size; i++) {
		if (v->items[i].kind != VALUE_TEXT)
			return -EINVAL;
		texts[i] = v->items[i].text;
	}
	c->exclude = texts;
	c->n_exclude = v->size;
	return 0;
}

static int take_number(const struct key *k, void *field, const struct value *v)
{
	char digits[32];
	const char *text = v->text;
	int r;

	if (v->kind == VALUE_INT) {
		(void)snprintf(digits, sizeof(digits), "%lld", (long long)v->integer);
		text = digits;
	} else if (v->kind != VALUE_TEXT) {
		return -EINVAL;
	}
	if (k->type == KEY_U32)
		return num_parse_u32(text, 1, (uint32_t)k->max, field);
	r = k->type == KEY_SIZE ? num_parse_size(text, k->max, field)
				: num_parse_duration_ms(text, k->max, field);
	return r == 0 && *(uint64_t *)field == 0 ? -ERANGE : r;
}

static int take_key(struct engine_config *c, const struct key *k, const struct value *v)
{
	void *field = (char *)c + k->at;

	switch (k->type) {
	case KEY_TEXT:
	case KEY_PATH:
		if (v->kind != VALUE_TEXT || v->size == 0 || v->size > k->max)
			return -EINVAL;
		if (k->type == KEY_PATH && v->text[0] != '/')
			return -EINVAL;
		*(const char **)field = v->text;
		return 0;
	case KEY_BOOL:
		if (v->kind != VALUE_BOOL)
			return -EINVAL;
		*(bool *)field = v->boolean;
		return 0;
	case KEY_SIZE:
	case KEY_DURATION:
	case KEY_U32:
		return take_number(k, field, v);
	case KEY_TEXTS:
		return v->kind == VALUE_ARRAY && v->size <= k->max ? take_texts(c, v) : -EINVAL;
	}
	return -EINVAL;
}

static const char *const key_wants[] = { [KEY_TEXT] = "a word",
	[KEY_PATH] = "an absolute path",
	[KEY_BOOL] = "true or false",
	[KEY_SIZE] = "a size above 0 within its limit, as 64K or 2G",
	[KEY_DURATION] = "a time above 0 within its limit, as 30s or 5m",
	[KEY_U32] = "a number above 0 within its limit",
	[KEY_TEXTS] = "a list of texts" };

static int take_section(struct engine_config *c, const struct yaml_doc *doc, const char *section,
	const struct value *map, struct diag *reterr_diag)
{
	for (size_t i = 0; i < map->size; i++) {
		const struct value *v = map->pairs[i].value;
		struct yaml_place place = yaml_place_get(doc, v);
		const struct key *found = NULL;

		for (size_t j = 0; j < N_ELEMENTS(keys); j++) {
			if (strcmp(keys[j].section, section) == 0 &&
				strcmp(keys[j].name, map->pairs[i].key) == 0)
				found = &keys[j];
		}
		if (!found)
			return diag_set(reterr_diag, -EBADMSG, place.line, place.column,
				"There is no key %.40s.%.40s.", section, map->pairs[i].key);
		if (take_key(c, found, v) != 0)
			return diag_set(reterr_diag, -EBADMSG, place.line, place.column,
				"%s.%s must be %s.", section, found->name, key_wants[found->type]);
	}
	return 0;
}

static int take_document(
	struct engine_config *c, const struct yaml_doc *doc, struct diag *reterr_diag)
{
	if (doc->root->kind == VALUE_NIL)
		return 0;
	if (doc->root->kind != VALUE_MAP)
		return diag_set(reterr_diag, -EBADMSG, 1, 1, "The file must be a map of sections.");
	for (size_t i = 0; i < doc->root->size; i++) {
		const struct value_pair *pair = &doc->root->pairs[i];
		struct yaml_place place = yaml_place_get(doc, pair->value);
		int r;

		if (pair->value->kind != VALUE_MAP)
			return diag_set(reterr_diag, -EBADMSG, place.line, place.column,
				"%.40s must be a section with keys.", pair->key);
		r = take_section(c, doc, pair->key, pair->value, reterr_diag);
		if (r != 0)
			return r;
	}
	return 0;
}

int engine_config_parse(
	struct engine_config *c, const char *text, size_t n, struct diag *reterr_diag)
{
	struct yaml_doc doc;
	int r;

	set_defaults(c);
	if (n == 0)
		return 0;
	r = yaml_parse(&c->arena, text, n, &doc, reterr_diag);
	if (r == 0)
		r = take_document(c, &doc, reterr_diag);
	if (r != 0)
		engine_config_done(c);
	return r;
}

int engine_config_load(struct engine_config *c, const char *path, struct diag *reterr_diag)
{
	auto_free char *dir = NULL;
	auto_free char *own = NULL;
	auto_free char *text = NULL;
	size_t n = 0;
	int r;

	if (!path) {
		r = state_config_dir(&dir);
		if (r != 0)
			return diag_set(reterr_diag, r, 0, 0, "HOME is not set.");
		if (asprintf(&own, "%s/config.yaml", dir) < 0)
			return -ENOMEM;
	}
	r = file_read(AT_FDCWD, path ? path : own, CONFIG_LIMIT, &text, &n);
	if (r == -ENOENT && !path)
		return engine_config_parse(c, "", 0, reterr_diag);
	if (r != 0)
		return diag_set(
			reterr_diag, r, 0, 0, "Cannot read the configuration: %s.", strerror(-r));
	return engine_config_parse(c, text, n, reterr_diag);
}

void engine_config_done(struct engine_config *c)
{
	arena_done(&c->arena);
}
