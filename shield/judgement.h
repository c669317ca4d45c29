/*
 * One verdict in the making: what il_judge() passes from step to step. Each step
 * only adds findings; the strongest of them decides, so their order never
 * matters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "shield/command.h"
#include "shield/place.h"
#include "shield/shield.h"

/* What il_analyse() keeps for il_judge(). */
struct analysis_detail {
	bool is_command; /* `command` is set */
	const char *cwd;
	struct command_result command;
};

/* How much of an object is lost when it is deleted or overwritten. */
enum object_state {
	STATE_UNKNOWN,
	STATE_ABSENT,	 /* nothing there */
	STATE_OWN,	 /* the same action made it */
	STATE_ARTEFACT,	 /* a build makes it again */
	STATE_TRACKED,	 /* in git and unchanged */
	STATE_MODIFIED,	 /* in git, with changes that are nowhere else */
	STATE_UNTRACKED, /* the only copy */
	STATE_N_
};

/* An effect with what the tables say of its object. */
struct judged_effect {
	struct effect effect;
	struct place place; /* of path objects */
	enum object_state state;
	bool is_path;
	bool written_by_agent;
};

struct judgement {
	struct arena *arena;
	const struct il_analysis *analysis;
	const struct analysis_detail *detail;
	const struct il_fact *facts;
	size_t n_facts;
	const struct il_context *context;
	struct place_context places;
	struct judged_effect *effects;
	size_t n_effects;
	struct il_finding *findings;
	size_t n_findings, capacity;
	const struct command_call *calls;
	size_t n_calls;
	const struct command_note *notes;
	size_t n_notes;
	bool opaque;
	bool failed; /* out of memory somewhere: the verdict is deny */
	enum label label; /* highest of what is read */
	unsigned tier;	  /* of an ask by a verify rule */
	const uint8_t *approved_grant; /* hash of the grant that an approving rule was given for */
};

/* Text is copied by the caller where it needs to be; field may be NULL. */
void judgement_find(struct judgement *j, const struct il_finding *finding);
/* With a text made by printf; origin is the effect's, when one is given. */
void judgement_findf(struct judgement *j, const char *id, enum il_decision decision,
	enum il_severity severity, const struct effect *origin, const char *format, ...)
	PRINTF_LIKE(6, 7);

/* Effects with facts and tables, before any step; -ENOMEM. The analysis must not be refused. */
int judgement_prepare(struct judgement *j, struct arena *a, const struct il_analysis *analysis,
	const struct il_fact *facts, size_t n_facts, const struct il_context *context) MUST_CHECK;

/* The steps, each in its own file. */
void judge_protection(struct judgement *j);
void judge_policy(struct judgement *j);
void judge_flow(struct judgement *j);
void judge_detectors(struct judgement *j);
/* Tier 1 over effects: hosts in disguise, secret variables. */
void detect_effects(struct judgement *j);
/* The grant that an allow would carry; false with a finding when none can cover the effects. */
bool judge_grant(struct judgement *j, struct grant *ret_grant);

/* True for kinds whose object is a path. */
bool is_path_effect(enum effect_kind kind);
const char *object_state_name(enum object_state state);
/* Loopback in any notation of a host. */
bool is_host_loopback(const char *host);
/* Private, link-local, metadata and other addresses that are not the internet's, in every notation. */
bool is_host_internal(const char *host);
/* The services that hand out credentials of cloud machines. */
bool is_host_metadata(const char *host);
