#include "base/effect.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	bool mutates;
} kinds[] = {
	[EFFECT_OPAQUE] = { "opaque", true },
	[EFFECT_READ] = { "read", false },
	[EFFECT_LIST] = { "list", false },
	[EFFECT_WRITE] = { "write", true },
	[EFFECT_CREATE] = { "create", true },
	[EFFECT_DELETE] = { "delete", true },
	[EFFECT_RENAME] = { "rename", true },
	[EFFECT_ATTRIBUTES] = { "attributes", true },
	[EFFECT_EXEC] = { "exec", true },
	[EFFECT_CONNECT] = { "connect", false },
	[EFFECT_LISTEN] = { "listen", false },
	[EFFECT_SEND] = { "send", false },
	[EFFECT_SIGNAL] = { "signal", true },
	[EFFECT_SPAWN_AGENT] = { "spawn_agent", true },
	[EFFECT_SCHEDULE] = { "schedule", true },
	[EFFECT_REMEMBER] = { "remember", true },
	[EFFECT_ENVIRONMENT] = { "environment", false },
	[EFFECT_PRIVILEGE] = { "privilege", true },
	[EFFECT_ARMS] = { "arms", true },
};
_Static_assert(N_ELEMENTS(kinds) == EFFECT_N_, "describe every kind");

static const char *const labels[] = {
	[LABEL_PUBLIC] = "public",
	[LABEL_INTERNAL] = "internal",
	[LABEL_CONFIDENTIAL] = "confidential",
	[LABEL_RESTRICTED] = "restricted",
	[LABEL_CRITICAL] = "critical",
};
_Static_assert(N_ELEMENTS(labels) == LABEL_N_, "name every label");

const char *effect_kind_name(enum effect_kind kind)
{
	return (unsigned)kind < EFFECT_N_ ? kinds[kind].name : "opaque";
}

const char *label_name(enum label label)
{
	return (unsigned)label < LABEL_N_ ? labels[label] : "critical";
}

int effect_kind_parse(const char *name, enum effect_kind *ret_kind)
{
	for (unsigned i = 0; i < EFFECT_N_; i++) {
		if (strcmp(kinds[i].name, name) == 0) {
			*ret_kind = (enum effect_kind)i;
			return 0;
		}
	}
	return -EINVAL;
}

int label_parse(const char *name, enum label *ret_label)
{
	for (unsigned i = 0; i < LABEL_N_; i++) {
		if (strcmp(labels[i], name) == 0) {
			*ret_label = (enum label)i;
			return 0;
		}
	}
	return -EINVAL;
}

bool effect_kind_mutates(enum effect_kind kind)
{
	return (unsigned)kind >= EFFECT_N_ || kinds[kind].mutates;
}

static int put_text(struct arena *a, struct value *map, const char *key, const char *text)
{
	return text ? value_put(map, key, value_text(a, text, strlen(text))) : 0;
}

const struct value *effect_to_value(struct arena *a, const struct effect *e)
{
	struct value *v = value_map(a, 10);

	if (put_text(a, v, "kind", effect_kind_name(e->kind)) != 0 ||
		put_text(a, v, "object", e->object) != 0 ||
		put_text(a, v, "target", e->target) != 0 ||
		value_put(v, "certain", value_bool(a, e->certainty == EFFECT_CERTAIN)) != 0 ||
		put_text(a, v, "label", label_name(e->label)) != 0)
		return NULL;
	if (e->recursive && value_put(v, "recursive", value_bool(a, true)) != 0)
		return NULL;
	if (e->port != 0 && value_put(v, "port", value_int(a, e->port)) != 0)
		return NULL;
	if (!e->field)
		return v;
	if (put_text(a, v, "field", e->field) != 0 ||
		value_put(v, "at", value_int(a, e->origin_at)) != 0 ||
		value_put(v, "size", value_int(a, e->origin_size)) != 0)
		return NULL;
	return v;
}
