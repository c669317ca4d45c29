/*
 * Programs that run other programs: looked through, so that what they wrap meets the same rules.
 */
#include <stdlib.h>
#include <string.h>

#include "shield/decode.h"
#include "shield/walk.h"

/*
 * options: letters and long names of options that take an argument. skip: operands before the
 * command (a duration, a user, a host).
 */
static const struct wrapper {
	const char *name;
	const char *options; /* blanks between */
	unsigned skip;
	bool privilege;
	bool appends; /* arguments come from elsewhere too: xargs, parallel */
} wrappers[] = {
	{ "sudo", "-u -g -h -p -C -D -R -T -U -r -t --user --group --host --chdir --prompt", 0,
		true, false },
	{ "doas", "-u -C", 0, true, false },
	{ "pkexec", "--user", 0, true, false },
	{ "env", "-u -C -S -P --unset --chdir --split-string", 0, false, false },
	{ "nice", "-n --adjustment", 0, false, false },
	{ "ionice", "-c -n -p", 0, false, false },
	{ "chrt", "-p", 1, false, false },
	{ "taskset", "-c -p", 1, false, false },
	{ "timeout", "-s -k --signal --kill-after", 1, false, false },
	{ "gtimeout", "-s -k", 1, false, false },
	{ "nohup", "", 0, false, false },
	{ "setsid", "", 0, false, false },
	{ "stdbuf", "-i -o -e", 0, false, false },
	{ "unbuffer", "", 0, false, false },
	{ "time", "-f -o --format --output", 0, false, false },
	{ "command", "", 0, false, false },
	{ "builtin", "", 0, false, false },
	{ "exec", "-a", 0, false, false },
	{ "xargs",
		"-I -J -n -P -L -d -s -a -E --max-args --max-procs --delimiter "
		"--arg-file",
		0, false, true },
	{ "parallel", "-j --jobs -I -S --sshlogin --colsep -a --joblog --results", 0, false, true },
	{ "watch", "-n --interval", 0, false, false },
	{ "flock", "-w -E --timeout", 1, false, false },
	{ "strace", "-e -o -p -s -u -E", 0, false, false },
	{ "ltrace", "-e -o -p -s -u", 0, false, false },
	{ "busybox", "", 0, false, false },
	{ "toybox", "", 0, false, false },
	{ "runuser", "-u -g -c", 0, true, false },
	{ "unshare", "", 0, true, false },
	{ "nsenter", "-t -S -G --target", 0, true, false },
	{ "chroot", "", 1, true, false },
	{ "proxychains", "-f", 0, false, false },
	{ "proxychains4", "-f", 0, false, false },
	{ "torify", "", 0, false, false },
	{ "torsocks", "", 0, false, false },
	{ "caffeinate", "-t -w", 0, false, false },
	{ "script", "-c -I -O -T", 0, false, false },
	{ "entr", "", 0, false, false },
	{ "systemd-run", "-p -u -E --unit --property --setenv --uid --gid", 0, false, false },
	{ "setpriv", "--reuid --regid --groups", 0, false, false },
	{ "faketime", "", 1, false, false },
	{ "dbus-run-session", "", 0, false, false },
	{ "firejail", "", 0, false, false },
	{ "poetry-run", "", 0, false, false },
	{ "cross-env", "", 0, false, false },
	{ "dotenv", "-e", 0, false, false },
	{ "sshpass", "-p -f", 0, false, false },
	{ "coproc", "", 0, false, false },
};

static bool word_in(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; *at;) {
		size_t n_word = strcspn(at, " ");

		if (n_word == n && memcmp(at, word, n) == 0)
			return true;
		at += n_word;
		at += *at == ' ';
	}
	return false;
}

static bool is_assignment(const char *text)
{
	const char *equals = text ? strchr(text, '=') : NULL;

	return equals && equals > text &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
		       (size_t)(equals - text);
}

/* The first argument of the wrapped command. */
static size_t wrapped_at(
	struct walk *w, const struct wrapper *x, const struct argument *args, size_t n)
{
	unsigned skip = x->skip;
	size_t i = 1;

	for (; i < n; i++) {
		const char *text = args[i].text;

		if (text && strcmp(text, "--") == 0) {
			i++;
			break;
		}
		if (text && strcmp(text, "-") == 0)
			continue;
		if (text && text[0] == '-' && text[1]) {
			if (word_in(x->options, text) && i + 1 < n)
				i++;
			continue;
		}
		if (is_assignment(text) &&
			(strcmp(x->name, "env") == 0 || strcmp(x->name, "sudo") == 0 ||
				strcmp(x->name, "cross-env") == 0)) {
			char *name = arena_text(w->arena, text, strcspn(text, "="));

			if (name)
				walk_effect(w, EFFECT_ENVIRONMENT, name, NULL, false);
			continue;
		}
		if (skip == 0)
			break;
		skip--;
	}
	return i;
}

/* What xargs and parallel add: the words of the pipe, or of ":::", where they can be known. */
static size_t appended(
	struct walk *w, const struct argument *args, size_t n, struct argument *more, size_t max)
{
	const char *at = w->in.literal;
	size_t n_more = 0;

	for (size_t i = 0; i < n && n_more < max; i++) {
		if (args[i].text && strcmp(args[i].text, ":::") != 0)
			more[n_more++] = args[i];
	}
	while (n == 0 && at && n_more < max) {
		size_t n_word;

		at += strspn(at, " \n\t");
		n_word = strcspn(at, " \n\t");
		if (n_word == 0)
			break;
		more[n_more].text = arena_text(w->arena, at, n_word);
		more[n_more].prefix = more[n_more].text;
		n_more++;
		at += n_word;
	}
	if (n_more == 0)
		more[n_more++] = (struct argument){ .has_command = true };
	return n_more;
}

/* "{}" in one argument becomes one of what is added. */
static struct argument placed(struct walk *w, const struct argument *arg, const struct argument *with)
{
	const char *at = arg->text ? strstr(arg->text, "{}") : NULL;
	struct argument out = *arg;

	if (!at)
		return out;
	out.prefix = arena_text(w->arena, arg->text, (size_t)(at - arg->text));
	out.text = with->text ? arena_printf(w->arena, "%s%s%s", out.prefix, with->text, at + 2) : NULL;
	return out;
}

static bool has_place(const struct argument *args, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (args[i].text && strchr(args[i].text, '{'))
			return true;
	}
	return false;
}

static void walk_appended(struct walk *w, const struct argument *args, size_t n)
{
	struct argument more[16], inner[80];
	size_t n_command = 0, n_more;

	while (n_command < n && !(args[n_command].text && strncmp(args[n_command].text, ":::", 3) == 0))
		n_command++;
	n_more = appended(w, args + n_command, n - n_command, more, N_ELEMENTS(more));
	for (size_t k = 0; n_command == 0 && k < n_more; k++) {
		if (more[k].text)
			walk_text(w, more[k].text, strlen(more[k].text));
	}
	if (n_command > 64)
		n_command = 64;
	/* Without a place for each, all are added to one command. */
	if (n_command > 0 && !has_place(args, n_command)) {
		memcpy(inner, args, n_command * sizeof(*inner));
		memcpy(inner + n_command, more, n_more * sizeof(*more));
		walk_argv(w, inner, n_command + n_more, true);
		return;
	}
	if (n_command == n && w->in.literal) {
		/* A place takes a whole line. */
		size_t n_line = strcspn(w->in.literal, "\n");

		more[0].text = arena_text(w->arena, w->in.literal, n_line);
		more[0].prefix = more[0].text;
		n_more = 1;
	}
	for (size_t k = 0; n_command > 0 && k < n_more; k++) {
		bool used = false;

		for (size_t i = 0; i < n_command; i++) {
			inner[i] = placed(w, &args[i], &more[k]);
			used = used || (args[i].text && strstr(args[i].text, "{"));
		}
		inner[n_command] = more[k];
		walk_argv(w, inner, n_command + !used, true);
	}
}

static bool walk_wrapper(
	struct walk *w, const struct wrapper *x, const struct argument *args, size_t n)
{
	size_t i = wrapped_at(w, x, args, n);

	walk_effect(w, EFFECT_EXEC, args[0].text, NULL, false);
	if (x->privilege)
		walk_effect(w, EFFECT_PRIVILEGE, x->name, NULL, false);
	for (size_t k = 1; k + 1 < n && k < i; k++) {
		if (args[k].text &&
			(strcmp(args[k].text, "-S") == 0 ||
				((strcmp(x->name, "script") == 0 ||
					 strcmp(x->name, "runuser") == 0) &&
					strcmp(args[k].text, "-c") == 0)) &&
			args[k + 1].text)
			walk_text(w, args[k + 1].text, strlen(args[k + 1].text));
	}
	if (i >= n)
		return true;
	if (x->appends) {
		walk_appended(w, args + i, n - i);
		return true;
	}
	if (strcmp(x->name, "watch") == 0 && args[i].text && strchr(args[i].text, ' ')) {
		walk_text(w, args[i].text, strlen(args[i].text));
		return true;
	}
	walk_argv(w, args + i, n - i, true);
	return true;
}

/* ---- shells ---- */

static bool is_shell(const char *program)
{
	return word_in("sh bash dash zsh ksh ash mksh fish rbash", program);
}

static void shell_from_stream(struct walk *w, const char *program)
{
	if (w->in.literal) {
		const char *text = w->in.literal;
		const char *decoded = w->in.decoded ? decode_text(w->arena, text) : NULL;
		const char *plain = decoded || w->in.decoded ? NULL : decode_escapes(w->arena, text);

		if (plain) {
			decoded = plain;
			w->in.decoded = true;
		}

		if (decoded || w->in.decoded)
			walk_note(w, "NOTE-DECODED-EXEC",
				arena_printf(w->arena, "%.20s runs text that was decoded first",
					program));
		walk_text(w, decoded ? decoded : text, strlen(decoded ? decoded : text));
		return;
	}
	if (w->in.from_network) {
		walk_note(w, "NOTE-PIPE-TO-SHELL",
			arena_printf(
				w->arena, "what comes from the network is run by %.20s", program));
		walk_opaque(w, "a script from the network is run unseen");
	} else if (w->in.decoded) {
		walk_note(w, "NOTE-DECODED-EXEC",
			arena_printf(w->arena, "%.20s runs text that was decoded first", program));
		walk_opaque(w, "decoded text is run");
	} else if (w->in.from_command) {
		walk_note(w, "NOTE-RUNS-UNKNOWN", "another command's output is run as a script");
		walk_opaque(w, "another command's output is run as a script");
	}
}

static void walk_shell(struct walk *w, const char *program, const struct argument *args, size_t n)
{
	walk_effect(w, EFFECT_EXEC, args[0].text, NULL, false);
	for (size_t i = 1; i < n; i++) {
		const char *text = args[i].text;

		if (text && (text[0] == '-' || text[0] == '+') && text[1]) {
			if (text[1] != '-' && strchr(text, 'c') && i + 1 < n) {
				if (args[i + 1].text)
					walk_text(w, args[i + 1].text, strlen(args[i + 1].text));
				else if (args[i + 1].has_command && w->in.from_network)
					walk_note(w, "NOTE-PIPE-TO-SHELL",
						"what comes from the network is run by the shell");
				if (!args[i + 1].text) {
					walk_note(w, "NOTE-RUNS-UNKNOWN",
						"the command that the shell runs cannot be known");
					walk_opaque(w,
						"the command that the shell runs cannot be known");
				}
				for (size_t e = w->in.first_effect;
					!args[i + 1].text && e < w->n_effects; e++) {
					if (w->effects[e].kind == EFFECT_CONNECT) {
						walk_note(w, "NOTE-PIPE-TO-SHELL",
							"what comes from the network is run by the "
							"shell");
						break;
					}
				}
				return;
			}
			if (word_in("-o -O --rcfile --init-file", text))
				i++;
			if (strcmp(text, "-s") == 0)
				break;
			continue;
		}
		if (args[i].has_command && !text) {
			/* bash <(curl ...): the inside has been walked. */
			walk_note(w, "NOTE-PIPE-TO-SHELL", "a command's output is run as a script");
			walk_opaque(w, "a command's output is run as a script");
			return;
		}
		{
			const struct argument script[2] = {
				{ .text = "source", .prefix = "source" }, args[i]
			};

			program_walk(w, "source", script, 2);
		}
		return;
	}
	shell_from_stream(w, program);
}

static void walk_eval(struct walk *w, const struct argument *args, size_t n)
{
	auto_buf struct buf text = BUF_INIT(SHELL_TEXT_MAX);
	bool connects = false;
	char *copy;

	for (size_t i = 1; i < n; i++) {
		if (!args[i].text) {
			for (size_t e = w->in.first_effect; e < w->n_effects; e++)
				connects = connects || w->effects[e].kind == EFFECT_CONNECT;
			if (connects)
				walk_note(w, "NOTE-PIPE-TO-SHELL",
					"what comes from the network is run by eval");
			walk_note(w, "NOTE-RUNS-UNKNOWN", "the text that eval runs cannot be known");
			walk_opaque(w, "the text that eval runs cannot be known");
			return;
		}
		buf_printf(&text, "%s%s", i > 1 ? " " : "", args[i].text);
	}
	copy = buf_error(&text) == 0 ? arena_text(w->arena, buf_get_text(&text), text.size) : NULL;
	if (copy)
		walk_text(w, copy, text.size);
}

/* ---- interpreters ---- */

static const struct {
	const char *name, *code_options;
} interpreters[] = {
	{ "python", "-c" },
	{ "python2", "-c" },
	{ "python3", "-c" },
	{ "pypy", "-c" },
	{ "pypy3", "-c" },
	{ "perl", "-e -E -ne -pe -pie -pi -i -lne -ane -nle -i.bak" },
	{ "ruby", "-e -ne -pe" },
	{ "node", "-e --eval -p --print -pe" },
	{ "nodejs", "-e --eval -p" },
	{ "php", "-r" },
	{ "lua", "-e" },
	{ "Rscript", "-e" },
	{ "tclsh", "" },
	{ "osascript", "-e" },
	{ "deno", "eval" },
	{ "bun", "-e" },
	{ "expect", "-c" },
	{ "julia", "-e" },
	{ "groovy", "-e" },
};

static bool is_versioned(const char *program, const char *name)
{
	size_t n = strlen(name);

	return strncmp(program, name, n) == 0 &&
	       strspn(program + n, "0123456789.") == strlen(program + n);
}

static bool walk_interpreter(
	struct walk *w, const char *program, const struct argument *args, size_t n)
{
	const char *options = NULL;

	for (size_t i = 0; i < N_ELEMENTS(interpreters) && !options; i++) {
		if (is_versioned(program, interpreters[i].name))
			options = interpreters[i].code_options;
	}
	if (!options)
		return false;
	if ((strcmp(program, "deno") == 0 || strcmp(program, "bun") == 0) &&
		(n < 2 || !args[1].text || !word_in(options, args[1].text)))
		return false;
	walk_effect(w, EFFECT_EXEC, args[0].text, NULL, false);
	for (size_t i = 1; i < n; i++) {
		const char *text = args[i].text;
		bool is_code =
			text &&
			(word_in(options, text) ||
				(text[0] == '-' && text[1] != '-' &&
					strncmp(program, "p", 1) == 0 &&
					strpbrk(text + 1,
						strncmp(program, "perl", 4) == 0 ? "eE" : "c")));

		if (is_code && i + 1 < n) {
			if (args[i + 1].text)
				code_walk(w, program, args[i + 1].text);
			else
				walk_opaque(w, "the code that is run cannot be known");
			i++;
			continue;
		}
		if (text && strcmp(text, "-m") == 0 && i + 1 < n && args[i + 1].text) {
			if (strcmp(args[i + 1].text, "pip") == 0 ||
				strcmp(args[i + 1].text, "pytest") == 0 ||
				strcmp(args[i + 1].text, "twine") == 0)
				walk_argv(w, args + i + 1, n - i - 1, true);
			else if (strcmp(args[i + 1].text, "http.server") == 0)
				walk_effect(w, EFFECT_LISTEN, "0.0.0.0", NULL, false);
			return true;
		}
		if (text && text[0] == '-' && text[1])
			continue;
		if (text && strcmp(text, "-") != 0) {
			walk_path_effect(w, EFFECT_READ, &args[i], false);
			for (size_t k = i + 1; k < n; k++) {
				if (args[k].text &&
					(args[k].text[0] == '/' || args[k].text[0] == '~'))
					walk_path_effect(w, EFFECT_READ, &args[k], false);
				if (args[k].text && strstr(args[k].text, "://"))
					(void)walk_host(w, &args[k]);
			}
		}
		return true;
	}
	if (n == 1 || (args[1].text && strcmp(args[1].text, "-") == 0)) {
		if (w->in.literal)
			code_walk(w, program, w->in.literal);
		else
			shell_from_stream(w, program);
	}
	return true;
}

/* ---- find, ssh, docker ---- */

/* What find hands on: the pattern beneath the root where it looks for names, else all of it. */
static struct argument found_beneath(
	struct walk *w, const struct argument *root, const struct argument *tests, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		const char *pattern = tests[i + 1].text;

		if (!tests[i].text ||
			!word_in("-name -iname -path -ipath -wholename -regex -iregex",
				tests[i].text) ||
			!pattern || !root->text)
			continue;
		if (strspn(pattern, "*.?") == strlen(pattern) ||
			(i > 0 && tests[i - 1].text && word_in("! -not -o -or", tests[i - 1].text)))
			continue;
		return (struct argument){ .text = arena_printf(w->arena, "%s/%s", root->text,
						  path_name(pattern)),
			.glob = true };
	}
	for (size_t i = 0; i < n; i++) {
		if (tests[i].text && strcmp(tests[i].text, "-empty") == 0 && root->text)
			return (struct argument){
				.text = arena_printf(w->arena, "%s/empty", root->text), .glob = true
			};
	}
	return *root;
}

/* The command behind -exec, where {} is any of what was found. */
static void walk_found(
	struct walk *w, const struct argument *command, size_t n, const struct argument *found)
{
	struct argument inner[64];
	size_t n_inner = n < N_ELEMENTS(inner) ? n : N_ELEMENTS(inner);

	for (size_t i = 0; i < n_inner; i++)
		inner[i] =
			command[i].text && strcmp(command[i].text, "{}") == 0 ? *found : command[i];
	walk_argv(w, inner, n_inner, true);
}

static void walk_find(struct walk *w, const struct argument *args, size_t n)
{
	struct argument roots[16];
	size_t n_roots = 0, i = 1;

	walk_effect(w, EFFECT_EXEC, args[0].text, NULL, false);
	for (; i < n && args[i].text &&
		(args[i].text[0] != '-' || word_in("-L -H -P", args[i].text)) &&
		args[i].text[0] != '(' && args[i].text[0] != '!';
		i++) {
		if (args[i].text[0] != '-' && n_roots < N_ELEMENTS(roots))
			roots[n_roots++] = args[i];
	}
	if (n_roots == 0)
		roots[n_roots++] = (struct argument){ .text = ".", .prefix = "." };
	for (size_t k = 0; k < n_roots; k++) {
		walk_path_effect(w, EFFECT_LIST, &roots[k], true);
		roots[k] = found_beneath(w, &roots[k], args + i, n - i);
	}
	for (; i < n; i++) {
		const char *text = args[i].text;
		size_t end = i + 1;

		if (text && strcmp(text, "-delete") == 0) {
			for (size_t k = 0; k < n_roots; k++)
				walk_path_effect(w, EFFECT_DELETE, &roots[k], !roots[k].glob);
		}
		if (text && word_in("-fprint -fprintf -fls -fprint0", text) && i + 1 < n)
			walk_path_effect(w, EFFECT_WRITE, &args[i + 1], false);
		if (!text || !word_in("-exec -execdir -ok -okdir", text))
			continue;
		while (end < n && !(args[end].text && (strcmp(args[end].text, ";") == 0 ||
							      strcmp(args[end].text, "+") == 0)))
			end++;
		walk_found(w, args + i + 1, end - i - 1, &roots[0]);
		i = end;
	}
}

static void walk_ssh(struct walk *w, const struct argument *args, size_t n)
{
	size_t i = 1;
	const char *host = NULL;

	walk_effect(w, EFFECT_EXEC, args[0].text, NULL, false);
	for (; i < n; i++) {
		const char *text = args[i].text;

		if (text && text[0] == '-' && text[1]) {
			const char *value = i + 1 < n ? args[i + 1].text : NULL;

			if (strlen(text) == 2 && strchr("bcDEeFIiJLlmOopQRSWw", text[1])) {
				/* The key is used, its data goes nowhere. */
				if (text[1] == 'i')
					walk_note(w, "NOTE-USES-KEY", "ssh uses a key that is named");
				if (text[1] == 'F')
					walk_path_effect(w, EFFECT_READ,
						&args[i + 1 < n ? i + 1 : i], false);
				if (value && strncmp(value, "ProxyCommand=", 13) == 0)
					walk_text(w, value + 13, strlen(value + 13));
				i++;
			}
			continue;
		}
		host = walk_host(w, &args[i]);
		if (!host)
			walk_opaque(w, "the host that is contacted cannot be known");
		i++;
		break;
	}
	if (host && i < n)
		walk_note(w, "NOTE-REMOTE-COMMAND",
			arena_printf(w->arena, "a command is run on %.100s", host));
	if (host) {
		for (size_t e = w->in.first_effect, total = w->n_effects; e < total; e++) {
			if (w->effects[e].kind == EFFECT_READ)
				walk_send(w, w->effects[e].object, host);
		}
	}
}

static void walk_container(
	struct walk *w, const char *program, const struct argument *args, size_t n)
{
	walk_effect(w, EFFECT_EXEC, args[0].text, NULL, false);
	for (size_t i = 1; i < n; i++) {
		const char *text = args[i].text;
		struct argument path = args[i];

		if (!text)
			continue;
		if ((strcmp(text, "-v") == 0 || strcmp(text, "--volume") == 0) && i + 1 < n &&
			args[i + 1].text)
			path.text = arena_text(
				w->arena, args[i + 1].text, strcspn(args[i + 1].text, ":"));
		else if (strncmp(text, "--volume=", 9) == 0)
			path.text = arena_text(w->arena, text + 9, strcspn(text + 9, ":"));
		else
			continue;
		if (path.text &&
			(path.text[0] == '/' || path.text[0] == '~' || path.text[0] == '.'))
			walk_path_effect(w, EFFECT_WRITE, &path, true);
	}
	walk_effect(w, EFFECT_PRIVILEGE, program, NULL, false);
}

static void walk_make(struct walk *w, const struct argument *args, size_t n)
{
	struct argument cwd = { .text = ".", .prefix = "." };
	const struct argument *dir = &cwd;

	walk_effect(w, EFFECT_EXEC, args[0].text, NULL, false);
	for (size_t i = 1; i + 1 < n; i++) {
		if (args[i].text && strcmp(args[i].text, "-C") == 0)
			dir = &args[i + 1];
		if (args[i].text && strcmp(args[i].text, "-f") == 0)
			walk_path_effect(w, EFFECT_READ, &args[i + 1], false);
	}
	walk_path_effect(w, EFFECT_READ, dir, true);
	walk_path_effect(w, EFFECT_WRITE, dir, true);
}

bool wrapper_walk(struct walk *w, const char *program, const struct argument *args, size_t n)
{
	for (size_t i = 0; i < N_ELEMENTS(wrappers); i++) {
		if (strcmp(wrappers[i].name, program) == 0)
			return walk_wrapper(w, &wrappers[i], args, n);
	}
	if (is_shell(program))
		walk_shell(w, program, args, n);
	else if (strcmp(program, "eval") == 0)
		walk_eval(w, args, n);
	else if (strcmp(program, "find") == 0 || strcmp(program, "gfind") == 0)
		walk_find(w, args, n);
	else if (strcmp(program, "ssh") == 0)
		walk_ssh(w, args, n);
	else if (word_in("docker podman nerdctl", program) && n > 1 && args[1].text &&
		 word_in("run exec create", args[1].text))
		walk_container(w, program, args, n);
	else if (word_in("make gmake", program))
		walk_make(w, args, n);
	else
		return walk_interpreter(w, program, args, n);
	return true;
}
