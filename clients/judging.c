#include "clients/judging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/state.h"

#define POLICY_MAX ((size_t)1 << 20)
#define SCRIPT_MAX ((size_t)256 << 10)

int policy_path(char **ret_path)
{
	auto_free char *config = NULL;
	int r = state_config_dir(&config);

	if (r != 0)
		return r;
	return asprintf(ret_path, "%s/policy.yaml", config) < 0 ? -ENOMEM : 0;
}

/* The file's text in the arena, or 0 with no text where there is no file. */
static int read_source(
	struct judging *j, const char *path, bool narrowing, struct il_policy_source *ret)
{
	auto_free char *data = NULL;
	size_t n = 0;
	int r = file_read(AT_FDCWD, path, POLICY_MAX, &data, &n);

	if (r == -ENOENT)
		return 0;
	if (r != 0) {
		(void)fprintf(stderr, "interlock: cannot read %s: %s\n", path, strerror(-r));
		return r;
	}
	*ret = (struct il_policy_source){ .name = arena_text(&j->policy_arena, path, strlen(path)),
		.text = arena_text(&j->policy_arena, data, n),
		.n_text = n,
		.narrowing_only = narrowing };
	return ret->name && ret->text ? 0 : -ENOMEM;
}

static int read_sources(struct judging *j, const char *preset, const char *workspace,
	struct il_policy_source *sources, size_t *ret_n)
{
	auto_free char *path = NULL;
	auto_free char *own = NULL;
	size_t n = 0;
	int r = 0;

	if (preset) {
		sources[0].name = preset;
		sources[0].text = il_policy_preset(preset, &sources[0].n_text);
		if (!sources[0].text) {
			r = read_source(j, preset, false, &sources[0]);
			if (r == 0 && !sources[0].text) {
				(void)fprintf(stderr,
					"interlock: there is no preset and no file \"%s\"\n",
					preset);
				r = -ENOENT;
			}
		}
		*ret_n = 1;
		return r;
	}
	r = policy_path(&path);
	if (r == 0)
		r = read_source(j, path, false, &sources[0]);
	if (r == 0 && !sources[0].text) {
		sources[0].name = "preset:default";
		sources[0].text = il_policy_preset("default", &sources[0].n_text);
	}
	n = 1;
	if (r == 0 && workspace) {
		if (asprintf(&own, "%s/interlock.yaml", workspace) < 0)
			return -ENOMEM;
		r = read_source(j, own, true, &sources[1]);
		n += sources[1].text != NULL;
	}
	*ret_n = n;
	return r;
}

int judging_open(struct judging *j, const char *preset, const char *workspace)
{
	struct il_policy_source sources[2] = { 0 };
	struct diag diag = { 0 };
	size_t n = 0, bad = 0;
	int r;

	*j = JUDGING_NONE;
	arena_init(&j->policy_arena, 4 * POLICY_MAX);
	r = read_sources(j, preset, workspace, sources, &n);
	if (r != 0)
		return r;
	r = il_policy_load(sources, n, &j->policy, &bad, &diag);
	if (r != 0) {
		(void)fprintf(stderr, "%s:%u:%u: %s\n", sources[bad].name, diag.line, diag.column,
			diag.text[0] ? diag.text : strerror(-r));
		return r;
	}
	r = state_config_dir(&j->config_dir);
	if (r != 0)
		return r;
	j->enforcer = (struct il_judge_enforcer){ .filesystem = true,
		.network = true,
		.net_hosts = true,
		.hide = true,
		.armed_readonly = true,
		.processes = true };
	j->context = (struct il_context){ .policy = j->policy,
		.flow = &j->flow,
		.enforcer = &j->enforcer,
		.can_ask = true,
		.config_dir = j->config_dir,
		.origin = "agent",
		.now_ms = clock_monotonic_ms(&clock_system),
		.wall_ns = clock_wall_ns(&clock_system) };
	return 0;
}

void judging_done(struct judging *j)
{
	j->policy = il_policy_unref(j->policy);
	arena_done(&j->policy_arena);
	free(j->config_dir);
	*j = JUDGING_NONE;
}

/* The real path of what exists, with the rest of the name behind it. */
static const char *resolve(struct arena *a, const char *path)
{
	char *head = arena_text(a, path, strlen(path));
	const char *rest = path + strlen(path);

	while (head) {
		auto_free char *real = realpath(head, NULL);
		char *slash;

		if (real)
			return arena_printf(
				a, "%s%s", strcmp(real, "/") == 0 && *rest ? "" : real, rest);
		if (errno != ENOENT && errno != ENOTDIR)
			return NULL;
		slash = strrchr(head, '/');
		if (!slash || slash == head)
			return path;
		rest = path + (slash - head);
		*slash = '\0';
	}
	return NULL;
}

static void gather_path(struct arena *a, const char *path, struct il_fact *fact)
{
	struct stat st;

	fact->resolved = resolve(a, path);
	fact->known = fact->resolved != NULL;
	fact->type = IL_FILE_ABSENT;
	if (lstat(path, &st) != 0) {
		fact->known = fact->known && (errno == ENOENT || errno == ENOTDIR);
		return;
	}
	fact->type = S_ISREG(st.st_mode)   ? IL_FILE_REGULAR
		     : S_ISDIR(st.st_mode) ? IL_FILE_DIRECTORY
		     : S_ISLNK(st.st_mode) ? IL_FILE_SYMLINK
					   : IL_FILE_OTHER;
	fact->nlink = (uint32_t)st.st_nlink;
	fact->device = st.st_dev;
	fact->inode = st.st_ino;
	fact->size = (uint64_t)st.st_size;
	fact->ctime_ns = st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

static void gather_script(struct arena *a, const char *path, struct il_fact *fact)
{
	auto_free char *data = NULL;
	size_t n = 0;

	gather_path(a, path, fact);
	fact->known = file_read(AT_FDCWD, path, SCRIPT_MAX, &data, &n) == 0;
	if (!fact->known)
		return;
	sha256_bytes(data, n, fact->sha256);
	fact->text = arena_text(a, data, n);
	fact->n_text = n;
	fact->known = fact->text != NULL;
}

int judging_gather(struct arena *a, const struct il_analysis *analysis, struct il_fact **ret_facts,
	size_t *ret_n)
{
	struct il_fact *facts = arena_alloc_array(a, analysis->n_wanted + 1, sizeof(*facts));
	size_t n = 0;

	if (!facts)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->n_wanted; i++) {
		struct il_fact *fact = &facts[n];

		fact->kind = analysis->wanted[i].kind;
		fact->subject = analysis->wanted[i].subject;
		if (fact->kind == IL_FACT_PATH)
			gather_path(a, fact->subject, fact);
		else if (fact->kind == IL_FACT_SCRIPT)
			gather_script(a, fact->subject, fact);
		else
			continue;
		n++;
	}
	*ret_facts = facts;
	*ret_n = n;
	return 0;
}

int judging_run(struct judging *j, struct arena *a, const struct il_action *action,
	struct il_analysis *ret_analysis, struct il_verdict *ret_verdict)
{
	struct il_fact *facts = NULL;
	size_t n_facts = 0;
	int r = il_analyse(a, action, ret_analysis);

	if (r == 0)
		r = judging_gather(a, ret_analysis, &facts, &n_facts);
	if (r != 0)
		return r;
	il_judge(a, ret_analysis, facts, n_facts, &j->context, ret_verdict);
	return 0;
}
