/* What the two halves of the shell parser share: commands (shell_parse.c) and words (shell_word.c).
 */
#pragma once

#include "shield/shell_parse.h"

struct here_doc {
	struct shell_redirection *redirection;
	const char *end; /* the delimiter, quotes off */
	bool quoted, strip_tabs;
	struct here_doc *next;
};

struct shell_parser {
	struct arena *arena;
	const char *text;
	size_t n, at;
	unsigned depth;
	unsigned n_nodes;
	int error; /* the first one */
	const char *why;
	struct here_doc *here_docs;     /* whose bodies begin behind the next newline */
	struct here_doc *last_here_doc; /* of here_docs, while there are any */
};

static inline char shell_peek(const struct shell_parser *p, size_t ahead)
{
	return p->at + ahead < p->n ? p->text[p->at + ahead] : '\0';
}

/* Never behind the end, whatever an escape at the end skipped. */
static inline void shell_clamp(struct shell_parser *p)
{
	if (p->at > p->n)
		p->at = p->n;
}

/* Keeps the first reason and ends the parse; always NULL. */
void *shell_fail(struct shell_parser *p, const char *why);
void *shell_alloc(struct shell_parser *p, size_t size);
void shell_skip_blanks(struct shell_parser *p);
bool shell_is_word_end(char c);
const struct shell_node *shell_parse_until(struct shell_parser *p, char end);

/* A variable's or function's name here, or NULL without moving. */
const char *shell_take_name(struct shell_parser *p);
struct shell_word *shell_word(struct shell_parser *p);
/* A here-document's body as a word: text as it stands when its delimiter was quoted, else with its
 * expansions. */
struct shell_word *shell_here_doc_word(
	struct shell_parser *p, const char *body, size_t n, bool quoted);
const struct shell_node *shell_simple(struct shell_parser *p);
void shell_redirections(struct shell_parser *p, struct shell_node *node);
/* Behind a newline: the bodies of the here-documents that were announced before it. */
void shell_read_here_docs(struct shell_parser *p);
