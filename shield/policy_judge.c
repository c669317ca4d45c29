#include <string.h>

#include "shield/policy.h"

static enum il_decision decision_of(struct judgement *j, enum rule_kind kind, unsigned tier)
{
	switch (kind) {
	case RULE_DENY:
		return IL_DENY;
	case RULE_ASK:
		return IL_ASK;
	case RULE_ALLOW:
		return IL_ALLOW;
	case RULE_VERIFY:
	case RULE_KIND_N_:
		break;
	}
	/* Tier 1 has looked by the time anybody reads this verdict. */
	if (kind == RULE_VERIFY && tier == 1)
		return IL_ALLOW;
	switch (tier == 2 ? j->context->judge : IL_JUDGE_ASK) {
	case IL_JUDGE_ALLOW:
		return IL_ALLOW;
	case IL_JUDGE_DENY:
		return IL_DENY;
	case IL_JUDGE_ASK:
		return IL_ASK;
	case IL_JUDGE_UNAVAILABLE:
		break;
	}
	j->tier = 2;
	return j->context->policy->fallback == RULE_DENY ? IL_DENY : IL_ASK;
}

static const char *object_of(const struct effect *e)
{
	return e->kind == EFFECT_SEND && e->target ? e->target : e->object;
}

/* The strongest rule for one effect (or for the action), or NULL. */
static const struct rule *rule_for(const struct judgement *j, const struct judged_effect *e)
{
	const struct il_policy *p = j->context->policy;
	const struct rule *best = NULL;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		if ((!best || rule->kind < best->kind) && is_rule_match(j, rule, e))
			best = rule;
	}
	return best;
}

static void judge_whole(struct judgement *j)
{
	const struct rule *rule = rule_for(j, NULL);
	enum il_decision d;

	if (!rule || (rule->kind == RULE_ALLOW && j->n_effects > 0))
		return;
	d = decision_of(j, rule->kind, rule->tier);
	judgement_findf(j, rule->name, d, d == IL_ALLOW ? IL_SEVERITY_INFO : IL_SEVERITY_MEDIUM, NULL,
		"%s: %s.", j->analysis->type->name,
		rule->reason ? rule->reason : "a rule speaks of this action");
}

static void judge_effect(struct judgement *j, const struct judged_effect *e)
{
	const struct il_policy *p = j->context->policy;
	const struct rule *rule = rule_for(j, e);
	enum il_decision d = decision_of(j, rule ? rule->kind : p->otherwise, rule ? rule->tier : 2);
	const char *kind = effect_kind_name(e->effect.kind);

	if (!rule) {
		judgement_findf(j, "DEFAULT", d, IL_SEVERITY_LOW, &e->effect,
			"No rule speaks of the effect %s %s.", kind, object_of(&e->effect));
		return;
	}
	if (rule->kind == RULE_ALLOW && rule->grant_hash)
		j->approved_grant = rule->grant_hash;
	judgement_findf(j, rule->name, d, d == IL_ALLOW ? IL_SEVERITY_INFO : IL_SEVERITY_MEDIUM,
		&e->effect, "%s %s: %s.", kind, object_of(&e->effect),
		rule->reason ? rule->reason : "a rule speaks of this effect");
}

void judge_policy(struct judgement *j)
{
	size_t before = j->n_findings;

	judge_whole(j);
	for (size_t i = 0; i < j->n_effects; i++)
		judge_effect(j, &j->effects[i]);
	if (j->n_findings == before && j->n_effects == 0) {
		/* No rule, no effect: a command like `true` does nothing, other actions are unknown. */
		bool harmless = j->detail->is_command && !j->opaque;
		enum il_decision d =
			harmless ? IL_ALLOW : decision_of(j, j->context->policy->otherwise, 2);

		judgement_findf(j, harmless ? "NO-EFFECT" : "DEFAULT", d, IL_SEVERITY_INFO, NULL,
			harmless ? "%s: nothing outside the process itself is touched." :
				   "No rule speaks of %s.",
			j->analysis->type->name);
	}
}
