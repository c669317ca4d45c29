/*
 * The way of one action, as a list of steps over struct proposal (pipeline.c has the
 * list). A step ends at once or waits for a thread, a child or a person and is resumed by
 * pipeline_run(). After a failure only the steps that must always run do: seal, outcome, reply.
 */
#pragma once

#include "engine/proposal.h"

/* Runs p from where it stands; p may be gone when it returns. */
void pipeline_run(struct proposal *p);
/* A stream was withdrawn: takes effect before the next step, and at once on a command or a
 * question. */
void pipeline_cancel(struct proposal *p);
