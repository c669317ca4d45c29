#include "shield/notes.h"

#include <string.h>

static const struct {
	const char *id;
	enum il_decision decision;
	enum il_severity severity;
} notes[] = {
	{ "NOTE-PIPE-TO-SHELL", IL_ASK, IL_SEVERITY_HIGH },
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
