/*
 * One event frame as a person reads it: proposal, effects, verdict with rule and
 * reason, snapshot, outcome. Nothing is shown that is not in the frame.
 */
#pragma once

#include "ipc/message.h"

void event_show(const struct message *event);
