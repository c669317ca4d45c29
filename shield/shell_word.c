/* Words: quoting, and expansions as parts. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "shield/shell_private.h"

/* A word under way: text is gathered in a buffer, parts are linked in order. */
struct word_builder {
	struct shell_parser *p;
	struct shell_word *word;
	const struct shell_part **tail;
	struct buf text; /* of the SHELL_TEXT part under way */
	bool text_quoted, any;
};

static bool is_name_start(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(char c)
{
	return is_name_start(c) || (c >= '0' && c <= '9');
}

const char *shell_take_name(struct shell_parser *p)
{
	size_t start = p->at;
	char *name;

	if (!is_name_start(shell_peek(p, 0)))
		return NULL;
	while (is_name(shell_peek(p, 0)) || (shell_peek(p, 0) == '-' && p->at > start))
		p->at++;
	name = arena_text(p->arena, p->text + start, p->at - start);
	return name ? name : shell_fail(p, "out of memory");
}

static struct shell_part *add_part(struct word_builder *b, enum shell_part_kind kind, bool quoted)
{
	struct shell_part *part = shell_alloc(b->p, sizeof(*part));

	if (!part)
		return NULL;
	part->kind = kind;
	part->quoted = quoted;
	*b->tail = part;
	b->tail = &part->next;
	b->any = true;
	return part;
}

static void flush_text(struct word_builder *b)
{
	struct shell_part *part;

	if (b->text.size == 0 && !b->text_quoted)
		return;
	part = add_part(b, SHELL_TEXT, b->text_quoted);
	if (part) {
		part->text = arena_text(b->p->arena, buf_get_text(&b->text), b->text.size);
		part->n = b->text.size;
		if (!part->text || buf_error(&b->text) != 0)
			shell_fail(b->p, "out of memory");
	}
	buf_clear(&b->text);
	b->text_quoted = false;
}

static void add_char(struct word_builder *b, char c, bool quoted)
{
	if (quoted != b->text_quoted)
		flush_text(b);
	b->text_quoted = quoted;
	b->any = true;
	buf_byte(&b->text, (uint8_t)c);
}

static void single_quotes(struct word_builder *b)
{
	struct shell_parser *p = b->p;

	p->at++;
	flush_text(b);
	b->text_quoted = true;
	b->any = true;
	while (p->at < p->n && p->text[p->at] != '\'')
		buf_byte(&b->text, (uint8_t)p->text[p->at++]);
	if (p->at >= p->n)
		shell_fail(p, "a ' is not closed");
	p->at++;
	shell_clamp(p);
	flush_text(b);
}

static unsigned digits(struct shell_parser *p, unsigned base, unsigned most)
{
	unsigned value = 0;

	for (unsigned i = 0; i < most; i++) {
		char c = shell_peek(p, 0);
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
							: 99;

		if (digit >= base)
			break;
		value = value * base + digit;
		p->at++;
	}
	return value;
}

/* Behind the backslash in $'...'. */
static void ansi_escape(struct word_builder *b)
{
	static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	struct shell_parser *p = b->p;
	char c = shell_peek(p, 0);
	const char *found = c ? strchr(from, c) : NULL;

	if (found) {
		buf_byte(&b->text, (uint8_t)to[found - from]);
		p->at++;
	} else if (c == 'x') {
		p->at++;
		buf_byte(&b->text, (uint8_t)digits(p, 16, 2));
	} else if (c == 'u' || c == 'U') {
		p->at++;
		utf8_append(&b->text, digits(p, 16, c == 'u' ? 4 : 8));
	} else if (c == 'c') {
		buf_byte(&b->text, (uint8_t)(shell_peek(p, 1) & 0x1f));
		p->at += 2;
		shell_clamp(p);
	} else if (c >= '0' && c <= '7') {
		buf_byte(&b->text, (uint8_t)digits(p, 8, 3));
	} else {
		buf_byte(&b->text, '\\');
	}
}

static void ansi_quotes(struct word_builder *b)
{
	struct shell_parser *p = b->p;

	p->at += 2;
	flush_text(b);
	b->text_quoted = true;
	b->any = true;
	while (p->at < p->n && p->text[p->at] != '\'') {
		if (p->text[p->at++] == '\\')
			ansi_escape(b);
		else
			buf_byte(&b->text, (uint8_t)p->text[p->at - 1]);
	}
	if (p->at >= p->n)
		shell_fail(p, "a $' is not closed");
	p->at++;
	shell_clamp(p);
	flush_text(b);
}

static void command_part(struct word_builder *b, bool quoted, bool is_process)
{
	struct shell_parser *p = b->p;
	struct shell_part *part;

	flush_text(b);
	part = add_part(b, SHELL_COMMAND, quoted);
	p->at += 2;
	shell_clamp(p);
	if (!part)
		return;
	part->is_process = is_process;
	part->command = shell_parse_until(p, ')');
}

/* `...`: one level of backslashes is taken off, then it is a script of its own. */
static void backquotes(struct word_builder *b, bool quoted)
{
	struct shell_parser *p = b->p;
	auto_buf struct buf inner = BUF_INIT(SHELL_TEXT_MAX);
	struct shell_part *part;
	const char *why;
	char *copy;

	flush_text(b);
	part = add_part(b, SHELL_COMMAND, quoted);
	for (p->at++; p->at < p->n && p->text[p->at] != '`'; p->at++) {
		if (p->text[p->at] == '\\' && p->at + 1 < p->n &&
			strchr(quoted ? "\\`$\"" : "\\`$", p->text[p->at + 1]))
			p->at++;
		buf_byte(&inner, (uint8_t)p->text[p->at]);
	}
	if (p->at >= p->n || buf_error(&inner) != 0) {
		shell_fail(p, "a ` is not closed");
		return;
	}
	p->at++;
	copy = arena_text(p->arena, buf_get_text(&inner), inner.size);
	if (!part || !copy || ++p->depth > SHELL_DEPTH_MAX / 2 ||
		shell_parse(p->arena, copy, inner.size, &part->command, &why) != 0)
		shell_fail(p, "a ` ` holds what is not understood");
	p->depth--;
}

static void double_quotes(struct word_builder *b);
static void dollar(struct word_builder *b, bool quoted);

/* ${...} behind its name: everything up to the brace is one word. */
static struct shell_word *brace_word(struct shell_parser *p)
{
	struct word_builder b = { .p = p,
		.word = shell_alloc(p, sizeof(struct shell_word)),
		.text = BUF_INIT(SHELL_TEXT_MAX) };

	if (!b.word)
		return NULL;
	if (++p->depth > SHELL_DEPTH_MAX)
		shell_fail(p, "nested too deep");
	b.tail = &b.word->parts;
	while (p->at < p->n && p->text[p->at] != '}') {
		char c = p->text[p->at];

		if (c == '\'')
			single_quotes(&b);
		else if (c == '"')
			double_quotes(&b);
		else if (c == '$')
			dollar(&b, false);
		else if (c == '`')
			backquotes(&b, false);
		else {
			bool escaped = c == '\\' && p->at + 1 < p->n;

			p->at += escaped;
			add_char(&b, p->text[p->at], escaped);
			p->at++;
		}
	}
	flush_text(&b);
	buf_done(&b.text);
	p->depth--;
	return b.word;
}

static void braced_variable(struct word_builder *b, bool quoted)
{
	static const char *const ops[] = { ":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%",
		"^^", ",,", "-", "=", "+", "?", "#", "%", "/", "^", ",", ":", "@" };
	struct shell_parser *p = b->p;
	struct shell_part *part;
	size_t start;

	flush_text(b);
	part = add_part(b, SHELL_VARIABLE, quoted);
	p->at += 2;
	if (!part)
		return;
	if (shell_peek(p, 0) == '#' && shell_peek(p, 1) != '}')
		p->at++; /* ${#x}: a number */
	if (shell_peek(p, 0) == '!')
		p->at++; /* ${!x}: not followed, so unknown */
	start = p->at;
	if (is_name_start(shell_peek(p, 0))) {
		while (is_name(shell_peek(p, 0)))
			p->at++;
	} else if (shell_peek(p, 0) != '}') {
		p->at++;
		shell_clamp(p);
	}
	part->text = arena_text(p->arena, p->text + start, p->at - start);
	part->n = p->at - start;
	if (p->text[start - 1] != '{')
		part->op = "!"; /* a length or an indirection: its value is not the variable's */
	if (shell_peek(p, 0) == '[') {
		while (p->at < p->n && p->text[p->at] != ']' && p->text[p->at] != '}')
			p->at++;
		p->at += shell_peek(p, 0) == ']';
		part->op = "!";
	}
	for (size_t i = 0; shell_peek(p, 0) != '}' && i < N_ELEMENTS(ops); i++) {
		size_t n = strlen(ops[i]);

		if (p->n - p->at < n || memcmp(p->text + p->at, ops[i], n) != 0)
			continue;
		part->op = part->op ? part->op : ops[i];
		p->at += n;
		part->word = brace_word(p);
		break;
	}
	if (shell_peek(p, 0) != '}' || !part->text) {
		shell_fail(p, "${ is not understood");
		return;
	}
	p->at++;
}

static void arithmetic(struct word_builder *b, bool quoted)
{
	struct shell_parser *p = b->p;
	unsigned depth = 2;

	flush_text(b);
	(void)add_part(b, SHELL_ARITHMETIC, quoted);
	for (p->at += 3; p->at < p->n && depth > 0 && !p->error;) {
		/* Commands run inside arithmetic as anywhere else. */
		if (p->text[p->at] == '$' && shell_peek(p, 1) == '(' && shell_peek(p, 2) != '(') {
			command_part(b, true, false);
			continue;
		}
		if (p->text[p->at] == '`') {
			backquotes(b, true);
			continue;
		}
		if (p->text[p->at] == '(')
			depth++;
		else if (p->text[p->at] == ')')
			depth--;
		p->at++;
	}
	if (depth > 0)
		shell_fail(p, "$(( lacks its end");
}

static void dollar(struct word_builder *b, bool quoted)
{
	struct shell_parser *p = b->p;
	char next = shell_peek(p, 1);
	struct shell_part *part;

	if (next == '\'' && !quoted) {
		ansi_quotes(b);
	} else if (next == '"' && !quoted) {
		p->at++;
		double_quotes(b);
	} else if (next == '(' && shell_peek(p, 2) == '(') {
		arithmetic(b, quoted);
	} else if (next == '(') {
		command_part(b, quoted, false);
	} else if (next == '{') {
		braced_variable(b, quoted);
	} else if (is_name_start(next) || (next && strchr("0123456789@*#?$!-", next))) {
		size_t start = p->at + 1;

		flush_text(b);
		part = add_part(b, SHELL_VARIABLE, quoted);
		p->at += 2;
		while (is_name_start(next) && is_name(shell_peek(p, 0)))
			p->at++;
		if (part) {
			part->text = arena_text(p->arena, p->text + start, p->at - start);
			part->n = p->at - start;
			if (!part->text)
				shell_fail(p, "out of memory");
		}
	} else {
		add_char(b, '$', quoted);
		p->at++;
	}
}

static void double_quotes(struct word_builder *b)
{
	struct shell_parser *p = b->p;

	p->at++;
	flush_text(b);
	b->text_quoted = true;
	b->any = true;
	while (p->at < p->n && p->text[p->at] != '"') {
		char c = p->text[p->at];

		if (c == '\\' && p->at + 1 < p->n && strchr("$`\"\\\n", p->text[p->at + 1])) {
			if (p->text[p->at + 1] != '\n')
				add_char(b, p->text[p->at + 1], true);
			p->at += 2;
		} else if (c == '$') {
			dollar(b, true);
		} else if (c == '`') {
			backquotes(b, true);
		} else {
			add_char(b, c, true);
			p->at++;
		}
	}
	if (p->at >= p->n) {
		shell_fail(p, "a \" is not closed");
		return;
	}
	p->at++;
	b->text_quoted = b->text_quoted || b->text.size == 0; /* "" is a word too */
	flush_text(b);
}

/* An extended pattern, @(a|b): up to its closing parenthesis, as text. */
static void extended_pattern(struct word_builder *b)
{
	struct shell_parser *p = b->p;
	unsigned depth = 0;

	do {
		char c = shell_peek(p, 0);

		depth += c == '(';
		depth -= c == ')';
		add_char(b, c, false);
		p->at++;
	} while (depth > 0 && p->at < p->n);
	if (depth > 0)
		shell_fail(p, "a pattern lacks its )");
}

static void unquoted(struct word_builder *b)
{
	struct shell_parser *p = b->p;
	char c = p->text[p->at];

	if (c == '\'') {
		single_quotes(b);
	} else if (c == '"') {
		double_quotes(b);
	} else if (c == '$') {
		dollar(b, false);
	} else if (c == '`') {
		backquotes(b, false);
	} else if (c == '\\') {
		if (shell_peek(p, 1) != '\n' && p->at + 1 < p->n)
			add_char(b, p->text[p->at + 1], true);
		p->at += 2;
	} else {
		add_char(b, c, false);
		p->at++;
	}
	shell_clamp(p);
}

struct shell_word *shell_word(struct shell_parser *p)
{
	struct word_builder b = { .p = p,
		.word = shell_alloc(p, sizeof(struct shell_word)),
		.text = BUF_INIT(SHELL_TEXT_MAX) };

	if (!b.word)
		return NULL;
	if (++p->depth > SHELL_DEPTH_MAX)
		shell_fail(p, "nested too deep");
	b.tail = &b.word->parts;
	b.word->at = (uint32_t)p->at;
	while (p->at < p->n && p->error == 0) {
		char c = p->text[p->at];

		if ((c == '<' || c == '>') && shell_peek(p, 1) == '(')
			command_part(&b, false, true);
		else if (c == '(' && b.text.size > 0 && !b.text_quoted &&
			 strchr("?*+@!", (char)b.text.data[b.text.size - 1]))
			extended_pattern(&b);
		else if (shell_is_word_end(c))
			break;
		else
			unquoted(&b);
	}
	flush_text(&b);
	buf_done(&b.text);
	p->depth--;
	if (!b.any)
		return shell_fail(p, "there is something no shell takes");
	b.word->size = (uint32_t)p->at - b.word->at;
	return p->error == 0 ? b.word : NULL;
}

/* The body as a word: text as it stands when the delimiter was quoted, else with its expansions. */
struct shell_word *shell_here_doc_word(
	struct shell_parser *p, const char *body, size_t n, bool quoted)
{
	struct shell_parser inner = { .arena = p->arena, .text = body, .n = n, .depth = p->depth };
	struct word_builder b = { .p = &inner,
		.word = shell_alloc(p, sizeof(struct shell_word)),
		.text = BUF_INIT(SHELL_TEXT_MAX) };

	if (!b.word)
		return NULL;
	b.tail = &b.word->parts;
	while (inner.at < inner.n) {
		char c = inner.text[inner.at];

		if (!quoted && c == '$')
			dollar(&b, true);
		else if (!quoted && c == '`')
			backquotes(&b, true);
		else if (!quoted && c == '\\' && inner.at + 1 < inner.n &&
			 strchr("$`\\\n", inner.text[inner.at + 1])) {
			if (inner.text[inner.at + 1] != '\n')
				add_char(&b, inner.text[inner.at + 1], true);
			inner.at += 2;
		} else {
			add_char(&b, c, true);
			inner.at++;
		}
	}
	flush_text(&b);
	buf_done(&b.text);
	if (inner.error != 0)
		shell_fail(p, inner.why ? inner.why : "a here-document is not understood");
	return b.word;
}
