#include "engine/exec_git.h"

#include <errno.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/exec_command.h"

#define GIT_ARGS_MAX 1100

/* What a repository could make git run is off. */
static const char *const off[] = { "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c",
	"diff.external=", "-c", "core.pager=cat", "-c", "core.editor=true", "-c",
	"core.askPass=", "-c", "credential.helper=", "-c", "commit.gpgSign=false", "-c",
	"tag.gpgSign=false", "-c", "protocol.ext.allow=never", "-c", "core.sshCommand=ssh", "-c",
	"safe.directory=*", "--no-pager" };

static const char *const environment[] = { "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	"GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_ATTR_NOSYSTEM=1" };

struct git_args {
	struct proposal *proposal;
	const char *argv[GIT_ARGS_MAX];
	size_t n;
	bool failed;
};

static void add(struct git_args *g, const char *text)
{
	if (!text)
		return;
	if (g->n == GIT_ARGS_MAX)
		g->failed = true;
	else
		g->argv[g->n++] = text;
}

/* A name from the payload that git must not take for an option. */
static void add_name(struct git_args *g, const char *field)
{
	const char *text = proposal_text(g->proposal, field);

	if (text && text[0] == '-') {
		proposal_fail(g->proposal, STATUS_FAILED, "%s must not begin with \"-\".", field);
		g->failed = true;
		return;
	}
	add(g, text);
}

static void add_number(struct git_args *g, const char *option, int64_t n)
{
	const char *text = arena_printf(&g->proposal->arena, "%s%lld", option, (long long)n);

	if (!text)
		g->failed = true;
	add(g, text);
}

static void git_status(struct git_args *g)
{
	add(g, "status");
	add(g, "--short");
	add(g, "--branch");
}

static void git_diff(struct git_args *g)
{
	add(g, "diff");
	add(g, "--no-ext-diff");
	add(g, "--no-textconv");
	if (proposal_bool(g->proposal, "staged"))
		add(g, "--cached");
	add_name(g, "commit");
}

static void git_log(struct git_args *g)
{
	add(g, "log");
	add_number(g, "--max-count=", proposal_int(g->proposal, "limit", 10));
	add_name(g, "branch");
	add(g, "--");
}

static void git_push(struct git_args *g)
{
	add(g, "push");
	if (proposal_text(g->proposal, "remote"))
		add_name(g, "remote");
	else
		add(g, "origin");
	add_name(g, "branch");
}

static void git_pull(struct git_args *g)
{
	git_push(g);
	g->argv[g->n - (proposal_text(g->proposal, "branch") ? 3 : 2)] = "pull";
}

static void git_branch(struct git_args *g)
{
	const char *action = proposal_text(g->proposal, "action");

	if (strcmp(action, "list") == 0) {
		add(g, "branch");
		add(g, "--list");
	} else if (strcmp(action, "create") == 0) {
		add(g, "branch");
		add_name(g, "name");
	} else if (strcmp(action, "switch") == 0) {
		add(g, "switch");
		add_name(g, "name");
	} else {
		proposal_fail(g->proposal, STATUS_FAILED, "action must be list, create or switch.");
		g->failed = true;
	}
}

static void git_checkout(struct git_args *g)
{
	add(g, "checkout");
	add_name(g, "ref");
	add(g, "--");
}

/* Stages and commits in one go, so that no other command stands in between. */
static void git_commit(struct git_args *g)
{
	const struct value *files = value_get(g->proposal->analysis.payload, "files");

	add(g, "commit");
	add(g, "--no-verify");
	add(g, "--message");
	add(g, proposal_text(g->proposal, "message"));
	if (!files || files->size == 0) {
		add(g, "--all");
		return;
	}
	add(g, "--only");
	add(g, "--");
	for (size_t i = 0; i < files->size; i++)
		add(g, files->items[i].text);
}

static void git_clone(struct git_args *g)
{
	add(g, "clone");
	add(g, "--no-recurse-submodules");
	if (proposal_text(g->proposal, "branch")) {
		add(g, "--branch");
		add_name(g, "branch");
	}
	if (proposal_int(g->proposal, "depth", 0) > 0)
		add_number(g, "--depth=", proposal_int(g->proposal, "depth", 0));
	add(g, "--");
	add(g, proposal_text(g->proposal, "url"));
	add(g, proposal_path(g->proposal, "path", NULL));
}

static const struct {
	const char *action;
	void (*fill)(struct git_args *g);
} actions[] = {
	{ "git_status", git_status },
	{ "git_diff", git_diff },
	{ "git_log", git_log },
	{ "git_commit", git_commit },
	{ "git_push", git_push },
	{ "git_pull", git_pull },
	{ "git_branch", git_branch },
	{ "git_checkout", git_checkout },
	{ "git_clone", git_clone },
};

int exec_git(struct proposal *p)
{
	struct git_args *g = arena_alloc(&p->arena, sizeof(*g));
	bool is_clone = strcmp(p->analysis.type->name, "git_clone") == 0;
	const char *cwd =
		is_clone ? p->engine->workspace : proposal_path(p, "path", p->engine->workspace);

	if (!g || !cwd)
		return -ENOMEM;
	g->proposal = p;
	add(g, "git");
	for (size_t i = 0; i < N_ELEMENTS(off); i++)
		add(g, off[i]);
	for (size_t i = 0; i < N_ELEMENTS(actions); i++) {
		if (strcmp(actions[i].action, p->analysis.type->name) == 0)
			actions[i].fill(g);
	}
	if (g->failed) {
		proposal_fail(p, STATUS_FAILED, "The arguments do not fit git.");
		return command_started(p, 0);
	}
	return command_started(
		p, command_start(p, g->argv, g->n, cwd, environment, N_ELEMENTS(environment)));
}
