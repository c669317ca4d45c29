/*
 * Words to arguments: variables, tildes, braces and splitting, as far as they are known. What is
 * not known stays unknown: the argument then has no text.
 */
#include <stdlib.h>
#include <string.h>

#include "shield/walk.h"

#define F_QUOTED  1u
#define F_SPLIT   2u /* came from an unquoted expansion: blanks in it separate words */
#define F_UNKNOWN 4u
#define F_COMMAND 8u

#define BRACES_MAX 64
#define BRACES_DEPTH_MAX 32

/* A word while it is expanded: each byte with what is known of it. */
struct flat {
	struct buf text, flags;
};

static void flat_add(struct flat *f, const char *text, size_t n, uint8_t flags)
{
	for (size_t i = 0; i < n; i++) {
		buf_byte(&f->text, (uint8_t)text[i]);
		buf_byte(&f->flags, flags);
	}
}

static void flat_unknown(struct flat *f, uint8_t flags)
{
	flat_add(f, "?", 1, (uint8_t)(F_UNKNOWN | F_QUOTED | flags));
}

static void flatten(struct walk *w, const struct shell_word *word, struct flat *f);

/* The text of a word when all of it is known. */
static const char *word_text(struct walk *w, const struct shell_word *word)
{
	struct flat f = { .text = BUF_INIT(WALK_VALUE_MAX), .flags = BUF_INIT(WALK_VALUE_MAX) };
	const char *text = NULL;
	bool known = true;

	flatten(w, word, &f);
	for (size_t i = 0; i < f.flags.size; i++)
		known = known && !(f.flags.data[i] & F_UNKNOWN);
	if (known && buf_error(&f.text) == 0)
		text = arena_text(w->arena, buf_get_text(&f.text), f.text.size);
	buf_done(&f.text);
	buf_done(&f.flags);
	return text;
}

/* Variables of the environment whose use is worth an effect. */
static bool is_secret_name(const char *name)
{
	static const char *const words[] = { "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD",
		"CREDENTIAL" };

	for (size_t i = 0; i < N_ELEMENTS(words); i++) {
		if (strstr(name, words[i]))
			return true;
	}
	return false;
}

static void flatten_variable(struct walk *w, const struct shell_part *part, struct flat *f)
{
	uint8_t flags = part->quoted ? F_QUOTED : F_SPLIT;
	const struct variable *v = walk_variable(w, part->text);
	const char *value = v ? v->value : NULL;

	if (part->op && strchr(":-=+?", part->op[0])) {
		/* The word behind := and :- is what an unset variable becomes, the worst case that
		 * can be seen. */
		bool is_default = strchr(part->op, '-') || strchr(part->op, '=');

		if (!value && is_default && part->word)
			value = word_text(w, part->word);
		if (strchr(part->op, '+'))
			value = part->word ? word_text(w, part->word) : "";
	} else if (part->op) {
		if (part->op[0] == '@')
			walk_note(w, "NOTE-UNKNOWN-PROGRAM",
				"a value is expanded as if it were a prompt, which runs what "
				"stands in it");
		value = NULL;
	}
	if (!v && !part->op && is_secret_name(part->text))
		walk_effect(w, EFFECT_ENVIRONMENT, part->text, NULL, false);
	if (!value) {
		flat_unknown(f, 0);
		return;
	}
	if (v && v->glob)
		flags = 0;
	flat_add(f, value, strlen(value), flags);
}

static void flatten_tilde(struct walk *w, const struct shell_part *part, struct flat *f)
{
	size_t n = strcspn(part->text, "/");

	if (n == 1)
		flat_add(f, w->origin.home, strlen(w->origin.home), F_QUOTED);
	else
		flat_add(f, part->text, n, 0); /* ~user is the path code's business */
	flat_add(f, part->text + n, part->n - n, 0);
}

/* What a few commands print is known: nothing, where they are, a name for a temporary file. */
static const char *known_output(const struct walk *w, const struct shell_node *node)
{
	const struct shell_word *second;
	const char *name;

	while (node && node->kind == SHELL_SEQUENCE && node->children && !node->children->next)
		node = node->children;
	if (!node || node->kind != SHELL_SIMPLE || node->next || !node->words || node->redirections ||
		!node->words->parts || node->words->parts->kind != SHELL_TEXT ||
		node->words->parts->next)
		return NULL;
	name = node->words->parts->text;
	second = node->words->next;
	if (strcmp(name, "mktemp") == 0 &&
		(!second || (!second->next && second->parts && second->parts->kind == SHELL_TEXT &&
				    strcmp(second->parts->text, "-d") == 0)))
		return "/tmp/tmp.mktemp";
	if (second)
		return NULL;
	if (strcmp(name, "true") == 0 || strcmp(name, ":") == 0)
		return "";
	return strcmp(name, "pwd") == 0 ? w->cwd : NULL;
}

static void flatten(struct walk *w, const struct shell_word *word, struct flat *f)
{
	for (const struct shell_part *part = word->parts; part; part = part->next) {
		const char *output;

		switch (part->kind) {
		case SHELL_TEXT:
			if (part == word->parts && !part->quoted && part->n > 0 &&
				part->text[0] == '~')
				flatten_tilde(w, part, f);
			else
				flat_add(f, part->text, part->n, part->quoted ? F_QUOTED : 0);
			break;
		case SHELL_VARIABLE:
			flatten_variable(w, part, f);
			break;
		case SHELL_COMMAND:
			walk_node(w, part->command);
			output = known_output(w, part->command);
			if (output)
				flat_add(f, output, strlen(output), part->quoted ? F_QUOTED : F_SPLIT);
			else
				flat_unknown(f, F_COMMAND);
			break;
		case SHELL_ARITHMETIC:
			flat_add(f, "0", 1, F_QUOTED); /* a number, whichever */
			break;
		}
	}
}

/* ---- braces ---- */

struct open_brace {
	size_t at;
	bool has_comma;
};

/*
 * The first unquoted {a,b}: its bounds. One pass over the text, whatever stands in it; braces
 * deeper than any person writes cannot be known.
 */
static bool find_brace(struct walk *w, const struct flat *f, size_t *ret_open, size_t *ret_close)
{
	struct open_brace open[BRACES_DEPTH_MAX];
	size_t n = 0, first = f->text.size;

	for (size_t i = 0; i < f->text.size; i++) {
		char c = (char)f->text.data[i];

		if (f->flags.data[i] & F_QUOTED)
			continue;
		if (c == '{' && f->flags.data[i] == 0) {
			if (n == BRACES_DEPTH_MAX) {
				walk_opaque(w, "braces are nested too deeply");
				return false;
			}
			open[n++] = (struct open_brace){ .at = i };
		} else if (c == ',' && n > 0) {
			open[n - 1].has_comma = true;
		} else if (c == '}' && n > 0) {
			n--;
			if (open[n].has_comma && open[n].at < first) {
				first = open[n].at;
				*ret_open = first;
				*ret_close = i;
			}
		}
	}
	return first < f->text.size;
}

static void flat_copy(struct flat *to, const struct flat *from, size_t start, size_t end)
{
	buf_bytes(&to->text, from->text.data + start, end - start);
	buf_bytes(&to->flags, from->flags.data + start, end - start);
}

struct sink {
	struct walk *w;
	const struct shell_word *word;
	struct argument *args;
	size_t n, max;
	unsigned budget; /* brace expansions left */
};

static void emit(struct sink *s, const struct flat *f, size_t start, size_t end)
{
	struct argument *arg;
	size_t unknown = end;

	if (s->n == s->max)
		return;
	arg = &s->args[s->n++];
	*arg = (struct argument){ .at = s->word->at, .size = s->word->size };
	for (size_t i = end; i > start; i--) {
		uint8_t flags = f->flags.data[i - 1];

		if (flags & F_UNKNOWN)
			unknown = i - 1;
		arg->has_command = arg->has_command || (flags & F_COMMAND);
		arg->glob = arg->glob || (!(flags & (F_QUOTED | F_UNKNOWN)) &&
						 strchr("*?[", f->text.data[i - 1]));
	}
	arg->prefix = arena_text(s->w->arena, buf_get_text(&f->text) + start, unknown - start);
	if (unknown == end)
		arg->text = arg->prefix;
	if (!arg->prefix)
		s->w->error = -ENOMEM;
}

/* Blanks that came from unquoted expansions separate arguments. */
static void split(struct sink *s, const struct flat *f)
{
	size_t start = 0;
	bool any = false;

	for (size_t i = 0; i <= f->text.size; i++) {
		bool is_blank = i < f->text.size && (f->flags.data[i] & F_SPLIT) &&
				strchr(" \t\n", f->text.data[i]);

		if (i < f->text.size && !is_blank)
			continue;
		if (i > start ||
			(i == f->text.size && !any && s->word->parts && s->word->parts->quoted)) {
			emit(s, f, start, i);
			any = true;
		}
		start = i + 1;
	}
}

static void expand_braces(struct sink *s, const struct flat *f)
{
	size_t open = 0, close = 0, item;
	unsigned depth = 0;

	if (s->budget == 0 || !find_brace(s->w, f, &open, &close)) {
		split(s, f);
		return;
	}
	item = open + 1;
	for (size_t i = open + 1; i <= close; i++) {
		char c = (char)f->text.data[i];
		bool plain = !(f->flags.data[i] & F_QUOTED);

		if (plain && c == '{')
			depth++;
		if ((plain && c == ',' && depth == 0) || i == close) {
			struct flat one = { .text = BUF_INIT(SHELL_TEXT_MAX),
				.flags = BUF_INIT(SHELL_TEXT_MAX) };

			flat_copy(&one, f, 0, open);
			flat_copy(&one, f, item, i);
			flat_copy(&one, f, close + 1, f->text.size);
			s->w->n_braces += one.text.size;
			if (s->w->n_braces > WALK_BRACES_MAX)
				s->w->error = -E2BIG;
			if (s->budget > 0 && s->w->error == 0) {
				s->budget--;
				expand_braces(s, &one);
				if (s->budget == 0)
					walk_opaque(s->w, "braces expand to too many words");
			}
			buf_done(&one.text);
			buf_done(&one.flags);
			item = i + 1;
		}
		if (plain && c == '}' && depth > 0)
			depth--;
	}
}

size_t walk_expand(
	struct walk *w, const struct shell_word *words, struct argument *args, size_t max)
{
	size_t n = 0;

	for (const struct shell_word *word = words; word && n < max && w->error == 0;
		word = word->next) {
		struct flat f = { .text = BUF_INIT(SHELL_TEXT_MAX),
			.flags = BUF_INIT(SHELL_TEXT_MAX) };
		struct sink s = {
			.w = w, .word = word, .args = args + n, .max = max - n, .budget = BRACES_MAX
		};

		flatten(w, word, &f);
		if (buf_error(&f.text) != 0 || buf_error(&f.flags) != 0)
			w->error = buf_error(&f.text) ? buf_error(&f.text) : buf_error(&f.flags);
		else
			expand_braces(&s, &f);
		n += s.n;
		buf_done(&f.text);
		buf_done(&f.flags);
	}
	return n;
}
