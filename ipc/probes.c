#include "ipc/probes.h"

#include <string.h>

static const char *const names[PROBE_N_] = {
	[PROBE_FILE_READ] = "file_read",
	[PROBE_LISTING] = "listing",
	[PROBE_FILE_WRITE] = "file_write",
	[PROBE_UNIX_SOCKET] = "unix_socket",
	[PROBE_INET_SOCKET] = "inet_socket",
	[PROBE_CHILD] = "child",
	[PROBE_EXEC] = "exec",
	[PROBE_PTRACE] = "ptrace",
};

const char *probe_name(enum probe probe)
{
	return (unsigned)probe < PROBE_N_ ? names[probe] : "unknown";
}

int probes_report(struct buf *b, const char *profile, const struct probe_result results[PROBE_N_])
{
	buf_printf(b, "{\"profile\":\"%s\",\"probes\":[", profile);
	for (unsigned i = 0; i < PROBE_N_; i++)
		buf_printf(b, "%s{\"name\":\"%s\",\"control\":%s,\"error\":%d}", i ? "," : "",
			names[i], results[i].control ? "true" : "false", results[i].error);
	buf_text(b, "]}");
	return buf_error(b);
}

static const struct value *find_probe(const struct value *probes, const char *name)
{
	for (size_t i = 0; i < probes->size; i++) {
		const char *here = value_get_text(&probes->items[i], "name");

		if (here && strcmp(here, name) == 0)
			return &probes->items[i];
	}
	return NULL;
}

static int judge_probes(const struct value *probes, struct diag *diag)
{
	if (probes->size != PROBE_N_)
		return diag_set(diag, -EPERM, 0, 0, "the report has not the probes it must have");
	for (unsigned i = 0; i < PROBE_N_; i++) {
		const struct value *probe = find_probe(probes, names[i]);
		const struct value *control = value_get(probe, "control");
		const struct value *error = value_get(probe, "error");

		if (!control || control->kind != VALUE_BOOL || !error || error->kind != VALUE_INT)
			return diag_set(diag, -EPERM, 0, 0, "%s was not tried", names[i]);
		if (error->integer <= 0)
			return diag_set(diag, -EPERM, 0, 0, "%s got through", names[i]);
		if (!control->boolean)
			return diag_set(diag, -EPERM, 0, 0,
				"%s is refused here anyway, so nothing is proved", names[i]);
	}
	return 0;
}

int probes_judge(const char *report, size_t n, const char *profile, struct diag *reterr_diag)
{
	const struct value *root, *probes;
	auto_arena struct arena a = { 0 };
	const char *of;

	arena_init(&a, 1u << 20);
	if (value_from_json(&a, report, n, &root, reterr_diag) != 0)
		return -EBADMSG;
	of = value_get_text(root, "profile");
	probes = value_get(root, "probes");
	if (!of || !probes || probes->kind != VALUE_ARRAY)
		return diag_set(reterr_diag, -EBADMSG, 0, 0, "this is no report of probes");
	if (strcmp(of, profile) != 0)
		return diag_set(reterr_diag, -EPERM, 0, 0, "the report is of another profile");
	return judge_probes(probes, reterr_diag);
}
