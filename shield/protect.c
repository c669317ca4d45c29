#include <string.h>

#include "base/arms.h"
#include "shield/judgement.h"
#include "shield/path.h"

static enum il_decision protection_of(const struct judged_effect *j)
{
	switch (j->effect.kind) {
	case EFFECT_READ:
		return j->place.read;
	case EFFECT_LIST:
		return j->place.list;
	case EFFECT_ATTRIBUTES:
		return j->place.attributes;
	case EFFECT_WRITE:
	case EFFECT_CREATE:
	case EFFECT_DELETE:
	case EFFECT_RENAME:
	case EFFECT_ARMS:
		return j->place.write;
	case EFFECT_OPAQUE:
	case EFFECT_EXEC:
	case EFFECT_CONNECT:
	case EFFECT_LISTEN:
	case EFFECT_SEND:
	case EFFECT_SIGNAL:
	case EFFECT_SPAWN_AGENT:
	case EFFECT_SCHEDULE:
	case EFFECT_REMEMBER:
	case EFFECT_ENVIRONMENT:
	case EFFECT_PRIVILEGE:
	case EFFECT_N_:
		break;
	}
	return IL_ALLOW;
}

/* Data that is sent may be named only there: `curl -F f=@.env`. */
static void protect_sent(struct judgement *j, struct judged_effect *e)
{
	struct place place;

	if (e->effect.object[0] != '/')
		return;
	place_of(&j->places, e->effect.object, &place);
	if (place.label > e->effect.label)
		e->effect.label = place.label;
	if (place.read != IL_ALLOW)
		judgement_findf(j, place.id, place.read, IL_SEVERITY_CRITICAL, &e->effect,
			"Sends %s, which is %s.", e->effect.object, place.what);
}

/* Deleting or changing everything beneath a directory that a machine or a user lives in. */
static void protect_vital(struct judgement *j, const struct judged_effect *e)
{
	const struct effect *effect = &e->effect;

	if (effect->kind != EFFECT_DELETE && effect->kind != EFFECT_RENAME &&
		!(effect->recursive && effect->kind == EFFECT_ATTRIBUTES))
		return;
	if (!is_place_vital(&j->places, effect->object))
		return;
	/* Modes of the workspace's own files are the user's business, not their loss. */
	if (effect->kind == EFFECT_ATTRIBUTES &&
		is_path_beneath(effect->object, j->places.workspace, false)) {
		judgement_findf(j, "ASK-ATTRIBUTES", IL_ASK, IL_SEVERITY_MEDIUM, effect,
			"Changes the attributes of everything in the workspace.");
		return;
	}
	/* Without recursion a program cannot take a directory away; what it finds there, it can. */
	judgement_findf(j, "PROT-VITAL",
		effect->recursive || !j->detail->is_command ? IL_DENY : IL_ASK, IL_SEVERITY_CRITICAL,
		effect,
		"Would %s %s%s, whose loss cannot be undone.", effect_kind_name(effect->kind),
		effect->object, effect->recursive ? " and everything beneath" : "");
}

/* A recursive access to a directory reaches the protected places beneath it. */
static void protect_above(struct judgement *j, const struct judged_effect *e)
{
	const struct effect *effect = &e->effect;
	bool changes = effect_kind_mutates(effect->kind) && effect->kind != EFFECT_ARMS;
	bool adds;

	if (!effect->recursive || is_path_beneath(effect->object, j->places.workspace, false))
		return;
	if (strcmp(effect->object, "/proc") == 0)
		judgement_findf(j, "PROT-PROCESSES", IL_ASK, IL_SEVERITY_HIGH, effect,
			"Looks into some process, which cannot be known.");
	if (!changes && effect->kind != EFFECT_READ)
		return;
	if (!is_path_beneath(j->places.home, effect->object, true) &&
		!is_path_beneath("/etc/shadow", effect->object, false))
		return;
	/* Putting something into a home is asked about; into what holds homes, it is refused. */
	adds = (effect->kind == EFFECT_WRITE || effect->kind == EFFECT_CREATE) &&
	       is_path_beneath(effect->object, j->places.home, true);
	judgement_findf(j, "PROT-ABOVE", changes && !adds ? IL_DENY : IL_ASK, IL_SEVERITY_HIGH, effect,
		"Would %s everything beneath %s, where credentials and settings are.",
		effect_kind_name(effect->kind), effect->object);
}

static void protect_armed(struct judgement *j, const struct judged_effect *e)
{
	const char *what;

	if (!effect_kind_mutates(e->effect.kind) ||
		arms_match(e->effect.object, &what) != ARMS_ITSELF)
		return;
	judgement_findf(j, "PROT-ARMED", IL_ASK, IL_SEVERITY_HIGH, &e->effect,
		"Would %s %s: %s.", effect_kind_name(e->effect.kind), e->effect.object, what);
}

/* Interlock's own commands that approve or configure are for people at a terminal. */
static void protect_calls(struct judgement *j)
{
	static const char *const refused[] = { "approve", "deny", "stop", "start", "token", "policy",
		"declassify", "config", "restart", "trust" };

	for (size_t i = 0; i < j->n_calls; i++) {
		const struct command_call *call = &j->calls[i];

		if (!call->program || strncmp(call->program, "interlock", 9) != 0)
			continue;
		for (size_t k = 0; k < N_ELEMENTS(refused); k++) {
			if (call->n_argv > 1 && call->argv[1] &&
				strcmp(call->argv[1], refused[k]) == 0)
				judgement_findf(j, "PROT-INTERLOCK", IL_DENY,
					IL_SEVERITY_CRITICAL, NULL,
					"Runs `interlock %s`, which only people may.",
					refused[k]);
		}
	}
}

#ifdef MUTATION_PROTECTION
void judge_protection(struct judgement *j)
{
	(void)j;
}
#else
void judge_protection(struct judgement *j)
{
	for (size_t i = 0; i < j->n_effects; i++) {
		struct judged_effect *e = &j->effects[i];

		if (e->effect.kind == EFFECT_SEND)
			protect_sent(j, e);
		if (!e->is_path)
			continue;
		enum il_decision d = protection_of(e);

		if (d != IL_ALLOW)
			judgement_findf(j, e->place.id, d,
				d == IL_DENY ? IL_SEVERITY_CRITICAL : IL_SEVERITY_HIGH, &e->effect,
				"Would %s %s, which is %s.", effect_kind_name(e->effect.kind),
				e->effect.object, e->place.what);
		protect_vital(j, e);
		protect_above(j, e);
		protect_armed(j, e);
	}
	protect_calls(j);
}
#endif
