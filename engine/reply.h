/*
 * What a proposal's end looks like on the wire: result, tool_result or verdict, whichever its
 * opener waits for.
 */
#pragma once

#include "engine/proposal.h"

void reply_send(struct proposal *p);
