/*
 * A sandbox plan: everything that applying will do, as plain data. It is built from a
 * grant or a configuration, printed as JSON, sent to another process as bytes, and
 * applied in one pass (sandbox/apply.h).
 *
 * A plan names paths; they are opened when it is applied, by the process that it
 * confines. Everything in it is owned by it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/errors.h"
#include "sandbox/filter.h"
#include "sandbox/sandbox.h"

#define PLAN_PLACES_MAX 512
#define PLAN_PORTS_MAX  64
#define PLAN_FDS_MAX    64
#define PLAN_ENV_MAX    128

/* What a place allows; sandbox/landlock_linux.c turns it into the running kernel's rights. */
enum plan_right {
	PLAN_READ = 1 << 0,
	PLAN_WRITE = 1 << 1, /* content of existing files */
	PLAN_CREATE = 1 << 2,
	PLAN_DELETE = 1 << 3,
	PLAN_EXEC = 1 << 4,
	PLAN_DEVICE = 1 << 5, /* ioctl on devices */
};

struct plan_place {
	const char *path; /* absolute */
	uint32_t rights;
	bool optional; /* skipped when absent: system paths that not every machine has */
};

struct il_sandbox_plan {
	struct arena memory; /* owns all that follows */
	enum il_sandbox_profile profile;
	enum filter_variant filter;
	struct plan_place *places;
	size_t n_places;
	uint16_t *connect_ports;
	size_t n_connect_ports;
	uint16_t *bind_ports;
	size_t n_bind_ports;
	int *keep_fds; /* besides 0, 1, 2 */
	size_t n_keep_fds;
	const char **pass_env;
	size_t n_pass_env;
	bool ports_only;   /* hosts were named and only their ports are held */
	bool keep_session; /* no session of its own: the caller has made one */
};

/* An empty plan; NULL without memory. */
struct il_sandbox_plan *plan_new(enum il_sandbox_profile profile) MUST_CHECK;
int plan_add_place(struct il_sandbox_plan *p, const char *path, uint32_t rights, bool optional)
	MUST_CHECK;
/* The system directories and devices that every program needs; the reference's list. */
int plan_add_system(struct il_sandbox_plan *p) MUST_CHECK;
/*
 * For a command that already stands in namespaces of its own: the network namespace holds what the
 * filter otherwise must, so sockets of all usual families are allowed.
 */
void plan_set_namespaces(struct il_sandbox_plan *p, bool has_network_namespace);
int plan_keep_fd(struct il_sandbox_plan *p, int fd) MUST_CHECK;

/* Bytes for a memfd, and back: strict, -EBADMSG for anything else. */
int plan_encode(const struct il_sandbox_plan *p, struct buf *out) MUST_CHECK;
int plan_decode(const uint8_t *bytes, size_t n, struct il_sandbox_plan **ret_plan) MUST_CHECK;
