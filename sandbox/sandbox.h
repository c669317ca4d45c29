/*
 * sandbox: lock a process in, then prove it.
 *
 *	grant or config → il_sandbox_plan (data) → il_sandbox_apply_self (one pass)
 *	               → il_sandbox_verify (the canary) → il_sandbox_status
 *
 * A plan is data: printable as JSON, testable without being applied. Applying is
 * all or nothing: a step that fails names itself and the process must exit with
 * EXIT_STATUS_UNCONFINED. The calling process must be single-threaded.
 *
 * On Linux: Landlock + seccomp + no_new_privs + descriptor, environment and
 * limit hygiene. Other platforms answer mode "none" until they have a back-end
 * (files are named sandbox/<part>_<platform>.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/grant.h"
#include "base/value.h"

enum il_sandbox_profile {
	IL_PROFILE_CUSTOM,
	IL_PROFILE_AGENT,   /* no file, no socket, no child; one stream */
	IL_PROFILE_FETCH,   /* one connected descriptor a call */
	IL_PROFILE_EGRESS,  /* listens inside a command's network namespace */
	IL_PROFILE_FILES,   /* exactly the grant's files */
	IL_PROFILE_WEB,     /* one loopback port */
	IL_PROFILE_COMMAND, /* any program under a grant */
	IL_PROFILE_N_
};
IL_API const char *il_sandbox_profile_name(enum il_sandbox_profile profile);

/* Each guarantee is proved by canary probes and has escape tests. docs/sandbox.md explains them. */
enum il_guarantee {
	IL_GUARANTEE_FILE_READ,
	IL_GUARANTEE_FILE_WRITE,
	IL_GUARANTEE_LISTING,
	IL_GUARANTEE_TRUNCATE,
	IL_GUARANTEE_DEVICE_IOCTL,
	IL_GUARANTEE_EXEC,
	IL_GUARANTEE_TCP_CONNECT,
	IL_GUARANTEE_TCP_BIND,
	IL_GUARANTEE_UDP,
	IL_GUARANTEE_MPTCP,
	IL_GUARANTEE_FASTOPEN,
	IL_GUARANTEE_UNIX_PATH_SOCKET,
	IL_GUARANTEE_ABSTRACT_SOCKET,
	IL_GUARANTEE_SIGNAL,
	IL_GUARANTEE_PTRACE,
	IL_GUARANTEE_PROC_ENVIRON,
	IL_GUARANTEE_IO_URING,
	IL_GUARANTEE_USER_NAMESPACE,
	IL_GUARANTEE_INHERITED_FD,
	IL_GUARANTEE_ENVIRONMENT,
	IL_GUARANTEE_SYSCALLS,   /* the profile's allow-list holds for every number */
	IL_GUARANTEE_PRIVILEGES, /* no new privileges, no capabilities */
	/* only with namespaces (sandbox/runner): */
	IL_GUARANTEE_HIDE, /* deny inside an allowed tree */
	IL_GUARANTEE_ARMED_READONLY,
	IL_GUARANTEE_NET_NAMESPACE,
	IL_GUARANTEE_NET_HOSTS, /* strict egress by host */
	IL_GUARANTEE_PID_NAMESPACE,
	IL_GUARANTEE_LIMIT_MEMORY_TREE,
	IL_GUARANTEE_LIMIT_PROCESSES_TREE,
	IL_GUARANTEE_N_
};
IL_API const char *il_guarantee_name(enum il_guarantee g);

/* How far a guarantee goes here. 0: not given. */
enum il_proof {
	IL_PROOF_NONE,        /* not given */
	IL_PROOF_BROKEN,      /* claimed but a probe got through */
	IL_PROOF_ENVIRONMENT, /* impossible here anyway: the positive control failed too */
	IL_PROOF_PROVED,
	IL_PROOF_N_
};

struct il_sandbox_status {
	bool active;
	char mode[32];    /* "landlock+seccomp", "landlock", "seccomp", "none" */
	uint32_t version; /* Landlock ABI; 0: none */
	bool filesystem;
	bool network; /* true only if this build enforces it here */
	char reason[256];
};

struct il_sandbox_step_error {
	const char *step; /* "no_new_privs", "landlock", "seccomp" ... */
	int error;        /* errno */
	char text[192];
};

struct il_sandbox_target {
	const char *host; /* a host is a load error on Linux unless ports_only */
	uint16_t port;
};

/* A configuration without a grant, as the reference has it (env INTERLOCK_SANDBOX, JSON). */
struct il_sandbox_config {
	enum il_sandbox_profile profile;
	const char *const *readable, *const *writable;
	size_t n_readable, n_writable;
	const struct il_sandbox_target *connect;
	size_t n_connect;
	const uint16_t *bind_ports;
	size_t n_bind_ports;
	bool may_spawn, may_use_unix_sockets, ports_only;
	const int *keep_fds; /* besides 0, 1, 2 */
	size_t n_keep_fds;
	const char *const *pass_env; /* names kept beside the profile's own */
	size_t n_pass_env;
};

struct il_sandbox_plan; /* sandbox/plan.h */

IL_API int il_sandbox_plan_config(const struct il_sandbox_config *config,
	struct il_sandbox_plan **ret_plan, struct diag *reterr_diag) MUST_CHECK;
/* Only what Landlock and seccomp can hold; places with `hide` and hosts need the runner's
 * namespaces (-EOPNOTSUPP names them). */
IL_API int il_sandbox_plan_grant(const struct grant *grant, enum il_sandbox_profile profile,
	struct il_sandbox_plan **ret_plan, struct diag *reterr_diag) MUST_CHECK;
IL_API struct il_sandbox_plan *il_sandbox_plan_free(struct il_sandbox_plan *plan);
IL_API int il_sandbox_plan_to_json(const struct il_sandbox_plan *plan, char **ret_json) MUST_CHECK;

IL_API bool il_sandbox_available(void);
IL_API const char *il_sandbox_mode(void);
/* What a process confined here would get; nothing is applied. */
IL_API int il_sandbox_probe(struct il_sandbox_status *ret_status) MUST_CHECK;
/* In one pass, irrevocably, on the calling process. */
IL_API int il_sandbox_apply_self(
	const struct il_sandbox_plan *plan, struct il_sandbox_step_error *reterr_error) MUST_CHECK;
/* No-ops on Linux, kept for the other platforms: change an argv / finish after the spawn / release.
 */
IL_API int il_sandbox_wrap_command(const struct il_sandbox_plan *plan, char ***argv) MUST_CHECK;
IL_API int il_sandbox_post_start(const struct il_sandbox_plan *plan, int pid) MUST_CHECK;
IL_API void il_sandbox_close(struct il_sandbox_plan *plan);

/*
 * The canary. il_sandbox_twin_start() forks the unconfined twin (positive controls) and must come
 * before il_sandbox_apply_self(); il_sandbox_verify() runs the probes in the confined process, ends
 * the twin and returns the report as a JSON text (caller frees). 0 even when something is broken:
 * judge the report with il_sandbox_report_judge().
 */
struct il_sandbox_twin;
/* Adds one descriptor to what the plan keeps: the line on which the twin hears that it is over. */
IL_API int il_sandbox_twin_start(struct il_sandbox_plan *plan, struct il_sandbox_twin **ret_twin)
	MUST_CHECK;
IL_API int il_sandbox_verify(const struct il_sandbox_plan *plan, struct il_sandbox_twin *twin,
	char **ret_report_json) MUST_CHECK;

enum il_sandbox_state {
	IL_SANDBOX_UNAVAILABLE,
	IL_SANDBOX_UNSANDBOXED,
	IL_SANDBOX_PARTIAL,
	IL_SANDBOXED
};
IL_API const char *il_sandbox_state_name(enum il_sandbox_state state);
struct il_sandbox_judgement {
	enum il_sandbox_state state;
	enum il_proof proof[IL_GUARANTEE_N_];
	char summary[256];
};
/* Re-derives everything from the probes of an untrusted report; the report's own words do not
 * count. */
IL_API int il_sandbox_report_judge(const char *report_json, size_t n,
	enum il_sandbox_profile profile, struct il_sandbox_judgement *ret_judgement,
	struct diag *reterr_diag) MUST_CHECK;
