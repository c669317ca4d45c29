#include <string.h>

#include "shield/detect.h"
#include "shield/place_table.h"
#include "shield/shield.h"

static const struct {
	const char *id, *what;
} built_in[] = {
	{ "SCHEMA", "the action or one of its fields is not as the action table says" },
	{ "OTR", "an action that may change something, in a session off the record" },
	{ "DEFAULT", "no rule of the policy speaks of an effect, so that its default counts" },
	{ "NO-EFFECT", "nothing outside the process itself is touched" },
	{ "JUDGE-FAILED", "the judgement did not fit into its memory" },
	{ "PROT-VITAL", "deleting a directory that a machine or a user lives in" },
	{ "PROT-ABOVE", "a recursive access that reaches credentials or settings" },
	{ "PROT-PROCESSES", "what other processes hold in memory and have open" },
	{ "PROT-ARMED", "writing a file that another program runs by itself" },
	{ "ASK-ATTRIBUTES", "changing the attributes of everything in the workspace" },
	{ "FLOW-EXTERNAL", "labelled data and a sink outside this machine in one action" },
	{ "FLOW-COPY", "labelled data into a place that is labelled lower" },
	{ "FLOW-SESSION", "a sink that must not get what this session has received" },
	{ "FLOW-REPLY", "the model's provider would receive labelled data" },
	{ "GRANT-HOST", "a host that cannot be known before the start" },
	{ "GRANT-PRIVILEGE", "a privilege that no grant can give" },
	{ "GRANT-UNPROVED", "an allow that would rely on what is not proved on this machine" },
	{ "GRANT-CEILING", "more than the ceiling of the policy gives" },
	{ "GRANT-FULL", "more places than one grant can name" },
	{ "APPROVAL-STALE", "approved before, but under another grant" },
	{ "DET-SECRET", "a text that has the form of a secret" },
	{ "DET-METADATA", "a service that hands out credentials of a cloud machine" },
	{ "DET-SSRF", "an address that is not on the internet" },
	{ "DET-URL-USER", "an address that shows another host than it reaches" },
	{ "DET-VARIABLE", "a variable whose value is a secret" },
	{ "DET-DUMP-SENT", "a dump of a database and a connection in one command" },
	{ "DET-RECON-SENT", "what a machine tells of itself and a connection in one command" },
	{ "DET-PIPED-UNSAFE", "a script that nothing protects on its way is run" },
	{ "DET-SENTENCE", "a command that reads like a sentence" },
	{ "DET-ENVIRONMENT", "the whole environment would be shown" },
	{ "DET-OPTION-NAME", "a file whose name later commands take for an option" },
	{ "DET-BUILD-FILE", "a command writes what a build service runs" },
	{ "DET-WRITTEN", "running what the agent itself wrote" },
};

static const char *explain_row(const struct detect_row *rows, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].id, id) == 0)
			return rows[i].what;
	}
	return NULL;
}

const char *il_finding_explain(const char *id)
{
	const char *what;

	for (size_t i = 0; i < N_ELEMENTS(built_in); i++) {
		if (strcmp(built_in[i].id, id) == 0)
			return built_in[i].what;
	}
	what = explain_row(detect_rows, detect_n_rows, id);
	if (!what)
		what = explain_row(detect_calls, detect_n_calls, id);
	for (size_t i = 0; !what && i < place_n_rows; i++) {
		if (strcmp(place_rows[i].id, id) == 0)
			what = place_rows[i].what;
	}
	return what;
}
