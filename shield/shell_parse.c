#include "shield/shell_parse.h"

#include <errno.h>
#include <string.h>

#include "shield/shell_private.h"

static const struct shell_node *parse_command(struct shell_parser *p);

void *shell_fail(struct shell_parser *p, const char *why)
{
	if (p->error == 0) {
		p->error = -EBADMSG;
		p->why = why;
	}
	p->at = p->n; /* every loop ends */
	return NULL;
}

void *shell_alloc(struct shell_parser *p, size_t size)
{
	void *memory = arena_alloc(p->arena, size);

	if (!memory) {
		p->error = -ENOMEM;
		p->at = p->n;
	}
	return memory;
}

/* Blanks, comments and continued lines; not newlines. */
void shell_skip_blanks(struct shell_parser *p)
{
	while (p->at < p->n) {
		char c = p->text[p->at];

		if (c == ' ' || c == '\t') {
			p->at++;
		} else if (c == '\\' && shell_peek(p, 1) == '\n') {
			p->at += 2;
		} else if (c == '#' && (p->at == 0 || strchr(" \t\n;&|()", p->text[p->at - 1]))) {
			while (p->at < p->n && p->text[p->at] != '\n')
				p->at++;
		} else {
			return;
		}
	}
}

static void skip_newline(struct shell_parser *p)
{
	p->at++;
	shell_clamp(p);
	shell_read_here_docs(p);
}

static void skip_lines(struct shell_parser *p)
{
	for (shell_skip_blanks(p); p->at < p->n && p->text[p->at] == '\n'; shell_skip_blanks(p))
		skip_newline(p);
}

bool shell_is_word_end(char c)
{
	return c == '\0' || strchr(" \t\n;&|<>()", c) != NULL;
}

/* True, without moving, if this word stands here unquoted and whole. */
static bool at_word(const struct shell_parser *p, const char *word)
{
	size_t n = strlen(word);

	return p->at <= p->n && p->n - p->at >= n && memcmp(p->text + p->at, word, n) == 0 &&
	       shell_is_word_end(p->at + n < p->n ? p->text[p->at + n] : '\0');
}

static bool take_word(struct shell_parser *p, const char *word)
{
	skip_lines(p);
	if (!at_word(p, word))
		return false;
	p->at += strlen(word);
	return true;
}

static bool expect_word(struct shell_parser *p, const char *word, const char *why)
{
	if (take_word(p, word))
		return true;
	shell_fail(p, why);
	return false;
}

static bool ends_list(const struct shell_parser *p)
{
	static const char *const words[] = { "then", "elif", "else", "fi", "do", "done", "esac",
		"}" };

	if (p->at >= p->n || p->text[p->at] == ')')
		return true;
	if (p->text[p->at] == ';' && shell_peek(p, 1) == ';')
		return true;
	if (!strchr("tefd}", p->text[p->at]))
		return false; /* none of the words begins so */
	for (size_t i = 0; i < N_ELEMENTS(words); i++) {
		if (at_word(p, words[i]))
			return true;
	}
	return false;
}

static struct shell_node *new_node(struct shell_parser *p, enum shell_node_kind kind)
{
	struct shell_node *node = shell_alloc(p, sizeof(*node));

	if (!node)
		return NULL;
	if (++p->n_nodes > SHELL_NODES_MAX) {
		p->error = -E2BIG;
		p->at = p->n;
		return NULL;
	}
	node->kind = kind;
	node->at = (uint32_t)p->at;
	return node;
}

/* Children are linked in order through a tail pointer. */
struct chain {
	const struct shell_node **tail;
};

static void chain_add(struct chain *c, const struct shell_node *node)
{
	if (!node)
		return;
	*c->tail = node;
	c->tail = &((struct shell_node *)(uintptr_t)node)
			   ->next; /* the tree is ours while it is built */
}

/* `a | b |& c`, with an optional `!` or `time` before. */
static const struct shell_node *parse_pipeline(struct shell_parser *p)
{
	struct shell_node *node = new_node(p, SHELL_PIPELINE);
	struct chain chain = { .tail = node ? &node->children : NULL };

	if (!node)
		return NULL;
	while (take_word(p, "!") || take_word(p, "time") || take_word(p, "-p"))
		;
	for (;;) {
		chain_add(&chain, parse_command(p));
		shell_skip_blanks(p);
		if (p->error != 0 || shell_peek(p, 0) != '|' || shell_peek(p, 1) == '|')
			break;
		p->at += shell_peek(p, 1) == '&' ? 2 : 1;
		skip_lines(p);
		if (p->at >= p->n)
			return shell_fail(p, "a pipe leads nowhere");
	}
	node->size = (uint32_t)p->at - node->at;
	return node->children && !node->children->next ? node->children : node;
}

/* What joins two pipelines: moves past it. False at the end of the list. */
static bool take_separator(struct shell_parser *p, bool *ret_background, bool *ret_needs_more)
{
	char c = shell_peek(p, 0), d = shell_peek(p, 1);

	*ret_background = *ret_needs_more = false;
	if ((c == '&' && d == '&') || (c == '|' && d == '|')) {
		p->at += 2;
		*ret_needs_more = true;
		return true;
	}
	if (c == ';' && d == ';')
		return false;
	if (c == ';' || c == '&') {
		*ret_background = c == '&';
		p->at++;
		return true;
	}
	if (c == '\n') {
		skip_newline(p);
		return true;
	}
	return false;
}

static const struct shell_node *parse_list(struct shell_parser *p)
{
	struct shell_node *node = new_node(p, SHELL_SEQUENCE);
	struct chain chain = { .tail = node ? &node->children : NULL };
	bool background, needs_more = false;

	if (!node)
		return NULL;
	if (++p->depth > SHELL_DEPTH_MAX)
		return shell_fail(p, "nested too deep");
	for (;;) {
		const struct shell_node *child;

		skip_lines(p);
		if (p->error != 0 || ends_list(p))
			break;
		child = parse_pipeline(p);
		chain_add(&chain, child);
		shell_skip_blanks(p);
		if (p->error != 0 || !take_separator(p, &background, &needs_more))
			break;
		if (child && background)
			((struct shell_node *)(uintptr_t)child)->background = true;
	}
	if (needs_more && p->error == 0 && !node->children)
		return shell_fail(p, "&& or || leads nowhere");
	p->depth--;
	node->size = (uint32_t)p->at - node->at;
	return node;
}

static const struct shell_node *parse_body(struct shell_parser *p, const char *from, const char *to)
{
	const struct shell_node *body;

	if (!expect_word(p, from, "a loop lacks its do"))
		return NULL;
	body = parse_list(p);
	return expect_word(p, to, "a loop lacks its done") ? body : NULL;
}

static const struct shell_node *parse_if(struct shell_parser *p)
{
	struct shell_node *node = new_node(p, SHELL_SEQUENCE);
	struct chain chain = { .tail = node ? &node->children : NULL };

	if (!node)
		return NULL;
	do {
		chain_add(&chain, parse_list(p));
		if (!expect_word(p, "then", "an if lacks its then"))
			return NULL;
		chain_add(&chain, parse_list(p));
	} while (p->error == 0 && take_word(p, "elif"));
	if (take_word(p, "else"))
		chain_add(&chain, parse_list(p));
	return expect_word(p, "fi", "an if lacks its fi") ? node : NULL;
}

static const struct shell_node *parse_while(struct shell_parser *p)
{
	struct shell_node *node = new_node(p, SHELL_SEQUENCE);
	struct chain chain = { .tail = node ? &node->children : NULL };

	if (!node)
		return NULL;
	chain_add(&chain, parse_list(p));
	chain_add(&chain, parse_body(p, "do", "done"));
	return node;
}

/* Skips `(( ... ))`; what it computes is not looked into. */
static void skip_arithmetic(struct shell_parser *p)
{
	unsigned depth = 0;

	for (; p->at < p->n; p->at++) {
		char c = p->text[p->at];

		if (c == '(')
			depth++;
		else if (c == ')' && --depth == 0) {
			p->at++;
			return;
		}
	}
	shell_fail(p, "(( lacks its end");
}

static const struct shell_node *parse_for(struct shell_parser *p)
{
	struct shell_node *node = new_node(p, SHELL_FOR);
	const struct shell_word **tail;

	if (!node)
		return NULL;
	shell_skip_blanks(p);
	if (shell_peek(p, 0) == '(' && shell_peek(p, 1) == '(') {
		skip_arithmetic(p);
		shell_skip_blanks(p);
		if (shell_peek(p, 0) == ';')
			p->at++;
		node->children = parse_body(p, "do", "done");
		return node;
	}
	node->name = shell_take_name(p);
	if (!node->name)
		return shell_fail(p, "for lacks its name");
	tail = &node->words;
	if (take_word(p, "in")) {
		for (shell_skip_blanks(p); p->at < p->n && !strchr(";\n&|()<>", p->text[p->at]);
			shell_skip_blanks(p)) {
			struct shell_word *word = shell_word(p);

			if (!word)
				return NULL;
			*tail = word;
			tail = &word->next;
		}
	}
	shell_skip_blanks(p);
	if (shell_peek(p, 0) == ';')
		p->at++;
	skip_lines(p);
	if (at_word(p, "{")) {
		p->at++;
		node->children = parse_list(p);
		return expect_word(p, "}", "{ lacks its end") ? node : NULL;
	}
	node->children = parse_body(p, "do", "done");
	return node;
}

static const struct shell_node *parse_case(struct shell_parser *p)
{
	struct shell_node *node = new_node(p, SHELL_SEQUENCE);
	struct chain chain = { .tail = node ? &node->children : NULL };

	if (!node)
		return NULL;
	shell_skip_blanks(p);
	node->words = shell_word(p);
	if (!expect_word(p, "in", "a case lacks its in"))
		return NULL;
	for (;;) {
		skip_lines(p);
		if (p->error != 0 || take_word(p, "esac"))
			break;
		if (p->at >= p->n)
			return shell_fail(p, "a case lacks its esac");
		if (shell_peek(p, 0) == '(')
			p->at++;
		do {
			shell_skip_blanks(p);
			if (!shell_word(p))
				return shell_fail(p, "a case has no pattern");
			shell_skip_blanks(p);
		} while (shell_peek(p, 0) == '|' && p->at++ < p->n);
		if (shell_peek(p, 0) != ')')
			return shell_fail(p, "a case pattern lacks its )");
		p->at++;
		chain_add(&chain, parse_list(p));
		skip_lines(p);
		if (shell_peek(p, 0) == ';' && shell_peek(p, 1) == ';')
			p->at += shell_peek(p, 2) == '&' ? 3 : 2;
	}
	return node;
}

static const struct shell_node *parse_function(struct shell_parser *p, const char *name)
{
	struct shell_node *node = new_node(p, SHELL_FUNCTION);

	if (!node)
		return NULL;
	node->name = name;
	skip_lines(p);
	node->children = parse_command(p);
	return node;
}

static const struct shell_node *parse_group(struct shell_parser *p, enum shell_node_kind kind)
{
	struct shell_node *node = new_node(p, kind);

	if (!node)
		return NULL;
	p->at++;
	node->children = parse_list(p);
	if (kind == SHELL_SEQUENCE)
		return expect_word(p, "}", "{ lacks its end") ? node : NULL;
	skip_lines(p);
	if (shell_peek(p, 0) != ')')
		return shell_fail(p, "( lacks its end");
	p->at++;
	return node;
}

/* `[[ ... ]]`: words, where operators mean nothing. */
static const struct shell_node *parse_test(struct shell_parser *p)
{
	struct shell_node *node = new_node(p, SHELL_SIMPLE);
	const struct shell_word **tail = node ? &node->words : NULL;

	while (node && p->error == 0) {
		struct shell_word *word;
		bool is_end;

		skip_lines(p);
		if (p->at >= p->n)
			return shell_fail(p, "[[ lacks its end");
		is_end = at_word(p, "]]");
		if (strchr("<>()&|;", p->text[p->at])) {
			p->at++;
			continue;
		}
		word = shell_word(p);
		if (!word)
			return NULL;
		*tail = word;
		tail = &word->next;
		if (is_end)
			break;
	}
	return node;
}

/* name() { ... } or `function name { ... }` */
static const char *take_function_name(struct shell_parser *p)
{
	size_t start = p->at;
	const char *name;

	if (take_word(p, "function")) {
		shell_skip_blanks(p);
		name = shell_take_name(p);
		shell_skip_blanks(p);
		if (name && shell_peek(p, 0) == '(' && shell_peek(p, 1) == ')')
			p->at += 2;
		return name ? name : shell_fail(p, "function lacks its name");
	}
	while (p->at < p->n && !shell_is_word_end(p->text[p->at]) &&
		!strchr("'\"$`\\=", p->text[p->at]))
		p->at++; /* bash takes nearly any word for a name, ":" too */
	name = p->at > start ? arena_text(p->arena, p->text + start, p->at - start) : NULL;
	shell_skip_blanks(p);
	if (name && shell_peek(p, 0) == '(') {
		size_t at = p->at++;

		shell_skip_blanks(p);
		if (shell_peek(p, 0) == ')') {
			p->at++;
			return name;
		}
		p->at = at;
	}
	p->at = start;
	return NULL;
}

static const struct shell_node *parse_compound(struct shell_parser *p, bool *ret_is_compound)
{
	static const struct {
		const char *word;
		const struct shell_node *(*parse)(struct shell_parser *p);
	} words[] = { { "if", parse_if }, { "while", parse_while }, { "until", parse_while },
		{ "for", parse_for }, { "select", parse_for }, { "case", parse_case },
		{ "[[", parse_test } };
	const char *name;

	*ret_is_compound = true;
	for (size_t i = 0; i < N_ELEMENTS(words); i++) {
		if (at_word(p, words[i].word)) {
			if (words[i].parse != parse_test)
				p->at += strlen(words[i].word);
			return words[i].parse(p);
		}
	}
	if (at_word(p, "{"))
		return parse_group(p, SHELL_SEQUENCE);
	if (shell_peek(p, 0) == '(' && shell_peek(p, 1) == '(') {
		skip_arithmetic(p);
		return new_node(p, SHELL_SEQUENCE);
	}
	if (shell_peek(p, 0) == '(')
		return parse_group(p, SHELL_SUBSHELL);
	name = take_function_name(p);
	if (name)
		return parse_function(p, name);
	*ret_is_compound = false;
	return NULL;
}

static const struct shell_node *parse_command(struct shell_parser *p)
{
	const struct shell_node *node;
	bool is_compound;
	uint32_t start;

	skip_lines(p);
	start = (uint32_t)p->at;
	if (++p->depth > SHELL_DEPTH_MAX)
		return shell_fail(p, "nested too deep");
	node = parse_compound(p, &is_compound);
	if (!is_compound)
		node = shell_simple(p);
	else if (node)
		shell_redirections(p, (struct shell_node *)(uintptr_t)node);
	p->depth--;
	if (node) {
		((struct shell_node *)(uintptr_t)node)->at = start;
		((struct shell_node *)(uintptr_t)node)->size = (uint32_t)p->at - start;
	}
	return node;
}

const struct shell_node *shell_parse_until(struct shell_parser *p, char end)
{
	const struct shell_node *node = parse_list(p);

	skip_lines(p);
	if (p->error != 0)
		return NULL;
	if (end == '\0' ? p->at < p->n : shell_peek(p, 0) != end)
		return shell_fail(
			p, end == '\0' ? "there is something no shell takes" : "$( lacks its end");
	if (end != '\0')
		p->at++;
	return node;
}

int shell_parse(struct arena *a, const char *text, size_t n, const struct shell_node **ret_node,
	const char **reterr_why)
{
	struct shell_parser p = { .arena = a, .text = text, .n = n };
	const struct shell_node *node;

	if (n > SHELL_TEXT_MAX) {
		*reterr_why = "longer than is looked at";
		return -EBADMSG;
	}
	node = shell_parse_until(&p, '\0');
	if (p.error != 0) {
		*reterr_why = p.why ? p.why : "out of memory";
		return p.error;
	}
	*ret_node = node;
	return 0;
}
