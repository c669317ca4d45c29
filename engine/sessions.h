/*
 * Sessions: which are off the record is in memory (they leave no trace on disk); the others, their
 * messages and the events of the engine are in the database (database.h).
 */
#pragma once

#include <stdbool.h>

#include "engine/engine.h"

struct otr_session {
	struct otr_session *next;
	char id[37];
};

bool sessions_is_otr(const struct engine *e, const char *id);
/* A fresh id; 0, -errno. */
int sessions_add_otr(struct engine *e, const char *id) MUST_CHECK;
void sessions_new_id(char ret_id[static 37]);
void sessions_close(struct engine *e);
