/*
 * Landlock: what the running kernel offers and how a plan's places and ports become
 * a ruleset. Rights only add; nothing here denies inside an allowed tree. Source: the
 * kernel's Documentation/userspace-api/landlock.rst.
 */
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "sandbox/plan.h"

/* The ABI; 0: none (not built in, or not enabled at boot). */
uint32_t landlock_abi(void);

/* What an ABI can hold. Bits of the kernel's own values. */
struct landlock_rights {
	uint64_t fs, net, scope;
};
void landlock_rights_of(uint32_t abi, struct landlock_rights *ret_rights);

/*
 * Restricts this thread for ever; no_new_privs must be set. 0, -ENOSYS without Landlock, or -errno
 * with *reterr_path naming the place (or NULL).
 */
int landlock_apply(const struct il_sandbox_plan *plan, const char **reterr_path) MUST_CHECK;
