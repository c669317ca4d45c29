#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/canon.h"
#include "shield/judgement.h"
#include "shield/path.h"
#include "shield/policy.h"

#define VERDICT_LIFE_MS	 300000
#define FINDINGS_MAX	 256

const char *il_decision_name(enum il_decision d)
{
	switch (d) {
	case IL_DENY:
		return "deny";
	case IL_ASK:
		return "ask";
	case IL_ALLOW:
		return "allow";
	}
	return "deny";
}

bool is_path_effect(enum effect_kind kind)
{
	switch (kind) {
	case EFFECT_READ:
	case EFFECT_LIST:
	case EFFECT_WRITE:
	case EFFECT_CREATE:
	case EFFECT_DELETE:
	case EFFECT_RENAME:
	case EFFECT_ATTRIBUTES:
	case EFFECT_ARMS:
		return true;
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
	return false;
}

void judgement_find(struct judgement *j, const struct il_finding *finding)
{
	/* What decides must never be pushed out by a flood of remarks. */
	for (size_t i = 0; i < j->n_findings; i++) {
		struct il_finding *f = &j->findings[i];

		if (f->id && strcmp(f->id, finding->id) == 0 && f->decision == finding->decision &&
			strcmp(f->text, finding->text) == 0)
			return;
	}
	if (j->n_findings == FINDINGS_MAX) {
		if (finding->decision < j->findings[FINDINGS_MAX - 1].decision)
			j->findings[FINDINGS_MAX - 1] = *finding;
		return;
	}
	if (j->n_findings == j->capacity) {
		size_t capacity = j->capacity ? j->capacity * 2 : 8;
		struct il_finding *grown = arena_alloc_array(j->arena, capacity, sizeof(*grown));

		if (!grown) {
			j->failed = true;
			return;
		}
		if (j->n_findings > 0)
			memcpy(grown, j->findings, j->n_findings * sizeof(*grown));
		j->findings = grown;
		j->capacity = capacity;
	}
	j->findings[j->n_findings++] = *finding;
}

void judgement_findf(struct judgement *j, const char *id, enum il_decision decision,
	enum il_severity severity, const struct effect *origin, const char *format, ...)
{
	struct il_finding finding = { .id = id, .decision = decision, .severity = severity };
	char text[16384];
	va_list args;
	int n;

	/* A path or host may be long; what does not fit here is cut, the effect itself is not. */
	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n >= (int)sizeof(text))
		n = (int)sizeof(text) - 1;
	finding.text = n < 0 ? NULL : arena_text(j->arena, text, (size_t)n);
	if (!finding.text) {
		j->failed = true;
		finding.text = "";
	}
	if (origin) {
		finding.field = origin->field;
		finding.at = origin->origin_at;
		finding.size = origin->origin_size;
	}
	judgement_find(j, &finding);
}

const char *object_state_name(enum object_state state)
{
	static const char *const names[STATE_N_] = { "unknown", "absent", "own", "artefact", "tracked",
		"modified", "untracked" };

	return state < STATE_N_ ? names[state] : "unknown";
}

static const struct il_fact *fact_find(
	const struct judgement *j, enum il_fact_kind kind, const char *subject)
{
	for (size_t i = 0; i < j->n_facts; i++) {
		if (j->facts[i].kind == kind && strcmp(j->facts[i].subject, subject) == 0)
			return &j->facts[i];
	}
	return NULL;
}

static bool was_created_before(const struct judgement *j, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++) {
		const struct effect *e = &j->effects[i].effect;

		if (e->kind == EFFECT_CREATE && !e->recursive && is_path_beneath(path, e->object, false))
			return true;
	}
	return false;
}

static enum object_state state_of(const struct judgement *j, size_t n, const struct effect *e,
	const struct il_fact *fact)
{
	if (fact && fact->known) {
		if (fact->type == IL_FILE_ABSENT)
			return STATE_ABSENT;
		switch (fact->git) {
		case IL_GIT_CLEAN:
			return STATE_TRACKED;
		case IL_GIT_MODIFIED:
			return STATE_MODIFIED;
		case IL_GIT_IGNORED:
		case IL_GIT_UNTRACKED:
			return is_place_artefact(e->object) ? STATE_ARTEFACT : STATE_UNTRACKED;
		case IL_GIT_UNKNOWN:
			break;
		}
	}
	if (is_place_artefact(e->object))
		return STATE_ARTEFACT;
	if (was_created_before(j, n, e->object))
		return STATE_OWN;
	return STATE_UNKNOWN;
}

static void take_effect(struct judgement *j, const struct effect *e, const struct il_fact *fact)
{
	struct judged_effect *judged = &j->effects[j->n_effects];

	judged->effect = *e;
	judged->is_path = is_path_effect(e->kind);
	judged->place = (struct place){ .read = IL_ALLOW, .write = IL_ALLOW, .attributes = IL_ALLOW,
					.list = IL_ALLOW };
	if (judged->is_path) {
		place_of(&j->places, e->object, &judged->place);
		judged->state = state_of(j, j->n_effects, e, fact);
		judged->written_by_agent = fact && fact->written_by_agent;
		if (e->kind == EFFECT_READ && judged->place.label > judged->effect.label)
			judged->effect.label = judged->place.label;
	}
	if (e->kind == EFFECT_OPAQUE)
		j->opaque = true;
	if (e->kind == EFFECT_READ && judged->effect.label > j->label)
		j->label = judged->effect.label;
	j->n_effects++;
}

/* Every effect as named and, where a link leads elsewhere, as it would really be. */
static bool take_effects(struct judgement *j, const struct effect *effects, size_t n_effects)
{
	j->effects = arena_alloc_array(j->arena, n_effects * 4 + 1, sizeof(*j->effects));
	if (!j->effects)
		return false;
	for (size_t i = 0; i < n_effects; i++) {
		struct effect e = effects[i];
		const struct il_fact *fact = NULL;

		if (is_path_effect(e.kind) && j->n_facts > 0)
			fact = fact_find(j, IL_FACT_PATH, e.object);
		take_effect(j, &e, fact);
		if (fact && fact->known && fact->resolved && strcmp(fact->resolved, e.object) != 0) {
			e.object = fact->resolved;
			take_effect(j, &e, fact);
		}
		if (e.kind == EFFECT_RENAME && e.target) {
			e.kind = EFFECT_CREATE;
			e.object = e.target;
			e.target = NULL;
			fact = j->n_facts > 0 ? fact_find(j, IL_FACT_PATH, e.object) : NULL;
			take_effect(j, &e, fact);
		}
	}
	return true;
}

/* With facts (scripts, links) a command may mean more than its text shows. */
static bool take_command(struct judgement *j, const struct effect **ret_effects, size_t *ret_n)
{
	const struct il_action *action = j->analysis->action;
	const struct command_result *result = &j->detail->command;
	const struct value *v = value_get(j->analysis->payload, "command");
	struct command_context context = { .cwd = j->detail->cwd, .workspace = action->workspace,
		.home = action->home, .case_insensitive = action->case_insensitive, .field = "command",
		.facts = j->facts, .n_facts = j->n_facts };
	struct command_result *again;

	if (j->n_facts > 0 && v && v->kind == VALUE_TEXT) {
		again = arena_alloc(j->arena, sizeof(*again));
		if (!again || command_analyse(j->arena, &context, v->text, v->size, again) != 0)
			return false;
		result = again;
		*ret_effects = again->effects;
		*ret_n = again->n_effects;
	}
	j->calls = result->calls;
	j->n_calls = result->n_calls;
	j->notes = result->notes;
	j->n_notes = result->n_notes;
	j->opaque = j->opaque || result->opaque;
	return true;
}

static const struct il_finding *strongest(const struct judgement *j)
{
	const struct il_finding *best = NULL;

	for (size_t i = 0; i < j->n_findings; i++) {
		const struct il_finding *f = &j->findings[i];

		if (!best || f->decision < best->decision ||
			(f->decision == best->decision && f->severity > best->severity))
			best = f;
	}
	return best;
}

static void finish_facts_hash(const struct judgement *j, uint8_t *ret_hash)
{
	struct sha256 h;

	if (j->n_facts == 0) {
		memset(ret_hash, 0, SHA256_SIZE);
		return;
	}
	sha256_init(&h);
	for (size_t i = 0; i < j->n_facts; i++) {
		const struct il_fact *f = &j->facts[i];
		uint64_t numbers[] = { (uint64_t)f->kind, f->known, (uint64_t)f->type, f->device,
			f->inode, f->size, (uint64_t)f->ctime_ns, f->nlink, (uint64_t)f->git };

		sha256_update(&h, f->subject, strlen(f->subject) + 1);
		sha256_update(&h, f->resolved ? f->resolved : "",
			f->resolved ? strlen(f->resolved) + 1 : 1);
		sha256_update(&h, numbers, sizeof(numbers));
		sha256_update(&h, f->sha256, SHA256_SIZE);
		sha256_update(&h, f->text ? f->text : "", f->text ? f->n_text : 0);
	}
	sha256_final(&h, ret_hash);
}

static unsigned tier_of(const struct judgement *j, const struct il_finding *f, enum il_decision d)
{
	if (d == IL_ASK)
		return j->tier == 2 && j->context->judge == IL_JUDGE_UNAVAILABLE ? 2 : 3;
	if (!f)
		return 0;
	return strncmp(f->id, "DET-", 4) == 0 || strncmp(f->id, "FLOW-", 5) == 0 ||
			       strncmp(f->id, "NOTE-", 5) == 0 ?
		       1 :
		       0;
}

static const char *alternative_of(const struct judgement *j, const struct il_finding *f)
{
	if (!f || f->decision == IL_ALLOW)
		return NULL;
	if (j->analysis->refused)
		return "Send the action again with the fields that the tool list gives.";
	if (strncmp(f->id, "PROT-", 5) == 0)
		return "Work on files of the workspace; ask the user to handle protected places.";
	if (strncmp(f->id, "FLOW-", 5) == 0)
		return "Keep labelled data and the network in separate steps, or ask the user to "
		       "declassify it.";
	if (f->decision == IL_ASK)
		return "Wait for the answer, or do the part that stays inside the workspace first.";
	return "Do the work without this effect.";
}

/* An approval was given for a grant, not for whatever the action may need by now. */
static void check_approved(struct judgement *j, const struct grant *grant)
{
	uint8_t hash[SHA256_SIZE];

	if (!j->approved_grant)
		return;
	if (grant_hash(grant, hash) != 0 || memcmp(hash, j->approved_grant, SHA256_SIZE) != 0)
		judgement_findf(j, "APPROVAL-STALE", IL_ASK, IL_SEVERITY_MEDIUM, NULL,
			"This action was approved under another grant than it needs now.");
}

static void finish(struct judgement *j, struct il_verdict *v)
{
	const struct il_finding *f = strongest(j);
	struct grant grant = GRANT_NONE;
	enum il_decision d = f ? f->decision : IL_DENY;

	if (!j->failed && d != IL_DENY) {
		(void)judge_grant(j, &grant); /* what it finds counts like everything else */
		check_approved(j, &grant);
		f = strongest(j);
		d = f ? f->decision : IL_DENY;
	}
	if (d == IL_ASK && !j->context->can_ask) {
		d = IL_DENY;
		grant = GRANT_NONE;
	}
	if (j->failed || !f) {
		*v = (struct il_verdict){ .decision = IL_DENY, .rule = "JUDGE-FAILED",
			.reason = "The judgement did not fit into its memory.", .grant = GRANT_NONE };
	} else {
		v->decision = d;
		v->rule = f->id;
		v->reason = f->text;
		v->tier = tier_of(j, f, d);
		v->findings = j->findings;
		v->n_findings = j->n_findings;
		v->label = j->label;
		v->grant = d == IL_DENY ? GRANT_NONE : grant;
		v->alternative = d == IL_ALLOW ? NULL : alternative_of(j, f);
		v->expires_ms = j->context->now_ms + VERDICT_LIFE_MS;
	}
	memcpy(v->action_hash, j->analysis->action_hash, SHA256_SIZE);
	il_policy_hash(j->context->policy, v->policy_hash);
	finish_facts_hash(j, v->facts_hash);
	if (grant_hash(&v->grant, v->grant_hash) != 0)
		v->decision = IL_DENY;
}

static bool finish_effects(struct judgement *j, struct il_verdict *v)
{
	struct effect *effects = arena_alloc_array(j->arena, j->n_effects + 1, sizeof(*effects));

	if (!effects)
		return false;
	for (size_t i = 0; i < j->n_effects; i++)
		effects[i] = j->effects[i].effect;
	v->effects = effects;
	v->n_effects = j->n_effects;
	return true;
}

static void judge_schema(struct judgement *j)
{
	const struct il_analysis *analysis = j->analysis;

	if (analysis->refused)
		judgement_findf(j, "SCHEMA", IL_DENY, IL_SEVERITY_MEDIUM, NULL, "Refused: %s.",
			analysis->refused);
	else if (j->context->otr && !analysis->type->otr_safe)
		judgement_findf(j, "OTR", IL_DENY, IL_SEVERITY_MEDIUM, NULL,
			"Refused: %s may change something, and this session is off the record.",
			analysis->type->name);
}

static void judgement_init(struct judgement *j, struct arena *a, const struct il_analysis *analysis,
	const struct il_context *context)
{
	*j = (struct judgement){ .arena = a, .analysis = analysis, .detail = analysis->detail,
				 .context = context };
	j->places = (struct place_context){ .workspace = analysis->action->workspace,
		.home = analysis->action->home, .state_dir = context->state_dir,
		.config_dir = context->config_dir, .program_dir = context->program_dir };
}

int judgement_prepare(struct judgement *j, struct arena *a, const struct il_analysis *analysis,
	const struct il_fact *facts, size_t n_facts, const struct il_context *context)
{
	const struct effect *effects = analysis->effects;
	size_t n_effects = analysis->n_effects;

	judgement_init(j, a, analysis, context);
	j->facts = facts;
	j->n_facts = n_facts;
	if (j->detail->is_command && !take_command(j, &effects, &n_effects))
		return -ENOMEM;
	return take_effects(j, effects, n_effects) ? 0 : -ENOMEM;
}

void il_judge(struct arena *a, const struct il_analysis *analysis, const struct il_fact *facts,
	size_t n_facts, const struct il_context *context, struct il_verdict *ret_verdict)
{
	struct judgement j;

	*ret_verdict = (struct il_verdict){ .grant = GRANT_NONE };
	if (analysis->refused) {
		judgement_init(&j, a, analysis, context);
	} else {
		int r = judgement_prepare(&j, a, analysis, facts, n_facts, context);

		if (r != 0)
			j.failed = true;
	}
	judge_schema(&j);
	if (!analysis->refused && !j.failed) {
		judge_protection(&j);
		judge_policy(&j);
		judge_flow(&j);
		if (!finish_effects(&j, ret_verdict))
			j.failed = true;
	}
	judge_detectors(&j);
	finish(&j, ret_verdict);
}

int il_grant_wanted(struct arena *a, const struct il_analysis *analysis,
	const struct il_context *context, struct grant *ret_grant)
{
	struct judgement j;
	struct grant grant = GRANT_NONE;
	int r;

	if (analysis->refused)
		return -EINVAL;
	r = judgement_prepare(&j, a, analysis, NULL, 0, context);
	if (r != 0)
		return r;
	(void)judge_grant(&j, &grant); /* its findings are of no interest here */
	if (j.failed)
		return -ENOMEM;
	*ret_grant = grant;
	return 0;
}
