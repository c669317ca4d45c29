#include "shield/notes.h"

#include <string.h>

static const struct {
	const char *id;
	enum il_decision decision;
	enum il_severity severity;
} notes[] = {
	{ "NOTE-CONTROL-BYTES", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-DECODED-EXEC", IL_DENY, IL_SEVERITY_HIGH },
	{ "NOTE-DEV-TCP", IL_DENY, IL_SEVERITY_HIGH },
	{ "NOTE-DOWNLOAD-RUN", IL_DENY, IL_SEVERITY_HIGH },
	{ "NOTE-DRIVE-DELETED", IL_DENY, IL_SEVERITY_CRITICAL },
	{ "NOTE-FORK-BOMB", IL_DENY, IL_SEVERITY_HIGH },
	{ "NOTE-HIDDEN-COMMAND", IL_ASK, IL_SEVERITY_HIGH },
	{ "NOTE-IGNORES-SIGNAL", IL_ASK, IL_SEVERITY_LOW },
	{ "NOTE-LOADS-CODE", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-PATH-CHANGED", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-PIPE-TO-SHELL", IL_ASK, IL_SEVERITY_HIGH },
	{ "NOTE-REMOTE-COMMAND", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-REVERSE-SHELL", IL_ASK, IL_SEVERITY_HIGH },
	{ "NOTE-RUNS-WRITTEN", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-RUNS-LATER", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-RUNS-TEMPORARY", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-RUNS-UNKNOWN", IL_ASK, IL_SEVERITY_HIGH },
	{ "NOTE-UNKNOWN-DELETE", IL_ASK, IL_SEVERITY_HIGH },
	{ "NOTE-UNKNOWN-PROGRAM", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-UNKNOWN-PATH", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-UNREAD", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-USES-KEY", IL_ASK, IL_SEVERITY_MEDIUM },
	{ "NOTE-WINDOWS-DELETE", IL_ASK, IL_SEVERITY_HIGH },
};

void note_weigh(const char *id, enum il_decision *ret_decision, enum il_severity *ret_severity)
{
	*ret_decision = IL_ASK;
	*ret_severity = IL_SEVERITY_HIGH;
	for (size_t i = 0; i < N_ELEMENTS(notes); i++) {
		if (strcmp(notes[i].id, id) == 0) {
			*ret_decision = notes[i].decision;
			*ret_severity = notes[i].severity;
			return;
		}
	}
}
