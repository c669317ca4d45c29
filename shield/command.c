/*
 * The walk itself: what a shell would do with a tree, in order, with every branch taken.
 */
#include "shield/command.h"

#include <errno.h>
#include <string.h>

#include "shield/shell_print.h"
#include "shield/decode.h"
#include "shield/walk.h"

#define FUNCTION_WALKS_MAX 4
#define LOOP_VALUES_MAX    16

static void add_call(
	struct walk *w, const struct argument *args, size_t n, const char *program, bool wrapped)
{
	const char **argv = arena_alloc_array(w->arena, n, sizeof(*argv));
	struct command_call *grown;

	if (!argv) {
		w->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++)
		argv[i] = args[i].text;
	if (w->n_calls == w->calls_capacity) {
		size_t capacity = w->calls_capacity ? 2 * w->calls_capacity : 8;

		if (capacity > WALK_CALLS_MAX) {
			w->error = -E2BIG;
			return;
		}
		grown = arena_alloc_array(w->arena, capacity, sizeof(*grown));
		if (!grown) {
			w->error = -ENOMEM;
			return;
		}
		if (w->n_calls > 0)
			memcpy(grown, w->calls, w->n_calls * sizeof(*grown));
		w->calls = grown;
		w->calls_capacity = capacity;
	}
	w->calls[w->n_calls++] = (struct command_call){ .program = program,
		.argv = argv,
		.n_argv = n,
		.wrapped = wrapped,
		.at = w->at,
		.size = w->size };
}

/* ---- builtins that change what is known ---- */

static void builtin_cd(struct walk *w, const struct argument *args, size_t n)
{
	struct argument home = { .text = w->origin.home };
	size_t i = 1;

	while (i < n && args[i].text && args[i].text[0] == '-' && args[i].text[1] != '\0')
		i++;
	w->cwd = walk_path(w, i < n ? &args[i] : &home);
}

static void note_environment(struct walk *w, const char *name, const char *value);

static void builtin_assigns(struct walk *w, const struct argument *args, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const char *text = args[i].text ? args[i].text : args[i].prefix;
		const char *equals = text ? strchr(text, '=') : NULL;
		char *name = equals ? arena_text(w->arena, text, (size_t)(equals - text)) : NULL;

		if (!name)
			continue;
		walk_assign(w, name, args[i].text ? equals + 1 : NULL, false);
		note_environment(w, name, equals + 1);
	}
}

static struct function *find_function(struct walk *w, const char *name)
{
	for (size_t i = 0; i < w->n_functions; i++) {
		if (strcmp(w->functions[i].name, name) == 0)
			return &w->functions[i];
	}
	return NULL;
}

/* alias x='...', bind -x '"k": ...', complete -C '...', mapfile -C '...': text that runs later. */
static void builtin_texts(
	struct walk *w, const char *program, const struct argument *args, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const char *text = args[i].text;
		const char *at = NULL;

		if (!text)
			continue;
		if (strcmp(program, "alias") == 0)
			at = strchr(text, '=');
		else if (strcmp(program, "bind") == 0)
			at = i > 1 ? strchr(text, ':') : NULL; /* behind -x */
		else if (strcmp(text, "-C") == 0 && i + 1 < n && args[i + 1].text)
			at = args[i + 1].text - 1;
		if (!at)
			continue;
		if (program[0] != 'a')
			walk_note(w, "NOTE-RUNS-LATER", "text is kept to be run later");
		walk_text(w, at + 1, strlen(at + 1));
	}
}

/* Functions that nothing called yet may be called later, or by the shell itself. */
static void walk_uncalled(struct walk *w)
{
	for (size_t i = 0; i < w->n_functions && w->error == 0; i++) {
		struct function *f = &w->functions[i];

		if (f->n_walked++ > 0)
			continue;
		w->depth++;
		walk_node(w, f->body);
		w->depth--;
	}
}

/* True if it was a builtin or a function and nothing is left to do. */
static bool walk_builtin(struct walk *w, const char *program, const struct argument *args, size_t n)
{
	struct function *f = find_function(w, program);

	if (f) {
		if (f->n_walked++ >= FUNCTION_WALKS_MAX)
			return true; /* its effects have been seen; with other arguments they are
					possible ones */
		for (size_t i = 1; i < n && i < 10; i++)
			walk_assign(
				w, arena_printf(w->arena, "%zu", i), args[i].text, args[i].glob);
		if (w->depth < WALK_DEPTH_MAX) {
			w->depth++;
			walk_node(w, f->body);
			w->depth--;
		}
		return true;
	}
	if (strcmp(program, "cd") == 0 || strcmp(program, "pushd") == 0) {
		builtin_cd(w, args, n);
		return true;
	}
	if (strcmp(program, "popd") == 0) {
		w->cwd = NULL;
		return true;
	}
	if (strcmp(program, "trap") == 0 && n > 2) {
		if (args[1].text && !args[1].text[0])
			walk_note(w, "NOTE-IGNORES-SIGNAL", "signals are ignored from here on");
		else if (args[1].text)
			walk_text(w, args[1].text, strlen(args[1].text));
		else
			walk_note(w, "NOTE-RUNS-UNKNOWN", "the text that a trap runs cannot be known");
		return true;
	}
	if (strcmp(program, "alias") == 0 || strcmp(program, "bind") == 0 ||
		strcmp(program, "complete") == 0 || strcmp(program, "mapfile") == 0 ||
		strcmp(program, "readarray") == 0) {
		builtin_texts(w, program, args, n);
		return true;
	}
	if (strcmp(program, "export") == 0 || strcmp(program, "declare") == 0 ||
		strcmp(program, "local") == 0 || strcmp(program, "readonly") == 0 ||
		strcmp(program, "typeset") == 0) {
		builtin_assigns(w, args, n);
		return true;
	}
	return false;
}

void walk_argv(struct walk *w, const struct argument *args, size_t n, bool wrapped)
{
	const char *name, *program;

	if (n == 0 || w->error != 0)
		return;
	if (w->depth >= WALK_DEPTH_MAX) {
		walk_opaque(w, "nested deeper than is followed");
		return;
	}
	name = args[0].text;
	if (!name) {
		add_call(w, args, n, NULL, wrapped);
		walk_effect(w, EFFECT_EXEC,
			args[0].prefix && args[0].prefix[0] ? args[0].prefix : "?", NULL, false);
		walk_note(w, "NOTE-UNKNOWN-PROGRAM", "the program that is run cannot be known");
		walk_opaque(w, "the program that is run cannot be known");
		return;
	}
	program = path_name(name);
	if (strchr(name, '='))
		walk_note(w, "NOTE-UNKNOWN-PROGRAM", "the program is named like an assignment");
	add_call(w, args, n, program, wrapped);
	w->depth++;
	if (!(strchr(name, '/') == NULL && walk_builtin(w, program, args, n)) &&
		!wrapper_walk(w, program, args, n))
		program_walk(w, program, args, n);
	w->depth--;
}

/* ---- redirections ---- */

/* /dev/tcp/host/port is a connection in bash. */
static bool redirect_network(struct walk *w, const char *path)
{
	struct argument host = { 0 };
	const char *rest;
	size_t n;

	if (strncmp(path, "/dev/tcp/", 9) != 0 && strncmp(path, "/dev/udp/", 9) != 0)
		return false;
	rest = path + 9;
	n = strcspn(rest, "/");
	host.text = arena_printf(w->arena, "%.*s:%s", (int)n, rest, rest[n] ? rest + n + 1 : "0");
	if (host.text)
		(void)walk_host(w, &host);
	walk_note(w, "NOTE-DEV-TCP",
		arena_printf(w->arena, "the shell itself connects to %.200s", rest));
	return true;
}

static void walk_redirection(struct walk *w, const struct shell_redirection *r)
{
	struct argument target[2];
	size_t n = r->target ? walk_expand(w, r->target, target, 2) : 0;

	if (r->kind == SHELL_HERE_DOC || r->kind == SHELL_HERE_STRING) {
		w->in.literal = n > 0 ? target[0].text : "";
		w->in.from_command = n > 0 && !target[0].text;
		return;
	}
	if (n == 0)
		return;
	if (target[0].text && redirect_network(w, target[0].text))
		return;
	if (r->kind == SHELL_DUP && target[0].text &&
		strspn(target[0].text, "0123456789-") == strlen(target[0].text))
		return;
	if (target[0].has_command && !target[0].text &&
		(!target[0].prefix || target[0].prefix[0] == '\0'))
		return; /* a process substitution: its inside has been walked */
	if (r->kind == SHELL_IN)
		walk_path_effect(w, EFFECT_READ, &target[0], false);
	else
		walk_path_effect(w, EFFECT_WRITE, &target[0], false);
}

/* ---- nodes ---- */

/* Room for the arguments that words may become: braces and variables make more of one. */
static size_t argument_room(const struct shell_word *words)
{
	size_t room = 17;

	for (; words && room < WALK_ARGV_MAX; words = words->next)
		room += 4;
	return room;
}

/* Variables through which a command is made to load or find something else. */
static void note_environment(struct walk *w, const char *name, const char *value)
{
	static const char *const loading[] = { "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT",
		"DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP",
		"PERL5OPT", "RUBYOPT", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER",
		"EDITOR", "VISUAL", "GIT_EDITOR", "LESSOPEN", "MANPAGER", "GIT_ASKPASS",
		"SSH_ASKPASS", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH", "PYTHONPATH", "PYTHONHOME",
		"PERL5LIB", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "INPUTRC",
		"GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_PROXY_COMMAND",
		"GIT_TEMPLATE_DIR", "GIT_EXEC_PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "PS1", "PS4",
		"CLASSPATH", "RUSTC_WRAPPER", "CARGO_HOME", "GOFLAGS", "GONOSUMCHECK", "GONOSUMDB",
		"GOPROXY", "GOINSECURE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL",
		"npm_config_registry", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy",
		"ALL_PROXY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "SSLKEYLOGFILE",
		"NODE_TLS_REJECT_UNAUTHORIZED", "GIT_SSL_NO_VERIFY", "PYTHONHTTPSVERIFY",
		"HISTFILE", "HISTIGNORE", "HISTCONTROL", "HISTSIZE", "HISTFILESIZE", "MAKEFLAGS",
		"LDFLAGS", "COSIGN_SKIP_TLOG", "GCONV_PATH", "MALLOC_CHECK_", "LOCALDOMAIN",
		"HOSTALIASES", "RESOLV_HOST_CONF", "TERMINFO", "SHELLOPTS", "BASHOPTS", "CDPATH" };

	if (strcmp(name, "PATH") == 0 && value && value[0] != '$' &&
		strncmp(value, "/usr", 4) != 0 && strncmp(value, "/opt", 4) != 0 &&
		strncmp(value, "/bin", 4) != 0 &&
		strncmp(value, w->origin.home, strlen(w->origin.home)) != 0) {
		walk_note(w, "NOTE-PATH-CHANGED",
			arena_printf(w->arena, "programs are looked for in %.100s first", value));
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(loading); i++) {
		if (strcmp(name, loading[i]) == 0)
			walk_note(w, "NOTE-LOADS-CODE",
				arena_printf(
					w->arena, "%s makes programs run something else", name));
	}
}

static void walk_assignments(struct walk *w, const struct shell_assignment *a, bool before_command)
{
	for (; a && w->error == 0; a = a->next) {
		struct argument value[2];
		size_t n = a->value ? walk_expand(w, a->value, value, 2) : 0;

		walk_effect(w, EFFECT_ENVIRONMENT, a->name, NULL, false);
		if (before_command || strncmp(a->name, "HIST", 4) == 0 ||
			strcmp(a->name, "PROMPT_COMMAND") == 0)
			note_environment(w, a->name,
				n > 0 ? (value[0].text ? value[0].text : value[0].prefix) : NULL);
		walk_assign(w, a->name,
			a->is_array || a->appends ? NULL
			: n == 0                  ? ""
			: n == 1                  ? value[0].text
						  : NULL,
			n == 1 && value[0].glob);
	}
}

static void walk_simple(struct walk *w, const struct shell_node *node)
{
	size_t max = argument_room(node->words);
	struct argument *args = arena_alloc_array(w->arena, max, sizeof(*args));
	size_t n_variables = w->n_variables;
	size_t n;

	if (!args) {
		w->error = -ENOMEM;
		return;
	}
	w->at = node->at;
	w->size = node->size;
	walk_assignments(w, node->assignments, node->words != NULL);
	n = walk_expand(w, node->words, args, max);
	for (const struct shell_redirection *r = node->redirections; r; r = r->next)
		walk_redirection(w, r);
	w->at = node->at;
	w->size = node->size;
	if (n == max)
		walk_opaque(w, "more arguments than are looked at");
	walk_argv(w, args, n, false);
	if (n > 0)
		w->n_variables = n_variables < w->n_variables && node->assignments ? n_variables
										   : w->n_variables;
}

/* What the next stage gets from this one. */
static struct stream stream_after(
	const struct walk *w, const struct shell_node *stage, const struct stream *in, size_t first)
{
	static const char *const decoders[] = { "base64", "base32", "xxd", "openssl", "uudecode",
		"rev", "tr", "gunzip", "zcat", "gzip", "python", "python3", "perl" };
	struct stream out = { .from_command = true,
		.first_effect = in->first_effect,
		.from_network = in->from_network,
		.decoded = in->decoded };
	const struct command_call *call = NULL;

	for (size_t i = w->n_calls; i > 0 && !call; i--) {
		if (w->calls[i - 1].at >= stage->at)
			call = &w->calls[i - 1];
	}
	for (size_t i = first; i < w->n_effects; i++)
		out.from_network = out.from_network || w->effects[i].kind == EFFECT_CONNECT;
	if (!call || !call->program)
		return out;
	for (size_t i = 0; i < N_ELEMENTS(decoders); i++)
		out.decoded = out.decoded || strcmp(decoders[i], call->program) == 0;
	if (strcmp(call->program, "echo") == 0 || strcmp(call->program, "printf") == 0) {
		out.literal = shell_printed(w->arena, call);
		out.from_command = out.literal == NULL;
		for (size_t i = 1; i < call->n_argv; i++)
			out.decoded = out.decoded ||
				      (call->argv[i] && decode_escapes(w->arena, call->argv[i]));
	} else if (strcmp(call->program, "cat") == 0 && in->literal && call->n_argv == 1) {
		out = *in;
	} else if (in->literal && out.decoded) {
		out.literal = in->literal; /* the consumer decodes it */
	}
	return out;
}

static void walk_pipeline(struct walk *w, const struct shell_node *node)
{
	struct stream before = w->in;

	w->in = (struct stream){ .first_effect = w->n_effects };
	for (const struct shell_node *stage = node->children; stage && w->error == 0;
		stage = stage->next) {
		struct stream in = w->in;
		size_t first = w->n_effects;
		const char *cwd = w->cwd;

		walk_node(w, stage);
		w->cwd = cwd; /* each stage is a process of its own */
		w->in = stream_after(w, stage, &in, first);
	}
	w->in = before;
}

static void walk_for(struct walk *w, const struct shell_node *node)
{
	struct argument values[LOOP_VALUES_MAX + 1];
	size_t n = walk_expand(w, node->words, values, N_ELEMENTS(values));

	if (n == 0 || n > LOOP_VALUES_MAX || !node->name) {
		if (node->name)
			walk_assign(w, node->name, NULL, false);
		walk_node(w, node->children);
		return;
	}
	for (size_t i = 0; i < n && w->error == 0; i++) {
		walk_assign(w, node->name, values[i].text, values[i].glob);
		walk_node(w, node->children);
	}
}

static void walk_function(struct walk *w, const struct shell_node *node)
{
	const struct shell_node *body = node->children;

	/* name(){ name|name& };name: the body calls itself in the background. */
	if (w->n_functions < WALK_FUNCTIONS_MAX)
		w->functions[w->n_functions++] =
			(struct function){ .name = node->name, .body = body };
	else
		walk_opaque(w, "more functions than are followed");
}

static bool calls_itself(const struct shell_node *node, const char *name, bool in_pipe)
{
	for (; node; node = node->next) {
		const struct shell_part *part = node->words ? node->words->parts : NULL;

		if (node->kind == SHELL_SIMPLE && part && part->kind == SHELL_TEXT &&
			strcmp(part->text, name) == 0 && (in_pipe || node->background))
			return true;
		if (calls_itself(node->children, name,
			    in_pipe || node->kind == SHELL_PIPELINE || node->background))
			return true;
	}
	return false;
}

void walk_node(struct walk *w, const struct shell_node *node)
{
	const char *cwd = w->cwd;
	struct stream in = w->in;

	if (!node || w->error != 0)
		return;
	if (++w->n_steps > WALK_STEPS_MAX) {
		w->error = -E2BIG;
		return;
	}
	switch (node->kind) {
	case SHELL_SIMPLE:
		walk_simple(w, node);
		w->in = in;
		return;
	case SHELL_PIPELINE:
		walk_pipeline(w, node);
		return;
	case SHELL_FOR:
		walk_for(w, node);
		break;
	case SHELL_FUNCTION:
		walk_function(w, node);
		if (node->children && calls_itself(node->children, node->name, false))
			walk_note(w, "NOTE-FORK-BOMB",
				arena_printf(w->arena,
					"the function %.60s starts itself again and again",
					node->name));
		return;
	case SHELL_SEQUENCE:
	case SHELL_SUBSHELL:
		for (const struct shell_node *child = node->children; child; child = child->next)
			walk_node(w, child);
		break;
	}
	for (const struct shell_redirection *r = node->redirections; r; r = r->next)
		walk_redirection(w, r);
	w->in = in;
	if (node->kind == SHELL_SUBSHELL)
		w->cwd = cwd;
}

void walk_text(struct walk *w, const char *text, size_t n)
{
	const struct shell_node *node;
	uint32_t at = w->at, size = w->size;
	const char *cwd = w->cwd;
	struct stream in = w->in;
	const char *why = NULL;
	int r;

	if (w->depth >= WALK_DEPTH_MAX) {
		walk_opaque(w, "nested deeper than is followed");
		return;
	}
	w->n_text += n;
	r = w->n_text > WALK_TEXT_MAX ? -E2BIG : shell_parse(w->arena, text, n, &node, &why);
	if (r == -EBADMSG) {
		walk_note(w, "NOTE-RUNS-UNKNOWN", "text that is run cannot be read");
		walk_opaque(w, why);
	} else if (r != 0) {
		w->error = r;
	}
	if (r != 0)
		return;
	w->depth++;
	w->in = (struct stream){ .first_effect = w->n_effects };
	walk_node(w, node);
	w->depth--;
	w->at = at;
	w->size = size;
	w->cwd = cwd;
	w->in = in;
}

/* ---- entry ---- */

static int walk_begin(struct walk *w, struct arena *a, const struct command_context *context)
{
	memset(w, 0, sizeof(*w));
	w->arena = a;
	w->context = context;
	w->origin = (struct path_origin){ .cwd = context->cwd, .home = context->home };
	w->cwd = context->cwd;
	walk_assign(w, "HOME", context->home, false);
	walk_assign(w, "PWD", context->cwd, false);
	walk_assign(w, "TMPDIR", "/tmp", false);
	walk_assign(w, "IFS", " \t\n", false);
	return 0;
}

static int walk_end(const struct walk *w, struct command_result *ret_result)
{
	if (w->error != 0)
		return w->error;
	*ret_result = (struct command_result){ .effects = w->effects,
		.n_effects = w->n_effects,
		.wanted = w->wanted,
		.n_wanted = w->n_wanted,
		.notes = w->notes,
		.n_notes = w->n_notes,
		.calls = w->calls,
		.n_calls = w->n_calls,
		.opaque = w->opaque,
		.needs_network = w->needs_network };
	return 0;
}

static bool has_control_bytes(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			return true;
	}
	return false;
}

/*
 * A command that went through one escaping too many holds "\n" where newlines were. Some shells and
 * callers turn it back, so that reading is looked at too.
 */
static void walk_unescaped(struct walk *w, const char *text, size_t n)
{
	auto_buf struct buf out = BUF_INIT(SHELL_TEXT_MAX);
	const struct shell_node *node;
	const char *why;
	char *copy;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\\' && i + 1 < n && (text[i + 1] == 'n' || text[i + 1] == 't')) {
			buf_byte(&out, text[i + 1] == 'n' ? '\n' : '\t');
			i++;
		} else {
			buf_byte(&out, (uint8_t)text[i]);
		}
	}
	copy = buf_error(&out) == 0 ? arena_text(w->arena, buf_get_text(&out), out.size) : NULL;
	if (copy && shell_parse(w->arena, copy, out.size, &node, &why) == 0)
		walk_node(w, node);
}

int command_analyse(struct arena *a, const struct command_context *context, const char *text,
	size_t n, struct command_result *ret_result)
{
	struct walk *w = arena_alloc(a, sizeof(*w));
	const struct shell_node *node;
	const char *why = NULL;
	int r;

	if (!w)
		return -ENOMEM;
	if (n > SHELL_TEXT_MAX)
		return -E2BIG;
	r = walk_begin(w, a, context);
	w->size = (uint32_t)n;
	if (has_control_bytes(text, n))
		walk_note(w, "NOTE-CONTROL-BYTES",
			"the command holds control bytes that a terminal would obey");
	if (r == 0)
		r = shell_parse(a, text, n, &node, &why);
	if (r == -EBADMSG) {
		walk_opaque(w, why);
		walk_note(w, "NOTE-UNREAD",
			arena_printf(a, "the command is not understood: %s", why));
		r = 0;
	} else if (r == 0) {
		walk_node(w, node);
	walk_uncalled(w);
	}
	if (r == 0 && memmem(text, n, "$\\\n", 3))
		walk_note(w, "NOTE-HIDDEN-COMMAND", "a line is broken inside an expansion");
	if (r == 0 && memmem(text, n, "\\n", 2))
		walk_unescaped(w, text, n);
	return r != 0 ? r : walk_end(w, ret_result);
}

int command_analyse_argv(struct arena *a, const struct command_context *context,
	const char *const *argv, size_t n_argv, struct command_result *ret_result)
{
	struct walk *w = arena_alloc(a, sizeof(*w));
	struct argument *args = arena_alloc_array(a, n_argv, sizeof(*args));
	int r;

	if (!w || !args)
		return -ENOMEM;
	if (n_argv > WALK_ARGV_MAX)
		return -E2BIG;
	r = walk_begin(w, a, context);
	for (size_t i = 0; i < n_argv; i++)
		args[i] = (struct argument){ .text = argv[i], .prefix = argv[i] };
	if (r == 0)
		walk_argv(w, args, n_argv, false);
	return r != 0 ? r : walk_end(w, ret_result);
}
