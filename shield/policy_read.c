#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/yaml.h"
#include "shield/flow.h"
#include "shield/path.h"
#include "shield/policy.h"

struct policy_reader {
	struct il_policy *policy;
	const struct il_policy_source *source;
	struct yaml_doc doc;
	struct diag *diag;
};

#define refuse(reader_, value_, ...)                                                               \
	diag_set((reader_)->diag, -EBADMSG, yaml_place_get(&(reader_)->doc, (value_)).line,        \
		yaml_place_get(&(reader_)->doc, (value_)).column, __VA_ARGS__)

/* A text or a list of texts. */
static int read_texts(struct policy_reader *r, const struct value *v, struct texts *ret)
{
	size_t n = v->kind == VALUE_ARRAY ? v->size : 1;

	if (v->kind != VALUE_ARRAY && v->kind != VALUE_TEXT)
		return refuse(r, v, "a text or a list of texts is wanted here, not %s",
			value_kind_name(v->kind));
	if (n == 0)
		return refuse(r, v, "an empty list would match nothing");
	ret->items = arena_alloc_array(&r->policy->arena, n, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct value *item = v->kind == VALUE_ARRAY ? &v->items[i] : v;

		if (item->kind != VALUE_TEXT || item->size == 0)
			return refuse(r, item, "a text is wanted here, not %s",
				item->kind == VALUE_TEXT ? "an empty one" :
							   value_kind_name(item->kind));
		for (size_t k = 0; k < i; k++) {
			if (strcmp(ret->items[k], item->text) == 0)
				return refuse(r, item, "\"%.100s\" is there twice", item->text);
		}
		ret->items[i] = arena_text(&r->policy->arena, item->text, item->size);
		if (!ret->items[i])
			return -ENOMEM;
	}
	ret->n = n;
	return 0;
}

static int read_paths(struct policy_reader *r, const struct value *v, struct texts *ret)
{
	int e = read_texts(r, v, ret);
	const char *why;

	for (size_t i = 0; e == 0 && i < ret->n; i++) {
		if (!is_path_pattern(ret->items[i], &why))
			return refuse(r, v->kind == VALUE_ARRAY ? &v->items[i] : v,
				"the pattern \"%.100s\" %s", ret->items[i], why);
	}
	return e;
}

static int read_actions(struct policy_reader *r, const struct value *v, struct rule *rule)
{
	struct texts names = { 0 };
	size_t n_types, n = 0;
	const struct il_action_type *types = il_action_types(&n_types);
	int e = read_texts(r, v, &names);

	if (e != 0)
		return e;
	rule->actions = arena_alloc_array(&r->policy->arena, n_types + names.n, sizeof(*rule->actions));
	if (!rule->actions)
		return -ENOMEM;
	for (size_t i = 0; i < names.n; i++) {
		const struct il_action_type *type = il_action_type_find(names.items[i]);
		size_t before = n;

		if (type)
			rule->actions[n++] = type;
		/* "files:" and the like name a whole group. */
		for (size_t k = 0; !type && k < n_types && n < n_types + names.n; k++) {
			size_t n_group = strlen(types[k].group);

			if (strncmp(types[k].group, names.items[i], n_group) == 0 &&
				strcmp(names.items[i] + n_group, ":") == 0)
				rule->actions[n++] = &types[k];
		}
		if (n == before)
			return refuse(r, v->kind == VALUE_ARRAY ? &v->items[i] : v,
				"there is no action \"%.64s\"", names.items[i]);
	}
	rule->n_actions = n;
	return 0;
}

static int parse_effect(const char *text, uint32_t *ret_bit)
{
	enum effect_kind kind;
	int r = effect_kind_parse(text, &kind);

	if (r == 0)
		*ret_bit = 1U << kind;
	return r;
}

static int parse_label(const char *text, uint32_t *ret_bit)
{
	enum label label;
	int r = label_parse(text, &label);

	if (r == 0)
		*ret_bit = 1U << label;
	return r;
}

static int parse_state(const char *text, uint32_t *ret_bit)
{
	for (enum object_state s = 0; s < STATE_N_; s++) {
		if (strcmp(object_state_name(s), text) == 0) {
			*ret_bit = 1U << s;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_bits(struct policy_reader *r, const struct value *v, const char *what,
	int (*parse)(const char *text, uint32_t *ret_bit), uint32_t *ret_bits)
{
	struct texts texts = { 0 };
	int e = read_texts(r, v, &texts);

	for (size_t i = 0; e == 0 && i < texts.n; i++) {
		uint32_t bit;

		if (parse(texts.items[i], &bit) != 0)
			return refuse(r, v->kind == VALUE_ARRAY ? &v->items[i] : v,
				"there is no %s \"%.64s\"", what, texts.items[i]);
		*ret_bits |= bit;
	}
	return e;
}

/* A day or an instant, in UTC. */
static int read_until(struct policy_reader *r, const struct value *v, struct rule *rule)
{
	char text[64];

	if (v->kind == VALUE_TEXT && v->size == strlen("2026-01-31")) {
		(void)snprintf(text, sizeof(text), "%sT23:59:59Z", v->text);
		if (rfc3339_parse(text, &rule->until_ns) == 0)
			return 0;
	} else if (v->kind == VALUE_TEXT && rfc3339_parse(v->text, &rule->until_ns) == 0) {
		return 0;
	}
	return refuse(r, v, "until is a day like 2026-01-31 or an instant like 2026-01-31T12:00:00Z");
}

static int read_hash(struct policy_reader *r, const struct value *v, const uint8_t **ret_hash)
{
	uint8_t *hash = arena_alloc(&r->policy->arena, SHA256_SIZE);

	if (!hash)
		return -ENOMEM;
	if (v->kind != VALUE_TEXT || v->size != 2 * SHA256_SIZE ||
		hex_decode(v->text, hash, SHA256_SIZE) != 0)
		return refuse(r, v, "a hash is 64 hexadecimal digits");
	*ret_hash = hash;
	return 0;
}

static int read_text(struct policy_reader *r, const struct value *v, const char **ret)
{
	if (v->kind != VALUE_TEXT || v->size == 0 || v->size > 512)
		return refuse(r, v, "a text of at most 512 bytes is wanted here");
	*ret = arena_text(&r->policy->arena, v->text, v->size);
	return *ret ? 0 : -ENOMEM;
}

static int read_tests(struct policy_reader *r, const struct value *v, struct rule *rule, bool wanted)
{
	struct rule_test *tests;
	size_t n = rule->n_tests;

	if (v->kind != VALUE_ARRAY || v->size == 0)
		return refuse(r, v, "a list of commands or of {action: payload} is wanted here");
	tests = arena_alloc_array(&r->policy->arena, n + v->size, sizeof(*tests));
	if (!tests)
		return -ENOMEM;
	if (n > 0)
		memcpy(tests, rule->tests, n * sizeof(*tests));
	for (size_t i = 0; i < v->size; i++) {
		const struct value *item = &v->items[i];
		struct yaml_place place = yaml_place_get(&r->doc, item);

		if (item->kind != VALUE_TEXT && (item->kind != VALUE_MAP || item->size != 1))
			return refuse(r, item, "a command or {action: payload} is wanted here");
		tests[n++] = (struct rule_test){ .value = item, .matches = wanted,
						 .line = place.line, .column = place.column };
	}
	rule->tests = tests;
	rule->n_tests = n;
	return 0;
}

static int read_rule_key(struct policy_reader *r, const char *key, const struct value *v, struct rule *rule)
{
	if (strcmp(key, "name") == 0)
		return read_text(r, v, &rule->name);
	if (strcmp(key, "reason") == 0)
		return read_text(r, v, &rule->reason);
	if (strcmp(key, "actions") == 0)
		return read_actions(r, v, rule);
	if (strcmp(key, "effects") == 0)
		return read_bits(r, v, "effect", parse_effect, &rule->effects);
	if (strcmp(key, "labels") == 0)
		return read_bits(r, v, "label", parse_label, &rule->labels);
	if (strcmp(key, "states") == 0)
		return read_bits(r, v, "state", parse_state, &rule->states);
	if (strcmp(key, "paths") == 0)
		return read_paths(r, v, &rule->paths);
	if (strcmp(key, "not_paths") == 0)
		return read_paths(r, v, &rule->not_paths);
	if (strcmp(key, "programs") == 0)
		return read_texts(r, v, &rule->programs);
	if (strcmp(key, "hosts") == 0)
		return read_texts(r, v, &rule->hosts);
	if (strcmp(key, "origins") == 0)
		return read_texts(r, v, &rule->origins);
	if (strcmp(key, "until") == 0)
		return read_until(r, v, rule);
	if (strcmp(key, "action_hash") == 0)
		return read_hash(r, v, &rule->action_hash);
	if (strcmp(key, "grant_hash") == 0)
		return read_hash(r, v, &rule->grant_hash);
	if (strcmp(key, "match") == 0)
		return read_tests(r, v, rule, true);
	if (strcmp(key, "not_match") == 0)
		return read_tests(r, v, rule, false);
	if (strcmp(key, "recursive") == 0 && v->kind == VALUE_BOOL) {
		rule->recursive = v->boolean;
		return 0;
	}
	if (strcmp(key, "tier") == 0 && rule->kind == RULE_VERIFY && v->kind == VALUE_INT &&
		v->integer >= 1 && v->integer <= 3) {
		rule->tier = (unsigned)v->integer;
		return 0;
	}
	return refuse(r, v, "a rule has no key \"%.64s\" with this kind of value", key);
}

static int read_rule(struct policy_reader *r, enum rule_kind kind, const struct value *v)
{
	struct il_policy *p = r->policy;
	struct rule rule = { .kind = kind, .recursive = -1, .tier = 2 };

	rule.source = arena_text(&p->arena, r->source->name, strlen(r->source->name));
	rule.line = yaml_place_get(&r->doc, v).line;
	if (!rule.source)
		return -ENOMEM;
	if (v->kind != VALUE_MAP)
		return refuse(r, v, "a rule is a map, not %s", value_kind_name(v->kind));
	for (size_t i = 0; i < v->size; i++) {
		int e = read_rule_key(r, v->pairs[i].key, v->pairs[i].value, &rule);

		if (e != 0)
			return e;
	}
	if (!rule.name)
		return refuse(r, v, "a rule needs a name");
	for (size_t i = 0; i < p->n_rules; i++) {
		if (strcmp(p->rules[i].name, rule.name) == 0)
			return refuse(r, v, "there is another rule named \"%.64s\" (%.64s:%u)", rule.name,
				p->rules[i].source, p->rules[i].line);
	}
	rule.whole = !rule.effects && !rule.labels && !rule.states && rule.paths.n == 0 &&
		     rule.not_paths.n == 0 && rule.hosts.n == 0 && rule.recursive < 0;
	if (rule.whole && rule.n_actions == 0 && rule.programs.n == 0 && !rule.action_hash &&
		rule.origins.n == 0)
		return refuse(r, v, "the rule \"%.64s\" has no condition; use default: instead", rule.name);
	if (p->n_rules == POLICY_RULES_MAX)
		return refuse(r, v, "there are more than %d rules", POLICY_RULES_MAX);
	p->rules[p->n_rules++] = rule;
	return 0;
}

static int read_rules(struct policy_reader *r, enum rule_kind kind, const struct value *v)
{
	int e = 0;

	if (v->kind == VALUE_NIL)
		return 0;
	if (v->kind != VALUE_ARRAY)
		return refuse(r, v, "a list of rules is wanted here, not %s", value_kind_name(v->kind));
	if (kind == RULE_ALLOW && r->source->narrowing_only && v->size > 0)
		return refuse(r, v, "a workspace's own file may only deny, ask and verify");
	for (size_t i = 0; e == 0 && i < v->size; i++)
		e = read_rule(r, kind, &v->items[i]);
	return e;
}

static int rule_kind_parse(const char *text, enum rule_kind *ret_kind)
{
	static const char *const names[RULE_KIND_N_] = { "deny", "ask", "verify", "allow" };

	for (enum rule_kind k = 0; text && k < RULE_KIND_N_; k++) {
		if (strcmp(names[k], text) == 0) {
			*ret_kind = k;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_kind(struct policy_reader *r, const struct value *v, enum rule_kind *kind)
{
	enum rule_kind found;

	if (v->kind != VALUE_TEXT || rule_kind_parse(v->text, &found) != 0)
		return refuse(r, v, "deny, ask, verify or allow is wanted here");
	if (r->source->narrowing_only && found > *kind)
		return refuse(r, v, "a workspace's own file may only make this stricter");
	*kind = found;
	return 0;
}

static int read_size(struct policy_reader *r, const char *key, const struct value *v)
{
	struct grant_limits *l = &r->policy->limits;
	uint64_t n = 0;
	uint64_t *to = NULL;
	bool duration = strcmp(key, "wall") == 0 || strcmp(key, "cpu") == 0;
	int e = -EINVAL;

	to = strcmp(key, "wall") == 0	    ? &l->wall_ms :
	     strcmp(key, "cpu") == 0	    ? &l->cpu_ms :
	     strcmp(key, "memory") == 0	    ? &l->memory_bytes :
	     strcmp(key, "processes") == 0 ? &l->processes :
	     strcmp(key, "output") == 0	    ? &l->output_bytes :
	     strcmp(key, "file_size") == 0 ? &l->file_size_bytes :
					      NULL;
	if (!to)
		return refuse(r, v, "there is no limit \"%.64s\"", key);
	if (v->kind == VALUE_INT && v->integer > 0 && !duration) {
		n = (uint64_t)v->integer;
		e = 0;
	} else if (v->kind == VALUE_TEXT) {
		e = duration ? num_parse_duration_ms(v->text, UINT32_MAX, &n) :
			       num_parse_size(v->text, INT64_MAX, &n);
	}
	if (e != 0 || n == 0)
		return refuse(r, v, "limit %s wants a %s", key,
			duration ? "duration like 30s or 10m" : "size like 512M, or a number");
	if (*to == 0 || n < *to || !r->source->narrowing_only)
		*to = n;
	return 0;
}

static int read_map(struct policy_reader *r, const struct value *v,
	int (*read)(struct policy_reader *r, const char *key, const struct value *v))
{
	int e = 0;

	if (v->kind != VALUE_MAP)
		return refuse(r, v, "a map is wanted here, not %s", value_kind_name(v->kind));
	for (size_t i = 0; e == 0 && i < v->size; i++)
		e = read(r, v->pairs[i].key, v->pairs[i].value);
	return e;
}

static int read_ceiling(struct policy_reader *r, const char *key, const struct value *v)
{
	struct il_policy *p = r->policy;
	struct texts *to = strcmp(key, "read") == 0 ? &p->read : strcmp(key, "write") == 0 ? &p->write : NULL;
	int e;

	if (strcmp(key, "any_host") == 0 && v->kind == VALUE_BOOL) {
		p->any_host = v->boolean;
		return 0;
	}
	if (strcmp(key, "temp") == 0 && v->kind == VALUE_BOOL) {
		p->temp_writable = v->boolean;
		return 0;
	}
	if (!to)
		return refuse(r, v, "the ceiling has no key \"%.64s\" with this kind of value", key);
	e = read_texts(r, v, to);
	for (size_t i = 0; e == 0 && i < to->n; i++) {
		if (to->items[i][0] != '/' && strncmp(to->items[i], "~/", 2) != 0)
			return refuse(r, v, "places of the ceiling begin with \"/\" or \"~/\"");
	}
	return e;
}

static int read_flow(struct policy_reader *r, const struct value *v)
{
	int preset = v->kind == VALUE_TEXT ? flow_preset_find(v->text) : -1;

	if (preset < 0)
		return refuse(r, v, "flow is default, strict or permissive");
	if (r->source->narrowing_only && preset != FLOW_PRESET_STRICT)
		return refuse(r, v, "a workspace's own file may only make this stricter");
	r->policy->flow_preset = preset;
	return 0;
}

static int read_top(struct policy_reader *r, const char *key, const struct value *v)
{
	struct il_policy *p = r->policy;
	enum rule_kind kind;

	if (strcmp(key, "version") == 0) {
		if (v->kind != VALUE_INT || v->integer != 1)
			return refuse(r, v, "this program reads version 1");
		return 0;
	}
	if (rule_kind_parse(key, &kind) == 0)
		return read_rules(r, kind, v);
	if (strcmp(key, "default") == 0)
		return read_kind(r, v, &p->otherwise);
	if (strcmp(key, "fallback") == 0)
		return read_kind(r, v, &p->fallback);
	if (strcmp(key, "limits") == 0)
		return read_map(r, v, read_size);
	if (strcmp(key, "flow") == 0)
		return read_flow(r, v);
	if (r->source->narrowing_only && (strcmp(key, "hosts") == 0 || strcmp(key, "ceiling") == 0))
		return refuse(r, v, "a workspace's own file may not give %s", key);
	if (strcmp(key, "hosts") == 0)
		return read_texts(r, v, &p->hosts);
	if (strcmp(key, "ceiling") == 0)
		return read_map(r, v, read_ceiling);
	return refuse(r, v, "there is no key \"%.64s\"", key);
}

int policy_read(struct il_policy *p, const struct il_policy_source *source, struct diag *reterr_diag)
{
	struct policy_reader r = { .policy = p, .source = source, .diag = reterr_diag };
	int e;

	if (source->n_text > POLICY_TEXT_MAX)
		return diag_set(reterr_diag, -EBADMSG, 0, 0, "the file is larger than 1 MiB");
	/* Rules and their tests point into this document. */
	e = yaml_parse(&p->arena, source->text, source->n_text, &r.doc, reterr_diag);
	if (e != 0)
		return e;
	if (!r.doc.root || r.doc.root->kind != VALUE_MAP || !value_get(r.doc.root, "version"))
		return refuse(&r, r.doc.root, "a policy is a map that begins with version: 1");
	return read_map(&r, r.doc.root, read_top);
}
