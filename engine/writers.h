/*
 * Writers whose places overlap queue behind each other, in the order they came.
 */
#pragma once

#include "engine/proposal.h"

/* What the verdict's action may change, from its effects or, for commands, from its grant. 0,
 * -ENOMEM. */
int places_of(struct proposal *p) MUST_CHECK;
/* True: p may go on and counts as running. False: it is resumed when its turn comes. */
bool writers_enter(struct proposal *p);
void writers_leave(struct proposal *p);
