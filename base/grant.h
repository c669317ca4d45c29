/*
 * A grant: the rights under which one allowed action runs. It is plain data;
 * a sandbox plan is built from it, the runner applies exactly it, and what was
 * really enforced is attested against its hash.
 *
 * Rights only add up: whatever a grant does not name is not given. `armed`
 * decides what happens to the files that make other programs run code
 * (base/arms.h) inside writable trees.
 *
 * A grant's canonical bytes are canon.h's form of the map that grant_to_value()
 * builds; its hash is SHA-256 over them. grant_subset() is what keeps a grant
 * within the user's ceiling.
 *
 * Ownership: a struct grant built by a decoder or by shield borrows all its
 * memory from one arena. Arrays may be NULL when their count is 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/value.h"

IL_API_BEGIN

#define GRANT_PATHS_MAX   256
#define GRANT_HOSTS_MAX   256
#define GRANT_SECRETS_MAX 16
#define GRANT_SOCKETS_MAX 16
#define GRANT_EXEC_MAX    64

enum grant_right {
	GRANT_READ = 1 << 0,   /* read files, list directories */
	GRANT_WRITE = 1 << 1,  /* change the content of existing files, truncate */
	GRANT_CREATE = 1 << 2, /* make new names: files, directories, links; rename into */
	GRANT_DELETE = 1 << 3, /* remove names; rename out of */
	GRANT_EXEC = 1 << 4,   /* execute files */

	GRANT_WRITABLE = GRANT_READ | GRANT_WRITE | GRANT_CREATE | GRANT_DELETE | GRANT_EXEC,
};

/*
 * One place: `path` beneath roots[root]. "" is the root itself. A directory
 * covers everything beneath it. hide (with no rights) takes a place out of a
 * granted tree again: only mounts can enforce that.
 */
struct grant_path {
	uint32_t root;
	const char *path; /* relative, canonical: no "", ".", ".." components, no trailing slash */
	uint32_t rights;  /* of enum grant_right */
	bool hide;
};

enum grant_net {
	GRANT_NET_NONE,      /* no network but the command's own loopback */
	GRANT_NET_HOSTS,     /* only hosts[], enforced by host at run time ("strict") */
	GRANT_NET_PREFLIGHT, /* open at run time; what the arguments show is checked before the
				start */
	GRANT_NET_OPEN,
	GRANT_NET_N_
};

struct grant_host {
	const char
		*host; /* lower-case name, ".suffix" for all names below, or a canonical address */
	uint16_t port; /* 0: 80 and 443 */
	bool private_ok; /* may resolve to a private, loopback or link-local address */
};

enum grant_secret_kind {
	GRANT_SECRET_ENV,  /* an environment variable `name` */
	GRANT_SECRET_FILE, /* a private file whose path is in `name` */
	GRANT_SECRET_SSH_AGENT,
	GRANT_SECRET_N_
};

/* The value itself is never in a grant: `source` says where the runner fetches it. */
struct grant_secret {
	enum grant_secret_kind kind;
	const char *name;
	const char *source; /* "env:NAME", "file:/absolute/path", "ssh-agent" */
	const char *host;   /* the only host it is for; one of hosts[] */
};

enum grant_armed {
	GRANT_ARMED_READONLY, /* armed files cannot be changed (prevented, or restored where a tier
				 cannot prevent) */
	GRANT_ARMED_WRITABLE,
	GRANT_ARMED_N_
};

enum grant_git {
	GRANT_GIT_READONLY, /* the repository's own data is read-only too */
	GRANT_GIT_COMMIT, /* objects, refs, index, logs may change; hooks and config are armed files
			   */
	GRANT_GIT_N_
};

/* 0 means "no limit of ours" everywhere. */
struct grant_limits {
	uint64_t wall_ms;
	uint64_t cpu_ms;
	uint64_t memory_bytes;    /* of the whole tree of processes */
	uint64_t processes;       /* of the whole tree */
	uint64_t output_bytes;    /* both streams together */
	uint64_t file_size_bytes; /* of each file written */
};

struct grant {
	const char *profile; /* "read-only", "workspace-write", ... for people; grants nothing by
				itself */
	const char *const *roots; /* absolute canonical directories; roots[0] is the workspace */
	size_t n_roots;
	const struct grant_path *paths;
	size_t n_paths;
	bool system_readable; /* the system directories of docs/sandbox.md, read and execute */
	enum grant_net net;
	const struct grant_host *hosts;
	size_t n_hosts;
	const char *const *unix_sockets; /* absolute paths that may be connected to */
	size_t n_unix_sockets;
	const struct grant_secret *secrets;
	size_t n_secrets;
	bool may_spawn;    /* may start programs at all */
	bool interpreters; /* shells, python, node ... may be started with code */
	const char *const
		*exec; /* program names or absolute paths that may be started; n_exec 0: any */
	size_t n_exec;
	enum grant_armed armed;
	enum grant_git git;
	struct grant_limits limits;
};

/* Nothing at all: no place, no network, no program. */
#define GRANT_NONE ((struct grant){ .profile = "none" })

/*
 * Checks every count, enum, path and host of a grant from outside. Returns 0,
 * or -EINVAL with the field and the reason.
 */
int grant_check(const struct grant *g, struct diag *reterr_diag) MUST_CHECK;

/* The grant as a map; NULL when the arena is full. */
const struct value *grant_to_value(struct arena *a, const struct grant *g) MUST_CHECK;
/* Strict inverse: unknown keys are refused; the result passed grant_check(). */
int grant_from_value(struct arena *a, const struct value *v, struct grant *ret_grant,
	struct diag *reterr_diag) MUST_CHECK;
int grant_hash(const struct grant *g, uint8_t ret_hash[static SHA256_SIZE]) MUST_CHECK;

/*
 * True if everything `g` gives is given by `ceiling` too: every place with its
 * rights beneath a place of the ceiling that is not hidden there, every host and
 * port, socket, secret, program, and no limit looser. When false, reterr_diag names
 * the first thing that is too wide. Unsure means false.
 */
bool grant_subset(const struct grant *g, const struct grant *ceiling, struct diag *reterr_diag);

/*
 * The rights that g gives on an absolute canonical path (the longest matching
 * place counts; hide wins at equal length), without system_readable.
 */
uint32_t grant_rights_on(const struct grant *g, const char *path);

IL_API_END
