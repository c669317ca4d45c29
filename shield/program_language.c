/* Programs whose arguments are a language of their own, which no row of the table can say. */
#include <string.h>

#include "shield/walk.h"

static size_t git_subcommand(struct walk *w, const struct argument *args, size_t n)
{
	size_t i = 1;

	for (; i < n && args[i].text && args[i].text[0] == '-'; i++) {
		if (strcmp(args[i].text, "-C") == 0 && i + 1 < n)
			w->cwd = walk_path(w, &args[++i]);
		else if ((strcmp(args[i].text, "-c") == 0 ||
				 strcmp(args[i].text, "--git-dir") == 0 ||
				 strcmp(args[i].text, "--work-tree") == 0) &&
			 i + 1 < n)
			i++;
		if (args[i].text && strncmp(args[i].text, "alias.", 6) == 0 &&
			strchr(args[i].text, '!'))
			walk_text(w, strchr(args[i].text, '!') + 1,
				strlen(strchr(args[i].text, '!') + 1));
	}
	return i;
}

static const char *git_remote(struct walk *w, const struct argument *args, size_t n, size_t i)
{
	for (i++; i < n; i++) {
		const char *text = args[i].text ? args[i].text : args[i].prefix;
		struct argument host = args[i];

		if (!text || text[0] == '-')
			continue;
		if (strstr(text, "://"))
			return walk_host(w, &host);
		if (strchr(text, '@') && strchr(text, ':')) {
			host.text = arena_text(w->arena, text, strcspn(text, ":"));
			return host.text ? walk_host(w, &host) : NULL;
		}
		if (strchr(text, '/') || text[0] == '.')
			return NULL; /* a repository on this machine */
		break;
	}
	{
		const char *name = i < n && args[i].text ? args[i].text : "origin";
		const char *remote = arena_printf(w->arena, "remote:%s", name);

		walk_connect(w, remote, 0);
		return remote;
	}
}

void program_git(struct walk *w, const struct argument *args, size_t n)
{
	static const char *const reads[] = { "status", "log", "diff", "show", "blame", "branch",
		"tag", "describe", "rev-parse", "remote", "ls-files", "ls-tree", "cat-file", "grep",
		"shortlog", "reflog", "config", "stash", "worktree", "help", "version", "rev-list",
		"name-rev", "for-each-ref", "symbolic-ref", "bisect", "notes", "archive", "bundle",
		"check-ignore", "cherry", "count-objects", "fsck", "merge-base", "show-ref", "var",
		"whatchanged" };
	static const char *const network[] = { "push", "fetch", "pull", "clone", "ls-remote",
		"submodule", "request-pull", "send-email", "lfs" };
	struct argument cwd = { .text = "." };
	const char *saved = w->cwd;
	size_t i = git_subcommand(w, args, n);
	const char *sub = i < n ? args[i].text : NULL;
	const char *root = walk_path(w, &cwd);
	bool is_read = !sub;

	if (sub) {
		for (size_t k = 0; k < N_ELEMENTS(reads); k++)
			is_read = is_read || strcmp(sub, reads[k]) == 0;
	}
	if (root) {
		walk_want(w, IL_FACT_GIT, root);
		walk_effect(w, EFFECT_READ, root, NULL, true);
		if (!is_read || strcmp(sub ? sub : "", "stash") == 0 ||
			strcmp(sub ? sub : "", "branch") == 0)
			walk_effect(w, EFFECT_WRITE, root, NULL, true);
	}
	for (size_t k = i + 1; k < n; k++) {
		const char *text = args[k].text;

		if (text && (text[0] == '/' || text[0] == '~'))
			walk_path_effect(w, EFFECT_READ, &args[k], false);
	}
	for (size_t k = 0; sub && k < N_ELEMENTS(network); k++) {
		const char *remote;

		if (strcmp(sub, network[k]) != 0)
			continue;
		remote = git_remote(w, args, n, i);
		if (strcmp(sub, "push") == 0 && remote)
			walk_send(w, "commits", remote);
	}
	if (sub && strcmp(sub, "clone") == 0 && i + 1 < n) {
		for (size_t k = n - 1; k > i + 1; k--) {
			if (args[k].text && args[k].text[0] != '-') {
				if (!strstr(args[k].text, "://") && !strchr(args[k].text, '@'))
					walk_path_effect(w, EFFECT_CREATE, &args[k], true);
				break;
			}
		}
	}
	w->cwd = saved;
}

void program_tar(struct walk *w, const struct argument *args, size_t n)
{
	bool creates = false, extracts = false,
	     first_bundle = n > 1 && args[1].text && args[1].text[0] != '-';
	struct argument cwd = { .text = "." };
	const struct argument *directory = &cwd;
	size_t i = 1;

	for (; i < n; i++) {
		const char *text = args[i].text;
		bool is_bundle = text && ((i == 1 && first_bundle) ||
						 (text[0] == '-' && text[1] && text[1] != '-'));
		bool wants_file;

		if (!text)
			continue;
		if (strncmp(text, "--checkpoint-action", 19) == 0 ||
			strncmp(text, "--to-command", 12) == 0 ||
			strncmp(text, "--use-compress-program", 22) == 0 ||
			strcmp(text, "-I") == 0) {
			const char *equals = strchr(text, '=');
			const char *command = equals      ? equals + 1
					      : i + 1 < n ? args[++i].text
							  : NULL;

			if (command && strncmp(command, "exec=", 5) == 0)
				command += 5;
			if (command)
				walk_text(w, command, strlen(command));
			walk_note(w, "NOTE-HIDDEN-COMMAND", "tar is told to run a program");
			continue;
		}
		if (strcmp(text, "-C") == 0 && i + 1 < n) {
			directory = &args[++i];
			continue;
		}
		if (strcmp(text, "--create") == 0)
			creates = true;
		if (strcmp(text, "--extract") == 0)
			extracts = true;
		if (!is_bundle) {
			if (text[0] != '-' && creates)
				walk_path_effect(w, EFFECT_READ, &args[i], true);
			continue;
		}
		creates = creates || strpbrk(text, "cru");
		extracts = extracts || strchr(text, 'x');
		wants_file = strchr(text, 'f') != NULL;
		if (wants_file && i + 1 < n) {
			struct argument file = args[i + 1];

			if (file.text && strcmp(file.text, "-") != 0)
				walk_path_effect(
					w, creates ? EFFECT_WRITE : EFFECT_READ, &file, false);
			i++;
		}
	}
	if (extracts)
		walk_path_effect(w, EFFECT_WRITE, directory, true);
}

void program_dd(struct walk *w, const struct argument *args, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct argument value = args[i];
		const char *text = args[i].text ? args[i].text : args[i].prefix;

		if (!text || (strncmp(text, "if=", 3) != 0 && strncmp(text, "of=", 3) != 0))
			continue;
		value.text = args[i].text ? text + 3 : NULL;
		value.prefix = text + 3;
		walk_path_effect(w, text[0] == 'i' ? EFFECT_READ : EFFECT_WRITE, &value, false);
	}
}
