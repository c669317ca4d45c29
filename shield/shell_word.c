/* Words, quoting, expansions as parts, redirections and simple commands. */
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

/* ---- redirections ---- */

/* A whole word as plain text, for here-document delimiters. */
static const char *delimiter_of(
	struct shell_parser *p, const struct shell_word *word, bool *ret_quoted)
{
	auto_buf struct buf text = BUF_INIT(1024);

	*ret_quoted = false;
	for (const struct shell_part *part = word->parts; part; part = part->next) {
		if (part->kind != SHELL_TEXT)
			return shell_fail(p, "a here-document's end is not plain text");
		*ret_quoted = *ret_quoted || part->quoted;
		buf_bytes(&text, part->text, part->n);
	}
	return buf_error(&text) == 0 ? arena_text(p->arena, buf_get_text(&text), text.size) : NULL;
}

static void announce_here_doc(struct shell_parser *p, struct shell_redirection *r, bool strip_tabs)
{
	struct here_doc *doc = shell_alloc(p, sizeof(*doc));

	if (!doc)
		return;
	doc->redirection = r;
	doc->strip_tabs = strip_tabs;
	doc->end = delimiter_of(p, r->target, &doc->quoted);
	if (p->here_docs)
		p->last_here_doc->next = doc;
	else
		p->here_docs = doc;
	p->last_here_doc = doc;
}

/* The operator at this place; its length, 0 when there is none. */
static size_t redirection_operator(
	const struct shell_parser *p, enum shell_redirection_kind *ret_kind)
{
	static const struct {
		const char *text;
		enum shell_redirection_kind kind;
	} operators[] = { { "<<<", SHELL_HERE_STRING }, { "<<-", SHELL_HERE_DOC },
		{ "<<", SHELL_HERE_DOC }, { "<>", SHELL_INOUT }, { "<&", SHELL_DUP },
		{ "<", SHELL_IN }, { ">>", SHELL_APPEND }, { ">|", SHELL_OUT }, { ">&", SHELL_DUP },
		{ ">", SHELL_OUT }, { "&>>", SHELL_APPEND }, { "&>", SHELL_OUT } };

	for (size_t i = 0; i < N_ELEMENTS(operators); i++) {
		size_t n = strlen(operators[i].text);

		if (p->n - p->at >= n && memcmp(p->text + p->at, operators[i].text, n) == 0) {
			*ret_kind = operators[i].kind;
			return n;
		}
	}
	return 0;
}

/* False when no redirection begins here. */
static bool take_redirection(struct shell_parser *p, const struct shell_redirection ***tail)
{
	size_t start = p->at, n;
	enum shell_redirection_kind kind;
	struct shell_redirection *r;
	int fd = -1;

	while (shell_peek(p, 0) >= '0' && shell_peek(p, 0) <= '9' && p->at - start < 4)
		p->at++;
	if (p->at > start)
		fd = p->text[p->at - 1] - '0';
	n = redirection_operator(p, &kind);
	if (n == 0 ||
		((shell_peek(p, 0) == '<' || shell_peek(p, 0) == '>') && shell_peek(p, 1) == '(')) {
		p->at = start;
		return false;
	}
	r = shell_alloc(p, sizeof(*r));
	if (!r)
		return false;
	bool strip_tabs = n == 3 && p->text[p->at + 2] == '-';

	p->at += n;
	r->kind = kind;
	r->fd = fd;
	shell_skip_blanks(p);
	r->target = shell_word(p);
	if (!r->target) {
		shell_fail(p, "a redirection leads nowhere");
		return false;
	}
	if (kind == SHELL_HERE_DOC)
		announce_here_doc(p, r, strip_tabs);
	**tail = r;
	*tail = &r->next;
	return true;
}

void shell_redirections(struct shell_parser *p, struct shell_node *node)
{
	const struct shell_redirection **tail = &node->redirections;

	do
		shell_skip_blanks(p);
	while (p->error == 0 && take_redirection(p, &tail));
}

/* The body as a word: text as it stands when the delimiter was quoted, else with its expansions. */
static struct shell_word *here_doc_word(
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

static void read_here_doc(struct shell_parser *p, const struct here_doc *doc)
{
	auto_buf struct buf body = BUF_INIT(SHELL_TEXT_MAX);
	size_t n_end = doc->end ? strlen(doc->end) : 0;
	char *copy;

	for (;;) {
		const char *line = p->text + p->at;
		const char *newline = p->at < p->n ? memchr(line, '\n', p->n - p->at) : NULL;
		size_t n = newline ? (size_t)(newline - line) : p->n - p->at;

		if (p->at >= p->n)
			break; /* bash takes the end of the text for the delimiter, with a warning
				*/
		p->at += n + (newline != NULL);
		while (doc->strip_tabs && n > 0 && *line == '\t') {
			line++;
			n--;
		}
		if (n == n_end && (n == 0 || memcmp(line, doc->end, n) == 0))
			break;
		buf_bytes(&body, line, n);
		buf_byte(&body, '\n');
	}
	copy = buf_error(&body) == 0 ? arena_text(p->arena, buf_get_text(&body), body.size) : NULL;
	if (copy)
		doc->redirection->target = here_doc_word(p, copy, body.size, doc->quoted);
	else
		shell_fail(p, "out of memory");
}

void shell_read_here_docs(struct shell_parser *p)
{
	while (p->here_docs && p->error == 0) {
		const struct here_doc *doc = p->here_docs;

		p->here_docs = doc->next;
		read_here_doc(p, doc);
	}
}

/* ---- simple commands ---- */

/* name=value, name+=value, name=(...) at this place; false without moving when it is none. */
static bool take_assignment(struct shell_parser *p, const struct shell_assignment ***tail)
{
	size_t start = p->at;
	const char *name = shell_take_name(p);
	struct shell_assignment *a;

	if (name && shell_peek(p, 0) == '[') {
		while (p->at < p->n && p->text[p->at] != ']' && !shell_is_word_end(p->text[p->at]))
			p->at++;
		p->at += shell_peek(p, 0) == ']';
	}
	if (!name || strchr(name, '-') ||
		!(shell_peek(p, 0) == '=' ||
			(shell_peek(p, 0) == '+' && shell_peek(p, 1) == '='))) {
		p->at = start;
		return false;
	}
	a = shell_alloc(p, sizeof(*a));
	if (!a)
		return false;
	a->name = name;
	a->appends = shell_peek(p, 0) == '+';
	p->at += a->appends ? 2 : 1;
	if (shell_peek(p, 0) == '(') {
		const struct shell_word **words = &a->value;

		a->is_array = true;
		p->at++;
		for (shell_skip_blanks(p); p->at < p->n && p->text[p->at] != ')';
			shell_skip_blanks(p)) {
			struct shell_word *word;

			if (p->text[p->at] == '\n') {
				p->at++;
				continue;
			}
			word = shell_word(p);
			if (!word)
				break;
			*words = word;
			words = &word->next;
		}
		if (p->at >= p->n)
			shell_fail(p, "an array lacks its )");
		p->at++;
		shell_clamp(p);
	} else if (!shell_is_word_end(shell_peek(p, 0)) ||
		   ((shell_peek(p, 0) == '<' || shell_peek(p, 0) == '>') &&
			   shell_peek(p, 1) == '(')) {
		a->value = shell_word(p);
	}
	**tail = a;
	*tail = &a->next;
	return true;
}

const struct shell_node *shell_simple(struct shell_parser *p)
{
	struct shell_node *node = shell_alloc(p, sizeof(*node));
	const struct shell_assignment **assignments = node ? &node->assignments : NULL;
	const struct shell_redirection **redirections = node ? &node->redirections : NULL;
	const struct shell_word **words = node ? &node->words : NULL;

	if (!node)
		return NULL;
	node->kind = SHELL_SIMPLE;
	while (p->error == 0) {
		struct shell_word *word;

		shell_skip_blanks(p);
		if (take_redirection(p, &redirections))
			continue;
		if (p->at >= p->n || (shell_is_word_end(p->text[p->at]) &&
					     !((p->text[p->at] == '<' || p->text[p->at] == '>') &&
						     shell_peek(p, 1) == '(')))
			break;
		if (!node->words && take_assignment(p, &assignments))
			continue;
		word = shell_word(p);
		if (!word)
			return NULL;
		*words = word;
		words = &word->next;
	}
	if (!node->words && !node->assignments && !node->redirections)
		return shell_fail(p, "a command is missing");
	return node;
}
