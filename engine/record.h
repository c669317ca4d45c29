/*
 * What goes into the audit log, and the rule that a failed write stops everything:
 * after one, engine.audit_broken is set and no action runs any more.
 */
#pragma once

#include "engine/proposal.h"

/* Queues the entry of this event for the proposal. Counts one in p->n_pending and resumes it when
 * all are done. */
int record_proposal(struct proposal *p, const char *event) MUST_CHECK;
/* Not waited for. details may be NULL and is used before the call returns. */
void record_event(struct engine *e, const char *event, const char *session, const char *origin,
	const struct value *details);
/* Queues begin: the state of everything that p->places names. Counts one in n_pending. */
int record_begin(struct proposal *p) MUST_CHECK;
/* The after-scan of p->snapshot with the outcome of p->status. Counts one in n_pending. */
int record_seal(struct proposal *p) MUST_CHECK;
/* One part of a step is done: the last one resumes the proposal. */
void record_part_done(struct proposal *p);
