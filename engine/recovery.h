/*
 * After a crash: every intent without an outcome becomes `interrupted`. What it changed is found by
 * the snapshot's after-scan and recorded; rolling it back is the user's choice.
 */
#pragma once

#include "engine/engine.h"

/* Also sets engine.next_number above every number ever used. */
int recovery_run(struct engine *e) MUST_CHECK;
