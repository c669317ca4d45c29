/*
 * The forbidden things, tried by the process itself: once before it is confined,
 * as the control, and once after. None of them has an effect that stays.
 */
#pragma once

#include "ipc/probes.h"

void try_before(struct probe_result results[PROBE_N_]);
void try_after(struct probe_result results[PROBE_N_]);
