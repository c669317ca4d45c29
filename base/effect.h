/*
 * Effects: the typed consequences of an action. Policy, protection, information
 * flow, snapshots and audit all work on effects, never on the text of a
 * command, so that every spelling of a deed meets the same rule.
 *
 * Memory of texts is borrowed from the analysis that made the effect.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/value.h"

IL_API_BEGIN

enum effect_kind {
	EFFECT_OPAQUE, /* cannot be known; `object` says why. 0: memory nobody wrote is the worst
			  case */
	EFFECT_READ,   /* object: absolute canonical path */
	EFFECT_LIST,
	EFFECT_WRITE, /* changes an existing file, or makes one */
	EFFECT_CREATE,
	EFFECT_DELETE,
	EFFECT_RENAME,     /* object → target */
	EFFECT_ATTRIBUTES, /* mode, owner, times, xattrs */
	EFFECT_EXEC,       /* object: program as named; target: its resolved path where known */
	EFFECT_CONNECT,    /* object: host; port */
	EFFECT_LISTEN,     /* object: address; port */
	EFFECT_SEND,   /* object: what (a path, "stdin", "literal", "environment"); target: the sink
			  (host, program, action) */
	EFFECT_SIGNAL, /* object: pid, name or "all" */
	EFFECT_SPAWN_AGENT,
	EFFECT_SCHEDULE,
	EFFECT_REMEMBER,
	EFFECT_ENVIRONMENT, /* object: variable read or set */
	EFFECT_PRIVILEGE,   /* object: sudo, setuid, capability ... */
	EFFECT_ARMS,        /* object: path of a file that something runs later; base/arms.h */
	EFFECT_N_
};

enum effect_certainty {
	EFFECT_POSSIBLE, /* may happen, depending on what cannot be seen */
	EFFECT_CERTAIN,
	EFFECT_CERTAINTY_N_
};

/* Sensitivity of data. Order matters: higher is more sensitive. */
enum label {
	LABEL_PUBLIC,
	LABEL_INTERNAL,
	LABEL_CONFIDENTIAL,
	LABEL_RESTRICTED,
	LABEL_CRITICAL,
	LABEL_N_
};

struct effect {
	enum effect_kind kind;
	enum effect_certainty certainty;
	enum label label;     /* of the data that is read or sent */
	bool recursive;       /* the object and everything beneath it */
	uint16_t port;        /* 0: not known or not meant */
	const char *object;   /* never NULL */
	const char *target;   /* or NULL */
	const char *field;    /* payload field it came from: "command", "path" ... */
	uint32_t origin_at;   /* bytes into that field */
	uint32_t origin_size; /* 0: the whole field */
};

const char *effect_kind_name(enum effect_kind kind); /* "read", "connect" ... */
const char *label_name(enum label label);
/* 0 or -EINVAL */
int effect_kind_parse(const char *name, enum effect_kind *ret_kind) MUST_CHECK;
int label_parse(const char *name, enum label *ret_label) MUST_CHECK;
/* True for kinds that change something: what a snapshot must cover and OTR refuses. */
bool effect_kind_mutates(enum effect_kind kind);

/* For records and replies; NULL when the arena is full. */
const struct value *effect_to_value(struct arena *a, const struct effect *e) MUST_CHECK;

IL_API_END
