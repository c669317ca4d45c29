/*
 * The database of sessions and messages: interlock.db in the state directory, SQLite with
 * WAL, one writer thread, a schema version with migrations. Sessions off the record never come
 * here.
 */
#pragma once

#include "engine/engine.h"

/* Opens, checks that WAL is really on, migrates. -EPROTO for a newer schema than ours. */
int database_open(struct engine *e) MUST_CHECK;
void database_close(struct engine *e);
/* Not waited for; a failure is logged. id NULL: a fresh one. The session is made when it is new. */
void database_message(struct engine *e, const char *session, const char *id, const char *role,
	const char *content);
/* sessions, session_new, session_delete, history: answered when the thread has the answer. */
void database_ask(struct engine *e, struct connection *c, const struct message *m);
