/*
 * The runner's end of a command's way out: reads requests, connects on a thread under the
 * grant's hosts, passes the connected descriptor, and logs every decision.
 */
#pragma once

#include <stddef.h>
#include <uv.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/grant.h"

struct run_broker;

/* Copies the hosts; takes fd. on_closed follows run_broker_close(), after the last connecting. */
int run_broker_open(uv_loop_t *loop, int fd, const struct grant_host *hosts, size_t n_hosts,
	struct run_broker **ret_broker) MUST_CHECK;
void run_broker_close(struct run_broker *b, void (*on_closed)(void *ctx), void *ctx);
/* The decisions as the items of a JSON array; borrowed until closed. */
const char *run_broker_log(const struct run_broker *b);
