/*
 * Information flow: which label may go into which kind of sink.
 */
#pragma once

#include "base/effect.h"
#include "shield/shield.h"

enum flow_preset { FLOW_PRESET_DEFAULT, FLOW_PRESET_STRICT, FLOW_PRESET_PERMISSIVE, FLOW_PRESET_N_ };

/* -1 when unknown. */
int flow_preset_find(const char *name);
/* What the preset says of data of this label in this sink. */
enum il_decision flow_rule(enum flow_preset preset, enum label label, enum il_sink sink);
/* The label that files of this path carry in the session, IL_FLOW entries included. */
enum label flow_label_of(const struct il_flow *flow, const char *path, uint64_t device,
	uint64_t inode);
