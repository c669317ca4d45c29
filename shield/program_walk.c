/*
 * The effects of one program by its row of the table, and of the few whose arguments no row can
 * say.
 */
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "shield/programs.h"
#include "shield/walk.h"

struct reading {
	struct walk *w;
	const struct program *row;
	const struct argument *args;
	size_t n;
	bool recursive, after_dashes;
	size_t n_operands; /* so far */
	size_t total;      /* operands in all */
	const char *host;  /* the last one found */
	bool read_stdin;
};

/* The letter for an option's argument: "-o" in "-o=w -i=r"; '\0' when it takes none. */
static char option_letter(const char *options, const char *name, size_t n)
{
	for (const char *at = options; at && *at;) {
		size_t n_word = strcspn(at, " ");

		if (n_word == n + 2 && memcmp(at, name, n) == 0 && at[n] == '=')
			return at[n + 1];
		at += n_word;
		at += *at == ' ';
	}
	return '\0';
}

static bool word_in(const char *list, const char *word, size_t n)
{
	for (const char *at = list; at && *at;) {
		size_t n_word = strcspn(at, " ");

		if (n_word == n && memcmp(at, word, n) == 0)
			return true;
		at += n_word;
		at += *at == ' ';
	}
	return false;
}

/* "user@host:path" and "host:path" of scp and rsync; true if it was one. */
static bool remote_path(struct reading *r, const struct argument *arg, bool is_target)
{
	const char *text = arg->text ? arg->text : arg->prefix;
	const char *colon = text ? strchr(text, ':') : NULL;
	struct argument host = { 0 };

	if (!colon || colon == text || memchr(text, '/', (size_t)(colon - text)))
		return false;
	host.text = arena_text(r->w->arena, text, (size_t)(colon - text));
	r->host = host.text ? walk_host(r->w, &host) : NULL;
	if (is_target && r->host) {
		for (size_t i = 1; i < r->n; i++) {
			const char *path = r->args[i].text && r->args[i].text[0] != '-' &&
							   !strchr(r->args[i].text, ':')
						   ? walk_path(r->w, &r->args[i])
						   : NULL;

			if (path)
				walk_send(r->w, path, r->host);
		}
	}
	return true;
}

static void run_script(struct walk *w, const struct argument *arg)
{
	const char *path = walk_path(w, arg);
	const struct il_fact *fact;

	if (!path) {
		walk_opaque(w, "the script that is run cannot be known");
		return;
	}
	if (is_path_beneath(path, "/tmp", false) || is_path_beneath(path, "/var/tmp", false) ||
		is_path_beneath(path, "/dev/shm", false))
		walk_note(w, "NOTE-RUNS-TEMPORARY",
			"a program out of a directory for temporary files is run");
	for (size_t i = 0; i < w->n_effects; i++) {
		const struct effect *e = &w->effects[i];

		if ((e->kind != EFFECT_WRITE && e->kind != EFFECT_CREATE) ||
			strcmp(e->object, path) != 0)
			continue;
		walk_note(w, w->needs_network ? "NOTE-DOWNLOAD-RUN" : "NOTE-RUNS-WRITTEN",
			arena_printf(w->arena, "%.200s is written and then run", path));
		break;
	}
	walk_effect(w, EFFECT_READ, path, NULL, false);
	walk_effect(w, EFFECT_EXEC, arg->text, path, false);
	walk_want(w, IL_FACT_SCRIPT, path);
	fact = walk_fact(w, IL_FACT_SCRIPT, path);
	if (fact && fact->known && fact->text)
		walk_text(w, fact->text, fact->n_text);
}

static void apply(struct reading *r, char letter, const struct argument *arg, bool is_last)
{
	struct walk *w = r->w;

	switch (letter) {
	case 'r':
		if (arg->text && strcmp(arg->text, "-") == 0)
			r->read_stdin = true;
		else if (!((r->row->flags & PROGRAM_NETWORK) && remote_path(r, arg, false)))
			walk_path_effect(w, EFFECT_READ, arg, r->recursive);
		return;
	case 'l':
		walk_path_effect(w, EFFECT_LIST, arg, r->recursive);
		return;
	case 'w':
		if (arg->text &&
			(strcmp(arg->text, "-") == 0 || strncmp(arg->text, "/dev/std", 8) == 0))
			return;
		if (!((r->row->flags & PROGRAM_NETWORK) && remote_path(r, arg, is_last)))
			walk_path_effect(w, EFFECT_WRITE, arg, r->recursive);
		return;
	case 'c':
		walk_path_effect(w, EFFECT_CREATE, arg, false);
		return;
	case 'd':
		walk_path_effect(w, EFFECT_DELETE, arg, r->recursive);
		return;
	case 'm':
		/* What moves is not lost; where it comes from still changes. */
		walk_path_effect(w, EFFECT_RENAME, arg, true);
		walk_path_effect(w, EFFECT_READ, arg, true);
		return;
	case 'a':
		walk_path_effect(w, EFFECT_ATTRIBUTES, arg, r->recursive);
		return;
	case 'h':
	case 'u':
		if (!arg->text || strcmp(arg->text, "-") != 0) {
			const char *host = walk_host(w, arg);

			r->host = host ? host : r->host;
			if (!host && !arg->text)
				walk_opaque(w, "the host that is contacted cannot be known");
			if (arg->has_command && host) {
				/* What a command printed goes out in the address. */
				for (size_t i = w->in.first_effect; i < w->n_effects; i++) {
					if (w->effects[i].kind == EFFECT_READ)
						walk_send(w, w->effects[i].object, host);
				}
				walk_send(w, "command output", host);
			}
		}
		return;
	case 'p':
		run_script(w, arg);
		return;
	case 's':
		if (arg->text)
			walk_text(w, arg->text, strlen(arg->text));
		else
			walk_opaque(w, "the command that is run cannot be known");
		return;
	case 'k':
		if (arg->text)
			code_walk(w, r->row->name, arg->text);
		return;
	default:
		return;
	}
}

/* The letter of the operand number i of total. */
static char operand_letter(const char *operands, size_t i, size_t total)
{
	const char *plus = strchr(operands, '+');
	const char *star = strchr(operands, '*');

	if (plus) {
		size_t fixed = (size_t)(plus - operands) - 1;

		if (i < fixed)
			return operands[i];
		return i + 1 == total && total > fixed + 1 ? plus[1] : plus[-1];
	}
	if (star && i >= (size_t)(star - operands))
		return star[-1];
	return i < strlen(operands) && operands[i] != '*' ? operands[i] : '-';
}

/* An option at args[i]; how many further arguments it took. */
static size_t read_option(struct reading *r, size_t i, bool effects)
{
	const char *text = r->args[i].text;
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : strlen(text);
	struct argument value = r->args[i];
	char letter;

	letter = option_letter(r->row->options, text, n);
	if (letter != '\0' && (equals || i + 1 < r->n)) {
		if (equals)
			value.text = value.prefix = equals + 1;
		else
			value = r->args[i + 1];
		if (effects)
			apply(r, letter, &value, false);
		return equals ? 0 : 1;
	}
	if (text[1] == '-') {
		if (word_in(r->row->recursive, text, n))
			r->recursive = true;
		return 0;
	}
	/* A bundle of short options, the last of which may have its argument joined or behind. */
	for (size_t k = 1; text[k]; k++) {
		char name[3] = { '-', text[k], '\0' };

		if (r->row->recursive && word_in(r->row->recursive, &text[k], 1))
			r->recursive = true;
		letter = option_letter(r->row->options, name, 2);
		if (letter == '\0')
			continue;
		if (text[k + 1] != '\0')
			value.text = value.prefix = text + k + 1;
		else if (i + 1 < r->n)
			value = r->args[i + 1];
		else
			return 0;
		if (effects)
			apply(r, letter, &value, false);
		return text[k + 1] == '\0' ? 1 : 0;
	}
	return 0;
}

static bool is_option(const struct reading *r, size_t i)
{
	const char *text = r->args[i].text;

	/* chmod -x FILE: that is a mode. */
	if (text && r->row && strcmp(r->row->name, "chmod") == 0 && text[0] == '-' && text[1] &&
		strspn(text + 1, "rwxXst") == strlen(text + 1))
		return false;
	return text && !r->after_dashes && text[0] == '-' && text[1] != '\0';
}

/* Twice over the arguments: to count operands and find "recursive", then for the effects. */
static void read_arguments(struct reading *r, bool effects)
{
	r->n_operands = 0;
	r->after_dashes = false;
	for (size_t i = 1; i < r->n && r->w->error == 0; i++) {
		if (is_option(r, i) && strcmp(r->args[i].text, "--") == 0) {
			r->after_dashes = true;
			continue;
		}
		if (is_option(r, i)) {
			i += read_option(r, i, effects);
			continue;
		}
		if (effects)
			apply(r, operand_letter(r->row->operands, r->n_operands, r->total),
				&r->args[i], r->n_operands + 1 == r->total);
		r->n_operands++;
	}
}

/* Hosts of package managers, when one of the subcommands that go there is used. */
static void read_hosts(struct reading *r)
{
	const char *subcommand = "";

	if (!r->row->hosts)
		return;
	for (size_t i = 1; i < r->n; i++) {
		if (r->args[i].text && r->args[i].text[0] != '-') {
			subcommand = r->args[i].text;
			break;
		}
	}
	if (r->row->subcommands && !word_in(r->row->subcommands, subcommand, strlen(subcommand)))
		return;
	for (const char *at = r->row->hosts; *at;) {
		size_t n = strcspn(at, " ");

		walk_connect(r->w, arena_text(r->w->arena, at, n), 443);
		at += n;
		at += *at == ' ';
	}
}

/* curl's and wget's ways to send a file or text. */
static void read_uploads(struct reading *r)
{
	static const char *const body[] = { "-d", "--data", "--data-raw", "--data-binary",
		"--data-urlencode", "--data-ascii", "-F", "--form", "--json", "-T", "--upload-file",
		"--post-data", "--post-file", "--body-file", "--body-data" };

	for (size_t i = 1; r->host && i < r->n; i++) {
		const char *text = r->args[i].text ? r->args[i].text : r->args[i].prefix;

		for (size_t k = 0; text && k < N_ELEMENTS(body); k++) {
			size_t n = strlen(body[k]);
			struct argument value = i + 1 < r->n ? r->args[i + 1] : r->args[i];
			const char *at;
			bool is_file = body[k][1] == 'T' || strstr(body[k], "file");

			if (strncmp(text, body[k], n) != 0 ||
				(text[n] != '\0' && text[n] != '=' && body[k][1] == '-'))
				continue;
			if (text[n] != '\0')
				value = (struct argument){
					.text = r->args[i].text ? text + n + (text[n] == '=')
								: NULL,
					.prefix = text + n,
					.has_command = r->args[i].has_command
				};
			if (value.has_command) {
				for (size_t e = r->w->in.first_effect; e < r->w->n_effects; e++) {
					if (r->w->effects[e].kind == EFFECT_READ)
						walk_send(r->w, r->w->effects[e].object, r->host);
				}
			}
			at = value.text ? strchr(value.text, '@') : NULL;
			if (at && !is_file && (at == value.text || at[-1] == '='))
				value.text = value.prefix = at + 1;
			else if (!is_file)
				at = NULL;
			if ((at || is_file) && value.text && strcmp(value.text, "-") != 0) {
				const char *path = walk_path(r->w, &value);

				walk_path_effect(r->w, EFFECT_READ, &value, false);
				if (path)
					walk_send(r->w, path, r->host);
			} else {
				walk_send(r->w, "literal", r->host);
				if (value.text && strcmp(value.text, "-") == 0)
					r->read_stdin = true;
			}
			break;
		}
	}
}

/* What earlier stages of the pipeline read goes to the host. */
static void send_stdin(struct reading *r)
{
	struct walk *w = r->w;

	if (!r->host)
		return;
	for (size_t i = w->in.first_effect, n = w->n_effects; i < n; i++) {
		if (w->effects[i].kind == EFFECT_READ || w->effects[i].kind == EFFECT_LIST)
			walk_send(w, w->effects[i].object, r->host);
	}
	walk_send(w, "stdin", r->host);
}

static bool has_option(const struct argument *args, size_t n, const char *shorts, const char *name)
{
	for (size_t i = 1; i < n; i++) {
		const char *text = args[i].text;

		if (!text || text[0] != '-')
			continue;
		if (name && strncmp(text, name, strlen(name)) == 0)
			return true;
		if (text[1] != '-' && strpbrk(text + 1, shorts))
			return true;
	}
	return false;
}

/* sed writes in place; with a script of its own it can write and run. */
static void special_sed(struct reading *r)
{
	if (has_option(r->args, r->n, "i", "--in-place")) {
		size_t operand = 0;
		bool has_script = has_option(r->args, r->n, "ef", "--expression");

		for (size_t i = 1; i < r->n; i++) {
			if (is_option(r, i)) {
				i += option_letter(r->row->options, r->args[i].text,
					     strlen(r->args[i].text)) != '\0';
				continue;
			}
			if (operand++ > 0 || has_script)
				walk_path_effect(r->w, EFFECT_WRITE, &r->args[i], false);
		}
	}
	for (size_t i = 1; i < r->n; i++) {
		if (r->args[i].text && r->args[i].text[0] != '-') {
			code_walk(r->w, "sed", r->args[i].text);
			return;
		}
	}
}


/* Deletes of cmd.exe: rd /s, del /s; whole drives are named for what they are. */
static bool special_windows(
	struct walk *w, const char *program, const struct argument *args, size_t n)
{
	bool recursive = false, drive = false;

	if (strcasecmp(program, "rd") != 0 && strcasecmp(program, "rmdir") != 0 &&
		strcasecmp(program, "del") != 0 && strcasecmp(program, "erase") != 0 &&
		strcasecmp(program, "format") != 0)
		return false;
	for (size_t i = 1; i < n; i++) {
		const char *text = args[i].text ? args[i].text : "";

		recursive = recursive || strcasecmp(text, "/s") == 0;
		while (*text == '\\' || *text == '?' || *text == '"')
			text++;
		if (((text[0] | 32) >= 'a' && (text[0] | 32) <= 'z') && text[1] == ':') {
			text += 2 + strspn(text + 2, "\\/");
			drive = drive || *text == '\0' || *text == '*' ||
				strncasecmp(text, "windows", 7) == 0 ||
				strncasecmp(text, "users", 5) == 0;
		}
	}
	if (!recursive && !drive)
		return false;
	walk_note(w, drive ? "NOTE-DRIVE-DELETED" : "NOTE-WINDOWS-DELETE",
		drive ? "a whole drive or its system is deleted" : "a tree is deleted by cmd.exe");
	return true;
}

static bool walk_special(struct walk *w, const char *program, const struct argument *args, size_t n)
{
	if (strcmp(program, "git") == 0)
		program_git(w, args, n);
	else if (strcmp(program, "tar") == 0 || strcmp(program, "bsdtar") == 0)
		program_tar(w, args, n);
	else if (strcmp(program, "dd") == 0)
		program_dd(w, args, n);
	else
		return special_windows(w, program, args, n);
	return true;
}

/* "nc host port": the port is the last word, when it is a number. */
static void set_port(struct walk *w, const struct argument *args, size_t n)
{
	const char *last = args[n - 1].text;
	uint32_t port;

	if (n < 3 || !last || num_parse_u32(last, 1, 65535, &port) != 0)
		return;
	for (size_t i = w->n_effects; i > 0; i--) {
		struct effect *e = &w->effects[i - 1];

		if (e->kind == EFFECT_EXEC)
			return;
		if (e->kind == EFFECT_CONNECT && e->port == 0) {
			e->port = (uint16_t)port;
			return;
		}
	}
}

void program_walk(struct walk *w, const char *program, const struct argument *args, size_t n)
{
	struct reading r = { .w = w, .row = program_row_find(program), .args = args, .n = n };
	struct argument cwd = { .text = "." };

	walk_effect(w, EFFECT_EXEC, args[0].text, NULL, false);
	if (strpbrk(args[0].text, "*?[") && strcmp(program, "[") != 0 && strcmp(program, "[[") != 0)
		walk_note(w, "NOTE-UNKNOWN-PROGRAM", "the program is named by a pattern");
	if (strchr(args[0].text, '/')) {
		const char *path = walk_path(w, &args[0]);

		if (path && !is_path_beneath(path, "/usr", false) &&
			!is_path_beneath(path, "/bin", false) &&
			!is_path_beneath(path, "/sbin", false))
			run_script(w, &args[0]);
	}
	if (walk_special(w, program, args, n))
		return;
	if (!r.row) {
		/* Unknown, but contained: what it may read and write is what the grant gives. */
		for (size_t i = 1; i < n; i++) {
			const char *text = args[i].text ? args[i].text : args[i].prefix;

			if (text && strstr(text, "://"))
				(void)walk_host(w, &args[i]);
			else if (args[i].text &&
				 (text[0] == '/' || text[0] == '~' || strncmp(text, "../", 3) == 0))
				walk_path_effect(w, EFFECT_READ, &args[i], false);
		}
		return;
	}
	r.recursive = (r.row->flags & PROGRAM_RECURSIVE) != 0;
	read_arguments(&r, false);
	r.total = r.n_operands;
	read_arguments(&r, true);
	if (strcmp(program, "nc") == 0 || strcmp(program, "ncat") == 0 ||
		strcmp(program, "netcat") == 0) {
		if (has_option(args, n, "l", "--listen"))
			walk_effect(w, EFFECT_LISTEN, "0.0.0.0", NULL, false);
		set_port(w, args, n);
		if (has_option(args, n, "ec", "--exec"))
			walk_note(w, "NOTE-REVERSE-SHELL",
				"a program is tied to a network connection");
	}
	if (strcmp(program, "sed") == 0)
		special_sed(&r);
	read_hosts(&r);
	if (r.row->flags & PROGRAM_DOWNLOADS)
		read_uploads(&r);
	if ((r.row->flags & PROGRAM_STDIN_SENT) || r.read_stdin)
		send_stdin(&r);
	if ((r.row->flags & PROGRAM_READS_CWD) && r.total <= 1)
		walk_path_effect(w, r.row->flags & PROGRAM_WRITES_CWD ? EFFECT_READ : EFFECT_LIST,
			&cwd, true);
	if (r.row->flags & PROGRAM_WRITES_CWD)
		walk_path_effect(w, EFFECT_WRITE, &cwd, true);
	if (r.row->flags & PROGRAM_PRIVILEGE)
		walk_effect(w, EFFECT_PRIVILEGE, program, NULL, false);
}
