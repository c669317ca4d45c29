/*
 * Judging a canary's report: only its probes count, each by its name and status; what it says of
 * itself does not.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/canary.h"

static const char *const states[] = {
	[IL_SANDBOX_UNAVAILABLE] = "unavailable",
	[IL_SANDBOX_UNSANDBOXED] = "unsandboxed",
	[IL_SANDBOX_PARTIAL] = "partial",
	[IL_SANDBOXED] = "sandboxed",
};

const char *il_sandbox_state_name(enum il_sandbox_state state)
{
	return (unsigned)state < N_ELEMENTS(states) ? states[state] : "unavailable";
}

static const char *status_of(const struct value *probes, const char *name)
{
	for (size_t i = 0; i < probes->size; i++) {
		const char *probe = value_get_text(&probes->items[i], "name");

		if (probe && strcmp(probe, name) == 0)
			return value_get_text(&probes->items[i], "status");
	}
	return NULL;
}

static enum il_proof proof_of(const char *status)
{
	if (status && strcmp(status, "blocked") == 0)
		return IL_PROOF_PROVED;
	if (status && strcmp(status, "skipped") == 0)
		return IL_PROOF_ENVIRONMENT;
	if (status && strcmp(status, "failed") == 0)
		return IL_PROOF_BROKEN;
	return IL_PROOF_NONE; /* missing or unknown: nothing is proved */
}

/* One guarantee has several probes: the worst counts, a missing one as not given. */
static enum il_proof worse(enum il_proof a, enum il_proof b)
{
	static const int rank[] = { [IL_PROOF_NONE] = 1,
		[IL_PROOF_BROKEN] = 0,
		[IL_PROOF_ENVIRONMENT] = 3,
		[IL_PROOF_PROVED] = 2 };

	return rank[a] < rank[b] ? a : b;
}

int il_sandbox_report_judge(const char *report_json, size_t n, enum il_sandbox_profile profile,
	struct il_sandbox_judgement *ret_judgement, struct diag *reterr_diag)
{
	auto_arena struct arena a = { 0 };
	struct il_sandbox_judgement j = { .state = IL_SANDBOXED };
	bool seen[IL_GUARANTEE_N_] = { false };
	unsigned n_proved = 0, n_bad = 0;
	const struct value *report = NULL, *probes, *alive;
	int r;

	arena_init(&a, (size_t)4 << 20);
	if ((unsigned)profile >= IL_PROFILE_N_)
		return diag_set(reterr_diag, -EINVAL, 0, 0, "there is no such profile");
	r = n > 64 * 1024 ? -E2BIG : value_from_json(&a, report_json, n, &report, reterr_diag);
	probes = r == 0 ? value_get(report, "probes") : NULL;
	if (r == 0 && (!probes || probes->kind != VALUE_ARRAY))
		r = diag_set(reterr_diag, -EBADMSG, 0, 0, "the report has no probes");
	if (r != 0)
		return r;
	for (const struct canary_probe *p = canary_probes; p->name; p++) {
		enum il_proof proof;

		if (!(p->profiles & 1u << profile))
			continue;
		proof = proof_of(status_of(probes, p->name));
		j.proof[p->guarantee] =
			seen[p->guarantee] ? worse(j.proof[p->guarantee], proof) : proof;
		seen[p->guarantee] = true;
		n_proved += proof == IL_PROOF_PROVED;
		n_bad += proof == IL_PROOF_BROKEN || proof == IL_PROOF_NONE;
		if (n_bad == 1 && (proof == IL_PROOF_BROKEN || proof == IL_PROOF_NONE))
			(void)snprintf(j.summary, sizeof(j.summary), "%s is %s", p->name,
				proof == IL_PROOF_BROKEN ? "not blocked" : "not reported");
	}
	alive = value_get(report, "alive");
	if (n_bad == 0 &&
		(n_proved == 0 || !alive || alive->kind != VALUE_BOOL || !alive->boolean)) {
		n_bad = 1;
		(void)snprintf(j.summary, sizeof(j.summary), "%s",
			n_proved == 0 ? "no probe proved anything" : "what must work did not");
	}
	if (n_bad > 0)
		j.state = n_proved > 0 ? IL_SANDBOX_PARTIAL : IL_SANDBOX_UNSANDBOXED;
	else
		(void)snprintf(j.summary, sizeof(j.summary), "%u probes blocked", n_proved);
	*ret_judgement = j;
	return 0;
}
