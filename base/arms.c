#include "base/arms.h"

#include <string.h>
#include <strings.h>

const struct arms_pattern arms_patterns[] = {
	/* version control */
	{ ".git/hooks/", ARMS_ITSELF, "git runs hooks" },
	{ ".git/config", ARMS_ITSELF, "git runs programs named in its configuration" },
	{ ".git/config.worktree", ARMS_ITSELF, "git runs programs named in its configuration" },
	{ ".git/info/attributes", ARMS_ITSELF, "git attributes choose filter programs" },
	{ ".git/modules/*/hooks/", ARMS_ITSELF, "git runs a submodule's hooks" },
	{ ".git/modules/*/config", ARMS_ITSELF, "git runs programs named in its configuration" },
	{ ".git/worktrees/*/config.worktree", ARMS_ITSELF,
		"git runs programs named in its configuration" },
	{ ".gitmodules", ARMS_PURPOSE, "git fetches submodules from it" },
	{ ".gitconfig", ARMS_ITSELF, "git runs programs named in its configuration" },
	{ ".hg/hgrc", ARMS_ITSELF, "Mercurial runs hooks" },
	{ ".husky/", ARMS_ITSELF, "git runs these hooks" },
	{ ".githooks/", ARMS_ITSELF, "git runs these hooks where configured" },
	{ ".pre-commit-config.yaml", ARMS_PURPOSE, "pre-commit runs what it names" },
	{ "lefthook.yml", ARMS_PURPOSE, "lefthook runs what it names" },
	/* shells and directories that load by themselves */
	{ ".envrc", ARMS_ITSELF, "direnv runs it" },
	{ ".bashrc", ARMS_ITSELF, "the shell runs it at start" },
	{ ".bash_profile", ARMS_ITSELF, "the shell runs it at start" },
	{ ".bash_login", ARMS_ITSELF, "the shell runs it at start" },
	{ ".bash_logout", ARMS_ITSELF, "the shell runs it at its end" },
	{ ".profile", ARMS_ITSELF, "the shell runs it at start" },
	{ ".zshrc", ARMS_ITSELF, "the shell runs it at start" },
	{ ".zshenv", ARMS_ITSELF, "the shell runs it at start" },
	{ ".zprofile", ARMS_ITSELF, "the shell runs it at start" },
	{ ".zlogin", ARMS_ITSELF, "the shell runs it at start" },
	{ ".config/fish/", ARMS_ITSELF, "the shell runs it at start" },
	{ ".ssh/config", ARMS_ITSELF, "ssh runs the commands it names" },
	{ ".ssh/authorized_keys", ARMS_ITSELF, "lets others log in" },
	{ ".ssh/rc", ARMS_ITSELF, "sshd runs it" },
	{ ".config/autostart/", ARMS_ITSELF, "the desktop runs it at log-in" },
	{ ".config/systemd/user/", ARMS_ITSELF, "systemd runs it" },
	{ ".local/share/systemd/user/", ARMS_ITSELF, "systemd runs it" },
	{ ".vimrc", ARMS_ITSELF, "the editor runs it at start" },
	{ ".exrc", ARMS_ITSELF, "the editor runs it at start" },
	{ ".nvimrc", ARMS_ITSELF, "the editor runs it at start" },
	{ ".config/nvim/", ARMS_ITSELF, "the editor runs it at start" },
	{ ".tmux.conf", ARMS_ITSELF, "tmux runs it at start" },
	{ ".gdbinit", ARMS_ITSELF, "gdb runs it at start" },
	{ ".lldbinit", ARMS_ITSELF, "lldb runs it at start" },
	{ ".inputrc", ARMS_ITSELF, "changes what keys do in the shell" },
	{ ".mise.toml", ARMS_ITSELF, "mise runs hooks" },
	{ "mise.toml", ARMS_ITSELF, "mise runs hooks" },
	{ ".tool-versions", ARMS_PURPOSE, "version managers install what it names" },
	/* editors and their tasks */
	{ ".vscode/", ARMS_ITSELF, "the editor runs tasks and settings" },
	{ ".idea/", ARMS_ITSELF, "the editor runs tasks and settings" },
	{ ".zed/", ARMS_ITSELF, "the editor runs tasks and settings" },
	{ ".fleet/", ARMS_ITSELF, "the editor runs tasks and settings" },
	{ ".nova/", ARMS_ITSELF, "the editor runs tasks and settings" },
	{ ".dir-locals.el", ARMS_ITSELF, "the editor evaluates it" },
	{ ".editorconfig", ARMS_NOT, "layout only" },
	{ ".devcontainer/", ARMS_PURPOSE, "the editor builds and runs it" },
	/* agents */
	{ ".claude/", ARMS_ITSELF, "an agent takes settings, hooks and instructions from it" },
	{ ".claude.json", ARMS_ITSELF, "an agent takes settings from it" },
	{ "claude.md", ARMS_ITSELF, "an agent takes instructions from it" },
	{ "claude.local.md", ARMS_ITSELF, "an agent takes instructions from it" },
	{ "agents.md", ARMS_ITSELF, "an agent takes instructions from it" },
	{ "gemini.md", ARMS_ITSELF, "an agent takes instructions from it" },
	{ ".codex/", ARMS_ITSELF, "an agent takes settings from it" },
	{ ".gemini/", ARMS_ITSELF, "an agent takes settings from it" },
	{ ".cursor/", ARMS_ITSELF, "an agent takes rules and settings from it" },
	{ ".cursorrules", ARMS_ITSELF, "an agent takes instructions from it" },
	{ ".windsurf/", ARMS_ITSELF, "an agent takes rules from it" },
	{ ".windsurfrules", ARMS_ITSELF, "an agent takes instructions from it" },
	{ ".clinerules", ARMS_ITSELF, "an agent takes instructions from it" },
	{ ".aider.conf.yml", ARMS_ITSELF, "an agent takes settings from it" },
	{ ".opencode/", ARMS_ITSELF, "an agent takes settings from it" },
	{ "opencode.json", ARMS_ITSELF, "an agent takes settings from it" },
	{ ".mcp.json", ARMS_ITSELF, "an agent starts the servers it names" },
	{ "mcp.json", ARMS_ITSELF, "an agent starts the servers it names" },
	{ ".github/copilot-instructions.md", ARMS_ITSELF, "an agent takes instructions from it" },
	{ "interlock.yaml", ARMS_ITSELF, "Interlock reads it" },
	{ ".interlock/", ARMS_ITSELF, "Interlock reads it" },
	/* language tools that load files by themselves */
	{ ".npmrc", ARMS_ITSELF, "npm takes registries and scripts' shells from it" },
	{ ".yarnrc", ARMS_ITSELF, "yarn runs what it names" },
	{ ".yarnrc.yml", ARMS_ITSELF, "yarn runs what it names" },
	{ ".yarn/releases/", ARMS_ITSELF, "yarn runs it" },
	{ ".yarn/plugins/", ARMS_ITSELF, "yarn runs it" },
	{ ".pnpmfile.cjs", ARMS_ITSELF, "pnpm runs it" },
	{ ".cargo/config.toml", ARMS_ITSELF, "cargo runs the programs it names" },
	{ ".cargo/config", ARMS_ITSELF, "cargo runs the programs it names" },
	{ "sitecustomize.py", ARMS_ITSELF, "python runs it at start" },
	{ "usercustomize.py", ARMS_ITSELF, "python runs it at start" },
	{ "*.pth", ARMS_ITSELF, "python runs its lines at start" },
	{ ".pypirc", ARMS_PURPOSE, "uploads go where it says" },
	{ "pip.conf", ARMS_ITSELF, "pip installs from where it says" },
	{ ".bazelrc", ARMS_ITSELF, "bazel takes options from it" },
	{ ".mvn/", ARMS_ITSELF, "maven loads extensions from it" },
	{ ".gradle/init.gradle", ARMS_ITSELF, "gradle runs it" },
	/* run on purpose */
	{ "makefile", ARMS_PURPOSE, "make runs it" },
	{ "gnumakefile", ARMS_PURPOSE, "make runs it" },
	{ "justfile", ARMS_PURPOSE, "just runs it" },
	{ "taskfile.yml", ARMS_PURPOSE, "task runs it" },
	{ "rakefile", ARMS_PURPOSE, "rake runs it" },
	{ "package.json", ARMS_PURPOSE, "npm runs its scripts" },
	{ "conftest.py", ARMS_PURPOSE, "pytest runs it" },
	{ "setup.py", ARMS_PURPOSE, "pip runs it" },
	{ "setup.cfg", ARMS_PURPOSE, "build tools read it" },
	{ "pyproject.toml", ARMS_PURPOSE, "build tools run what it names" },
	{ "noxfile.py", ARMS_PURPOSE, "nox runs it" },
	{ "tox.ini", ARMS_PURPOSE, "tox runs it" },
	{ "build.rs", ARMS_PURPOSE, "cargo runs it" },
	{ "cmakelists.txt", ARMS_PURPOSE, "cmake runs it" },
	{ "meson.build", ARMS_PURPOSE, "meson runs it" },
	{ "dockerfile", ARMS_PURPOSE, "docker runs it" },
	{ "docker-compose.yml", ARMS_PURPOSE, "docker runs it" },
	{ "docker-compose.yaml", ARMS_PURPOSE, "docker runs it" },
	{ "compose.yaml", ARMS_PURPOSE, "docker runs it" },
	{ "procfile", ARMS_PURPOSE, "process managers run it" },
	{ "vagrantfile", ARMS_PURPOSE, "vagrant runs it" },
	{ "jenkinsfile", ARMS_PURPOSE, "CI runs it" },
	{ ".github/workflows/", ARMS_PURPOSE, "CI runs it" },
	{ ".github/actions/", ARMS_PURPOSE, "CI runs it" },
	{ ".gitlab-ci.yml", ARMS_PURPOSE, "CI runs it" },
	{ ".circleci/", ARMS_PURPOSE, "CI runs it" },
	{ ".travis.yml", ARMS_PURPOSE, "CI runs it" },
	{ "azure-pipelines.yml", ARMS_PURPOSE, "CI runs it" },
	{ ".buildkite/", ARMS_PURPOSE, "CI runs it" },
	{ ".ci/", ARMS_PURPOSE, "CI runs it" },
	{ NULL, ARMS_NOT, NULL },
};

/* Lengths of the first components of both; false when either has none. */
static bool component_matches(
	const char *pattern, size_t n_pattern, const char *name, size_t n_name)
{
	if (n_pattern == 1 && pattern[0] == '*')
		return true;
	if (n_pattern > 1 && pattern[0] == '*') /* "*.pth" */
		return n_name >= n_pattern - 1 && strncasecmp(name + n_name - (n_pattern - 1),
							  pattern + 1, n_pattern - 1) == 0;
	return n_pattern == n_name && strncasecmp(pattern, name, n_name) == 0;
}

/* True if the pattern matches the components that start at `path`. */
static bool pattern_matches(const char *pattern, const char *path)
{
	while (*pattern) {
		size_t n_pattern = strcspn(pattern, "/");
		size_t n_name;

		while (*path == '/')
			path++;
		n_name = strcspn(path, "/");
		if (n_name == 0 || !component_matches(pattern, n_pattern, path, n_name))
			return false;
		pattern += n_pattern;
		path += n_name;
		if (*pattern == '/')
			pattern++;
		if (*pattern == '\0') /* a directory pattern covers all beneath, a file pattern only
					 itself */
			return pattern[-1] == '/' || path[strspn(path, "/")] == '\0';
	}
	return false;
}

enum arms_kind arms_match(const char *path, const char **ret_what)
{
	enum arms_kind best = ARMS_NOT;

	for (const char *at = path; *at;) {
		while (*at == '/')
			at++;
		for (const struct arms_pattern *p = arms_patterns; p->pattern; p++) {
			/* A long path has many components: most differ in their first letter. */
			if ((p->pattern[0] | 0x20) != (*at | 0x20) && p->pattern[0] != '*')
				continue;
			if (p->kind <= best || !pattern_matches(p->pattern, at))
				continue;
			best = p->kind;
			if (ret_what)
				*ret_what = p->what;
		}
		at += strcspn(at, "/");
	}
	return best;
}
