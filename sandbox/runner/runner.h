/*
 * runner: run any command under exactly its grant, and say what was enforced.
 *
 *	il_run_plan (program resolved, tier chosen, everything checked)
 *	  → il_run_start → output callbacks → exit callback with the result
 *
 * Lives on the caller's libuv loop; holds no global state; many runs at once. The
 * command is started by posix_spawn of `interlock-exec`, which reads its plan from
 * a memfd, confines itself and stays as the reaper of the whole tree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/attr.h"
#include "base/grant.h"
#include "base/value.h"
#include "sandbox/sandbox.h"

enum il_tier { IL_TIER_AUTO, IL_TIER_B, IL_TIER_C, IL_TIER_N_ };

enum il_run_error {
	IL_RUN_OK,
	IL_RUN_E_INVALID_INPUT,
	IL_RUN_E_WORKSPACE_SCOPE, /* WorkspaceScopeDenied */
	IL_RUN_E_EGRESS,	  /* EgressDenied: names the capability or host */
	IL_RUN_E_NOT_FOUND,
	IL_RUN_E_NOT_EXECUTABLE,
	IL_RUN_E_UNSUPPORTED,
	IL_RUN_E_QUOTA,
	IL_RUN_E_TIMED_OUT,
	IL_RUN_E_CANCELLED,
	IL_RUN_E_SPAWN,
	IL_RUN_E_RUNTIME,
	IL_RUN_E_N_
};
IL_API const char *il_run_error_name(enum il_run_error e);

struct il_run_command {
	const struct grant *grant; /* copied; roots[0] is the workspace */
	enum il_tier tier;
	const char *const *argv; /* argv[0]: a name looked up in PATH, or a path */
	size_t n_argv;
	const char *cwd; /* absolute, inside a readable place; NULL: the workspace */
	const char *const *env; /* extra "K=V"; reserved names are refused */
	size_t n_env;
	const char *const *pass_env; /* names taken from this process */
	size_t n_pass_env;
	const char *exec_program; /* path of interlock-exec; NULL: the installed one */
	bool tty;
	bool why; /* observe refusals for --why */
};

struct il_run_plan;
IL_API int il_run_plan(const struct il_run_command *command, struct il_run_plan **ret_plan,
	enum il_run_error *reterr_kind, struct diag *reterr_diag) MUST_CHECK;
IL_API int il_run_plan_to_json(const struct il_run_plan *plan, char **ret_json) MUST_CHECK;
IL_API struct il_run_plan *il_run_plan_free(struct il_run_plan *plan);

struct il_run_result {
	enum il_run_error error;
	char text[256]; /* the error in one sentence */
	int exit_status; /* -1 when it ended by a signal */
	int signal;
	bool truncated; /* output beyond the limit was dropped */
	bool limit_hit; /* a limit ended it; text names which */
	uint64_t output_bytes;
	uint64_t duration_ms, cpu_user_ms, cpu_system_ms, memory_peak_bytes;
	/*
	 * {executor, sandbox_enforcement, guarantees, limits, grant_hash, program, program_hash, environment,
	 * network, refusals, rusage} as JSON; owned by the run, valid during the callback.
	 */
	const char *attestation_json;
};

struct il_run;
typedef void (*il_run_output_fn)(void *ctx, int stream /* 1 or 2 */, const uint8_t *data, size_t n);
typedef void (*il_run_exit_fn)(void *ctx, const struct il_run_result *result);
/*
 * Asks whether host:port may be connected to and, if so, gets a connected descriptor (or -errno).
 * The default connects by net/connect.h under the grant's hosts.
 */
typedef int (*il_run_connect_fn)(void *ctx, const char *host, uint16_t port, int *ret_fd);

struct il_run_events {
	il_run_output_fn on_output;
	il_run_exit_fn on_exit; /* exactly once; the run is freed after it returns */
	void *ctx;
};
/* Takes the plan. stdin is /dev/null unless stdin_fd >= 0 (taken). */
IL_API int il_run_start(uv_loop_t *loop, struct il_run_plan *plan, int stdin_fd,
	const struct il_run_events *events, struct il_run **ret_run) MUST_CHECK;
/* SIGTERM now, SIGKILL to the whole tree after grace_ms (0: at once). on_exit still follows. */
IL_API void il_run_cancel(struct il_run *run, uint64_t grace_ms);
IL_API int il_run_pid(const struct il_run *run);

/* What a trial spawn proved on this machine, cached by boot id, uid and version. */
struct il_enforcer {
	bool proved[IL_TIER_N_][IL_GUARANTEE_N_];
	enum il_tier strongest; /* what IL_TIER_AUTO takes; IL_TIER_AUTO itself: none */
	char reason[256];	/* why nothing stronger */
};
IL_API int il_run_probe(struct il_enforcer *ret_enforcer) MUST_CHECK;
