#include "audit/audit.h"

#include <string.h>

/* 1-29 are the reference's, with its ids; ours follow from 100. docs/audit.md says which are
 * emitted. */
static const struct {
	unsigned id;
	const char *name;
} events[] = {
	{ 1, "ActionProposed" },
	{ 2, "ActionEvaluated" },
	{ 3, "ActionApproved" },
	{ 4, "ActionBlocked" },
	{ 5, "ActionExecuted" },
	{ 6, "ActionFailed" },
	{ 7, "ShieldError" },
	{ 8, "CanaryVerified" },
	{ 9, "CanaryMissing" },
	{ 10, "RateLimitHit" },
	{ 11, "BudgetExhausted" },
	{ 12, "SelfProtection" },
	{ 13, "TransactionBegin" },
	{ 14, "TransactionCommit" },
	{ 15, "TransactionRollback" },
	{ 16, "IntegrityViolation" },
	{ 17, "SessionStarted" },
	{ 18, "SessionEnded" },
	{ 19, "ConfigChanged" },
	{ 20, "IFCClassified" },
	{ 21, "ChronicleSnapshot" },
	{ 22, "ChronicleSnapshotFailed" },
	{ 23, "SandboxCanaryResult" },
	{ 24, "SecurityModeChanged" },
	{ 25, "SealedConfigTamperDetected" },
	{ 26, "ProtectionBypassAttempted" },
	{ 27, "IFCBlocked" },
	{ 28, "IFCAuditWouldBlock" },
	{ 29, "IFCSweep" },
	{ 100, "LogOpened" },
	{ 101, "LogClosed" },
	{ 102, "LogRecovered" },
	{ 103, "LogPruned" },
	{ 104, "Checkpoint" },
	{ 110, "EngineStarted" },
	{ 111, "EngineStopped" },
	{ 112, "AgentStarted" },
	{ 113, "AgentEnded" },
	{ 114, "PeerRefused" },
	{ 115, "PolicyReloaded" },
	{ 116, "Paused" },
	{ 117, "Resumed" },
	{ 118, "Panic" },
	{ 120, "ActionIntended" },
	{ 121, "ActionInterrupted" },
	{ 122, "ActionCancelled" },
	{ 123, "ApprovalAsked" },
	{ 124, "ApprovalDenied" },
	{ 125, "ApprovalExpired" },
	{ 126, "RolledBack" },
	{ 127, "TokenCreated" },
};

const char *il_audit_event_name(unsigned id)
{
	for (size_t i = 0; i < N_ELEMENTS(events); i++) {
		if (events[i].id == id)
			return events[i].name;
	}
	return NULL;
}

unsigned il_audit_event_id(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(events); i++) {
		if (strcmp(events[i].name, name) == 0)
			return events[i].id;
	}
	return 0;
}
