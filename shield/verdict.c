#include <string.h>

#include "shield/shield.h"

static const struct value *text_of(struct arena *a, const char *text)
{
	return text ? value_text(a, text, strlen(text)) : value_new(a, VALUE_NIL);
}

static const struct value *hash_of(struct arena *a, const uint8_t *hash)
{
	char hex[SHA256_HEX_SIZE];

	hex_encode(hash, SHA256_SIZE, hex);
	return value_text(a, hex, SHA256_HEX_SIZE - 1);
}

static const char *severity_name(enum il_severity severity)
{
	static const char *const names[] = { "info", "low", "medium", "high", "critical" };

	return names[severity <= IL_SEVERITY_CRITICAL ? severity : IL_SEVERITY_CRITICAL];
}

static const struct value *finding_of(struct arena *a, const struct il_finding *f)
{
	struct value *v = value_map(a, 7);

	if (value_put(v, "id", text_of(a, f->id)) != 0 ||
		value_put(v, "decision", text_of(a, il_decision_name(f->decision))) != 0 ||
		value_put(v, "severity", text_of(a, severity_name(f->severity))) != 0 ||
		value_put(v, "text", text_of(a, f->text)) != 0)
		return NULL;
	if (f->field && (value_put(v, "field", text_of(a, f->field)) != 0 ||
				value_put(v, "at", value_int(a, f->at)) != 0 ||
				value_put(v, "size", value_int(a, f->size)) != 0))
		return NULL;
	return v;
}

static const struct value *findings_of(struct arena *a, const struct il_verdict *v)
{
	struct value *array = value_array(a, v->n_findings);

	for (size_t i = 0; i < v->n_findings; i++) {
		if (value_push(array, finding_of(a, &v->findings[i])) != 0)
			return NULL;
	}
	return array;
}

static const struct value *effects_of(struct arena *a, const struct il_verdict *v)
{
	struct value *array = value_array(a, v->n_effects);

	for (size_t i = 0; i < v->n_effects; i++) {
		if (value_push(array, effect_to_value(a, &v->effects[i])) != 0)
			return NULL;
	}
	return array;
}

const struct value *il_verdict_to_value(struct arena *a, const struct il_verdict *v)
{
	struct value *map = value_map(a, 14);

	if (value_put(map, "decision", text_of(a, il_decision_name(v->decision))) != 0 ||
		value_put(map, "tier", value_int(a, v->tier)) != 0 ||
		value_put(map, "rule", text_of(a, v->rule)) != 0 ||
		value_put(map, "reason", text_of(a, v->reason)) != 0 ||
		value_put(map, "alternative", text_of(a, v->alternative)) != 0 ||
		value_put(map, "effects", effects_of(a, v)) != 0 ||
		value_put(map, "findings", findings_of(a, v)) != 0 ||
		value_put(map, "grant", grant_to_value(a, &v->grant)) != 0 ||
		value_put(map, "label", text_of(a, label_name(v->label))) != 0 ||
		value_put(map, "action_hash", hash_of(a, v->action_hash)) != 0 ||
		value_put(map, "policy_hash", hash_of(a, v->policy_hash)) != 0 ||
		value_put(map, "facts_hash", hash_of(a, v->facts_hash)) != 0 ||
		value_put(map, "grant_hash", hash_of(a, v->grant_hash)) != 0)
		return NULL;
	return map;
}
