#include "shield/flow.h"

#include <stdlib.h>
#include <string.h>

#include "shield/judgement.h"
#include "shield/path.h"
#include "shield/policy.h"

static const char *const preset_names[FLOW_PRESET_N_] = { "default", "strict", "permissive" };

/* One letter a label, public to critical: a allow, q ask, d deny. */
static const struct {
	enum il_sink sink;
	const char *rules[FLOW_PRESET_N_];
} matrix[] = {
	{ IL_SINK_EXTERNAL, { "aqddd", "addddd", "aaaqd" } },
	{ IL_SINK_EXEC, { "aaaqq", "aaqdd", "aaaaq" } },
	{ IL_SINK_MEMORY, { "aaqdd", "aqddd", "aaaqd" } },
	{ IL_SINK_WORKSPACE_WRITE, { "aaaqq", "aaqdd", "aaaaq" } },
	{ IL_SINK_WORKSPACE_READ, { "aaaaa", "aaaqq", "aaaaa" } },
};

int flow_preset_find(const char *name)
{
	for (int i = 0; i < FLOW_PRESET_N_; i++) {
		if (strcmp(preset_names[i], name) == 0)
			return i;
	}
	return -1;
}

enum il_decision flow_rule(enum flow_preset preset, enum label label, enum il_sink sink)
{
	for (size_t i = 0; i < N_ELEMENTS(matrix); i++) {
		if (matrix[i].sink != sink)
			continue;
		switch (matrix[i].rules[preset][label]) {
		case 'a':
			return IL_ALLOW;
		case 'q':
			return IL_ASK;
		default:
			return IL_DENY;
		}
	}
	return IL_ALLOW;
}

enum label flow_label_of(const struct il_flow *flow, const char *path, uint64_t device, uint64_t inode)
{
	enum label label = LABEL_PUBLIC;

	for (size_t i = 0; flow && i < flow->n_entries; i++) {
		const struct il_flow_entry *e = &flow->entries[i];
		bool same = strcmp(e->path, path) == 0 ||
			    (inode != 0 && e->inode == inode && e->device == device);

		if (same && e->label > label)
			label = e->label;
	}
	return label;
}

/* Labels that the session gave to files count like those that their names give. */
static void take_labels(struct judgement *j)
{
	for (size_t i = 0; i < j->n_effects; i++) {
		struct effect *e = &j->effects[i].effect;
		uint64_t device = 0, inode = 0;
		enum label label;

		if (e->kind != EFFECT_READ || !j->context->flow || j->context->flow->n_entries == 0)
			continue;
		for (size_t k = 0; k < j->n_facts; k++) {
			if (j->facts[k].kind == IL_FACT_PATH &&
				strcmp(j->facts[k].subject, e->object) == 0) {
				device = j->facts[k].device;
				inode = j->facts[k].inode;
			}
		}
		label = flow_label_of(j->context->flow, e->object, device, inode);
		if (label > e->label)
			e->label = label;
		if (e->label > j->label)
			j->label = e->label;
	}
}

static const struct effect *highest(const struct judgement *j, enum effect_kind kind)
{
	const struct effect *best = NULL;

	for (size_t i = 0; i < j->n_effects; i++) {
		const struct effect *e = &j->effects[i].effect;

		if (e->kind == kind && (!best || e->label > best->label))
			best = e;
	}
	return best;
}

/* The first effect that hands data to somebody else; loopback counts as nobody. */
static const struct effect *external(const struct judgement *j)
{
	for (size_t i = 0; i < j->n_effects; i++) {
		const struct effect *e = &j->effects[i].effect;
		const char *to = e->kind == EFFECT_SEND ? e->target : e->object;

		if (e->kind != EFFECT_SEND && e->kind != EFFECT_CONNECT)
			continue;
		if (!to || !is_host_loopback(to))
			return e;
	}
	return NULL;
}

static const char *sink_name(const struct effect *e)
{
	return e->kind == EFFECT_SEND && e->target ? e->target : e->object;
}

/* Data of one effect of the action into another one. */
static void judge_within(struct judgement *j, enum flow_preset preset)
{
	const struct effect *source = highest(j, EFFECT_READ);
	const struct effect *sent = highest(j, EFFECT_SEND);
	const struct effect *sink = external(j);

	if (sent && sent->label > LABEL_PUBLIC && (!source || sent->label > source->label))
		source = sent;
	if (!source || source->label == LABEL_PUBLIC)
		return;
	if (sink) {
		enum il_decision d = flow_rule(preset, source->label, IL_SINK_EXTERNAL);

		if (d != IL_ALLOW)
			judgement_findf(j, "FLOW-EXTERNAL", d, IL_SEVERITY_CRITICAL, sink,
				"Data of %s (%s) would flow to %s.", source->object,
				label_name(source->label), sink_name(sink));
	}
	for (size_t i = 0; i < j->n_effects && source->kind == EFFECT_READ; i++) {
		const struct judged_effect *e = &j->effects[i];
		bool outside = !is_path_beneath(e->effect.object, j->places.workspace, false);
		enum il_decision d = flow_rule(preset, source->label, IL_SINK_WORKSPACE_WRITE);

		if ((e->effect.kind != EFFECT_WRITE && e->effect.kind != EFFECT_CREATE) ||
			strncmp(e->effect.object, "/dev/", 5) == 0 ||
			e->place.label >= source->label)
			continue;
		if (outside && source->label >= LABEL_RESTRICTED)
			d = IL_DENY;
		if (d != IL_ALLOW)
			judgement_findf(j, "FLOW-COPY", d, IL_SEVERITY_HIGH, &e->effect,
				"Data of %s (%s) would flow into %s, which is labelled lower.",
				source->object, label_name(source->label), e->effect.object);
	}
}

/* What the session has seen, into what this action reaches. */
static void judge_session(struct judgement *j, enum flow_preset preset)
{
	enum label session = j->context->flow ? j->context->flow->session : LABEL_PUBLIC;
	enum il_sink sink = external(j) ? IL_SINK_EXTERNAL : j->analysis->type->sink;
	enum il_decision d;

	/* A command is an external sink only where it reaches out; writing is judged by its grant. */
	if (session == LABEL_PUBLIC || sink == IL_SINK_NONE)
		return;
	d = flow_rule(preset, session, sink);
	if (d != IL_ALLOW)
		judgement_findf(j, "FLOW-SESSION", d, IL_SEVERITY_HIGH, external(j),
			"This session has received %s data, which must not go into %s.",
			label_name(session), external(j) ? sink_name(external(j)) : j->analysis->type->name);
}

/* The reply goes to the model, and so to whoever runs it. */
static void judge_reply(struct judgement *j)
{
	const struct effect *source = highest(j, EFFECT_READ);
	bool provider_public = j->context->flow && j->context->flow->provider_public;

	if (!source || source->label < (provider_public ? LABEL_CONFIDENTIAL : LABEL_CRITICAL))
		return;
	judgement_findf(j, "FLOW-REPLY", IL_ASK, IL_SEVERITY_HIGH, source,
		"The model's provider would receive data of %s (%s).", source->object,
		label_name(source->label));
}

void judge_flow(struct judgement *j)
{
	enum flow_preset preset = (enum flow_preset)j->context->policy->flow_preset;

	take_labels(j);
#ifndef MUTATION_FLOW
	judge_within(j, preset);
	judge_session(j, preset);
#endif
	judge_reply(j);
}

static int compare_entries(const void *x, const void *y)
{
	const struct il_flow_entry *a = x, *b = y;

	return strcmp(a->path, b->path);
}

int il_flow_after(struct arena *a, const struct il_flow *before, const struct il_verdict *verdict,
	struct il_flow *ret_after)
{
	struct il_flow after = *before;
	struct il_flow_entry *entries =
		arena_alloc_array(a, before->n_entries + verdict->n_effects + 1, sizeof(*entries));
	enum label label = verdict->label > before->session ? verdict->label : before->session;

	if (!entries)
		return -ENOMEM;
	if (before->n_entries > 0)
		memcpy(entries, before->entries, before->n_entries * sizeof(*entries));
	for (size_t i = 0; i < verdict->n_effects; i++) {
		const struct effect *e = &verdict->effects[i];
		size_t k = 0;

		if (e->kind == EFFECT_READ && e->label > label)
			label = e->label;
		if ((e->kind != EFFECT_WRITE && e->kind != EFFECT_CREATE && e->kind != EFFECT_RENAME) ||
			label == LABEL_PUBLIC)
			continue;
		while (k < after.n_entries && strcmp(entries[k].path, e->object) != 0)
			k++;
		if (k == after.n_entries) {
			entries[after.n_entries++] = (struct il_flow_entry){
				.path = arena_text(a, e->object, strlen(e->object)), .label = label };
			if (!entries[k].path)
				return -ENOMEM;
		} else if (label > entries[k].label) {
			entries[k].label = label;
		}
	}
	qsort(entries, after.n_entries, sizeof(*entries), compare_entries);
	after.entries = entries;
	after.session = label;
	*ret_after = after;
	return 0;
}
