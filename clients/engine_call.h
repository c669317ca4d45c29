/*
 * Asking the running engine of a workspace: what most commands that need one do.
 * Failures are told on stderr with the remedy.
 */
#pragma once

#include "clients/workspace.h"
#include "ipc/client.h"

/* Connects as ROLE_CLIENT or ROLE_APPROVER; 0, or -errno after a message. */
int engine_connect(const struct workspace *w, enum role role, struct client *ret_client) MUST_CHECK;
/* One question and its answer; 0, or -errno after a message. */
int engine_ask(struct client *c, enum message_kind kind, const struct value *body,
	client_part_fn on_part, void *ctx, struct message *ret_message) MUST_CHECK;
/* Says why the last call failed. */
void engine_complain(struct client *c, int r, const struct message *answer);
/* JSON text of a part of a message on stdout. */
void print_json(const struct value *v);
