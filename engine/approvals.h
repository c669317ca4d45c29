/*
 * Questions to a person: asked when a verdict is `ask`, answered by the approver role
 * alone, gone after approvals.time. Both are audited.
 *
 *	ASKED ──approve──> APPROVED (covers one proposal of the same bytes, facts, policy and grant)
 *──used──> gone └──deny, time, withdrawn──> gone
 *
 * A proposal that waits is resumed by the answer; one that does not is told `needs_approval` with
 *the id, and the same proposal again finds the answer here.
 */
#pragma once

#include <stdbool.h>

#include "engine/proposal.h"

#define APPROVAL_ID_SIZE 33
#define APPROVALS_MAX    256

struct approval {
	struct approval *next;
	char id[APPROVAL_ID_SIZE];
	uint8_t action_hash[SHA256_SIZE], grant_hash[SHA256_SIZE], policy_hash[SHA256_SIZE],
		facts_hash[SHA256_SIZE];
	char *question, *type, *session; /* owned */
	uint64_t number, asked_ms, expires_ms;
	struct proposal *waiting; /* or NULL */
	bool approved;
};

/* An earlier answer covers exactly this verdict: it is used up, p->approved is set. */
bool approvals_covers(struct proposal *p);
/* Asks. True: p waits. False: p has its answer or its failure. */
bool approvals_ask(struct proposal *p);
/* p was cancelled while it waited (else nothing happens): resumes it. */
void approvals_withdraw(struct proposal *p);
/* 0; -ENOENT for an unknown or settled id; -ESTALE when action_hash is given and is not the
 * question's. */
int approvals_answer(struct engine *e, const char *id, bool approve, const char *action_hash,
	const char *origin) MUST_CHECK;
/* Drops what is over its time. */
void approvals_tick(struct engine *e);
void approvals_close(struct engine *e); /* all waiting ones are cancelled */
