/*
 * The git actions, as commands under their grant. What a repository could make git run - hooks,
 * fsmonitor, external diff, text converters, credential helpers, pagers, editors, signers - is off.
 */
#pragma once

#include "engine/proposal.h"

int exec_git(struct proposal *p) MUST_CHECK;
