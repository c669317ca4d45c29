/* The questions about what is kept: status, audit, chronicle, sessions, background commands. */
#pragma once

#include "engine/commands.h"
#include "engine/engine.h"
#include "engine/sessions.h"

void service_status(struct engine *e, struct connection *c, const struct message *m);
void service_shield_status(struct engine *e, struct connection *c, const struct message *m);
void service_audit_query(struct engine *e, struct connection *c, const struct message *m);
void service_audit_verify(struct engine *e, struct connection *c, const struct message *m);
void service_why(struct engine *e, struct connection *c, const struct message *m);
void service_chronicle(struct engine *e, struct connection *c, const struct message *m);
void service_sessions(struct engine *e, struct connection *c, const struct message *m);
