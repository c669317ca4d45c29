/* Redirections, here-documents, assignments and simple commands. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "shield/shell_private.h"

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
		doc->redirection->target = shell_here_doc_word(p, copy, body.size, doc->quoted);
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
