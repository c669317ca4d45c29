/*
 * The web front end: a program of its own, started when the configuration names it. Its first line
 * on standard output says what became of it: "WEB:<port>" or "WEB_FAILED:<port>:<error>"; we pass
 * the line on.
 */
#pragma once

#include "base/cleanup.h"
#include "engine/engine.h"

/* Prints WEB_DISABLED at once when none is configured; else starts it and prints its line when it
 * comes. */
void web_start(struct engine *e);
void web_stop(struct engine *e);
void web_close(struct engine *e);
