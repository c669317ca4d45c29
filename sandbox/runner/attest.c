/*
 * The attestation: what was really enforced while a command ran.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/landlock.h"
#include "sandbox/runner/run_plan.h"

#define ATTESTATION_SIZE ((size_t)1 << 20)

static void text(struct buf *out, const char *key, const char *value)
{
	struct value v = { .kind = VALUE_TEXT, .text = value, .size = strlen(value) };

	buf_printf(out, "\"%s\":", key);
	value_to_json(out, &v);
	buf_byte(out, ',');
}

static void texts(struct buf *out, const char *key, const char *const *items, size_t n)
{
	buf_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		struct value v = { .kind = VALUE_TEXT, .text = items[i], .size = strlen(items[i]) };

		buf_text(out, i > 0 ? "," : "");
		value_to_json(out, &v);
	}
	buf_text(out, "],");
}

static void limits(struct buf *out, const struct grant_limits *l)
{
	buf_printf(out,
		"\"limits\":{\"wall_ms\":%" PRIu64 ",\"cpu_ms\":%" PRIu64
		",\"memory_bytes\":%" PRIu64 ",\"processes\":%" PRIu64 ",\"output_bytes\":%" PRIu64
		",\"file_size_bytes\":%" PRIu64
		",\"tree_limits_by\":\"accounting\",\"every_ms\":25},",
		l->wall_ms, l->cpu_ms, l->memory_bytes, l->processes, l->output_bytes,
		l->file_size_bytes);
}

/* How each guarantee is held. That it holds is proved by a trial, not by this table. */
static void guarantees(struct buf *out, const struct il_run_plan *p)
{
	bool c = p->tier == IL_TIER_C;
	uint32_t abi = landlock_abi();

	buf_printf(out,
		"\"guarantees\":{\"files\":\"%s\",\"privileges\":\"no_new_privs, no "
		"capabilities\",",
		c ? "mount namespace and Landlock" : "Landlock");
	buf_printf(out, "\"armed\":\"%s\",",
		!p->restore_armed ? "not asked for"
		: c               ? "present: read-only binds; absent: restored, not prevented"
				  : "restored, not prevented");
	buf_printf(out, "\"network\":\"%s\",",
		!p->own_network        ? "open"
		: p->egress_program[0] ? "network namespace, one way out, by host"
		: c                    ? "network namespace with loopback only"
				       : "no sockets but socketpair");
	buf_printf(out, "\"whole_tree_ends\":\"%s\",",
		c ? "pid namespace" : "subreaper; not if the reaper itself is killed");
	buf_printf(out, "\"signals\":\"%s\",\"landlock_abi\":%u},",
		c          ? "pid namespace"
		: abi >= 6 ? "Landlock scope"
			   : "not held: other processes of the user can be signalled",
		(unsigned)abi);
}

static void what(struct buf *out, const struct il_run_plan *p)
{
	static const char *const nets[] = { [GRANT_NET_NONE] = "none",
		[GRANT_NET_HOSTS] = "strict",
		[GRANT_NET_PREFLIGHT] = "preflight",
		[GRANT_NET_OPEN] = "open" };

	buf_byte(out, '{');
	text(out, "executor",
		p->tier == IL_TIER_C ? "sandbox_tier_c_namespaces" : "sandbox_tier_b");
	text(out, "sandbox_enforcement", p->mode);
	guarantees(out, p);
	limits(out, &p->limits);
	text(out, "grant_hash", p->grant_hash);
	text(out, "program", p->program.path);
	text(out, "program_hash", p->program.hash);
	texts(out, "environment", p->env_names, p->n_env_names);
	text(out, "network", nets[p->net]);
	text(out, "lost", p->lost);
}

int run_attest(const struct il_run_plan *p, const struct il_run_result *r, const char *armed_json,
	const char *network_json, char **ret_json)
{
	auto_buf struct buf out = BUF_INIT(ATTESTATION_SIZE);

	what(&out, p);
	buf_printf(&out, "\"violated\":[%s],\"connections\":[%s],\"refusals\":\"cannot tell\",",
		armed_json, network_json);
	buf_printf(&out,
		"\"rusage\":{\"cpu_user_ms\":%" PRIu64 ",\"cpu_system_ms\":%" PRIu64
		",\"memory_peak_bytes\":%" PRIu64 ",\"duration_ms\":%" PRIu64 "}}",
		r->cpu_user_ms, r->cpu_system_ms, r->memory_peak_bytes, r->duration_ms);
	return buf_take_text(&out, ret_json);
}

int il_run_plan_to_json(const struct il_run_plan *p, char **ret_json)
{
	auto_buf struct buf out = BUF_INIT(4 * ATTESTATION_SIZE);
	auto_free char *sandbox = NULL;
	int r = il_sandbox_plan_to_json(p->sandbox, &sandbox);
	size_t n = 0;

	if (r != 0)
		return r;
	while (p->argv[n])
		n++;
	what(&out, p);
	texts(&out, "argv", p->argv, n);
	text(&out, "cwd", p->cwd);
	buf_printf(&out, "\"armed_files\":%zu,\"sandbox\":%s}", p->armed.n_entries, sandbox);
	return buf_take_text(&out, ret_json);
}
