/*
 * interlock check (JSON | --command TEXT) [--explain] [--json] [--policy NAME|FILE]
 *
 * JSON is {type, payload, cwd?, workspace?, home?}; "-" reads it from stdin.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "base/utf8.h"
#include "clients/commands.h"
#include "clients/judging.h"

#define INPUT_MAX ((size_t)4 << 20)

struct check {
	const char *json_text, *command, *policy;
	bool explain, json;
	struct arena arena;
	struct il_action action;
	struct il_analysis analysis;
	struct il_verdict verdict;
};

static int usage(void)
{
	(void)fputs(
		"usage: interlock check (JSON | - | --command TEXT) [--explain] [--json] "
		"[--policy NAME|FILE]\n"
		"JSON: {\"type\": ..., \"payload\": {...}, \"cwd\"?, \"workspace\"?, \"home\"?}\n"
		"exit: 0 allow, 3 deny, 4 ask, 2 bad input\n",
		stderr);
	return EXIT_CHECK_BAD_INPUT;
}

static bool parse(int argc, char **argv, struct check *c)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--explain") == 0)
			c->explain = true;
		else if (strcmp(argv[i], "--json") == 0)
			c->json = true;
		else if (strcmp(argv[i], "--command") == 0 && i + 1 < argc)
			c->command = argv[++i];
		else if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
			c->policy = argv[++i];
		else if ((argv[i][0] != '-' || strcmp(argv[i], "-") == 0) && !c->json_text)
			c->json_text = argv[i];
		else
			return false;
	}
	return (c->json_text != NULL) != (c->command != NULL);
}

/* The nearest directory upwards that looks like a project, else the current one. */
static int default_places(struct check *c)
{
	auto_free char *cwd = getcwd(NULL, 0);
	const char *home = getenv("HOME");

	if (!cwd)
		return -errno;
	c->action.cwd = arena_text(&c->arena, cwd, strlen(cwd));
	c->action.workspace = c->action.cwd;
	c->action.home = home && home[0] == '/' ? home : "/root";
	return c->action.cwd ? 0 : -ENOMEM;
}

static int take_json(struct check *c, const char *text, size_t n)
{
	const struct value *root;
	struct diag diag = { 0 };
	int r = value_from_json(&c->arena, text, n, &root, &diag);

	if (r != 0) {
		(void)fprintf(stderr, "interlock check: line %u, column %u: %s\n", diag.line,
			diag.column, diag.text);
		return r;
	}
	c->action.type = value_get_text(root, "type");
	c->action.payload = value_get(root, "payload");
	if (!c->action.type || !c->action.payload) {
		(void)fputs("interlock check: the input needs \"type\" and \"payload\"\n", stderr);
		return -EINVAL;
	}
	for (size_t i = 0; i < root->size; i++) {
		const char *key = root->pairs[i].key;
		const char *text_value = value_get_text(root, key);
		bool known = strcmp(key, "type") == 0 || strcmp(key, "payload") == 0;

		if (text_value && strcmp(key, "cwd") == 0)
			c->action.cwd = text_value;
		else if (text_value && strcmp(key, "workspace") == 0)
			c->action.workspace = text_value;
		else if (text_value && strcmp(key, "home") == 0)
			c->action.home = text_value;
		else if (!known) {
			(void)fprintf(
				stderr, "interlock check: the input has no key \"%s\"\n", key);
			return -EINVAL;
		}
	}
	if (value_get(root, "cwd") && !value_get(root, "workspace"))
		c->action.workspace = c->action.cwd;
	if (value_get(root, "workspace") && !value_get(root, "cwd"))
		c->action.cwd = c->action.workspace;
	return 0;
}

static int take_input(struct check *c)
{
	auto_buf struct buf b = BUF_INIT(INPUT_MAX);
	struct value *map;

	if (c->command) {
		c->action.type = "execute_command";
		map = value_map(&c->arena, 1);
		c->action.payload = map;
		return value_put(
			map, "command", value_text(&c->arena, c->command, strlen(c->command)));
	}
	if (strcmp(c->json_text, "-") != 0)
		return take_json(c, c->json_text, strlen(c->json_text));
	for (;;) {
		uint8_t *room = buf_reserve(&b, 65536);
		size_t n = room ? fread(room, 1, 65536, stdin) : 0;

		if (n == 0)
			break;
		buf_grew(&b, n);
	}
	if (buf_error(&b) != 0)
		return buf_error(&b);
	return take_json(c, buf_get_text(&b), b.size);
}

static void show(struct buf *b, const char *text)
{
	utf8_escape(b, text, strlen(text), SIZE_MAX);
}

static void explain_effects(struct buf *b, const struct il_verdict *v)
{
	buf_text(b, "effects:\n");
	for (size_t i = 0; i < v->n_effects; i++) {
		const struct effect *e = &v->effects[i];

		buf_printf(b, "  %-10s ", effect_kind_name(e->kind));
		show(b, e->object);
		if (e->target) {
			buf_text(b, " -> ");
			show(b, e->target);
		}
		if (e->port)
			buf_printf(b, " port %u", e->port);
		if (e->label != LABEL_PUBLIC)
			buf_printf(b, " (%s)", label_name(e->label));
		buf_printf(b, "%s%s\n", e->recursive ? " and everything beneath" : "",
			e->certainty == EFFECT_POSSIBLE ? ", possibly" : "");
	}
}

static void explain_grant(struct buf *b, const struct grant *g)
{
	buf_printf(b, "  profile %s\n", g->profile);
	for (size_t i = 0; i < g->n_paths; i++) {
		const struct grant_path *p = &g->paths[i];

		buf_printf(b, "  %s%s%s%s%s ", p->hide ? "hidden" : "",
			p->rights & GRANT_READ ? "r" : "",
			p->rights & (GRANT_WRITE | GRANT_CREATE) ? "w" : "",
			p->rights & GRANT_DELETE ? "d" : "", p->rights & GRANT_EXEC ? "x" : "");
		show(b, g->roots[p->root]);
		buf_text(b, p->path[0] ? "/" : "");
		show(b, p->path);
		buf_byte(b, '\n');
	}
	buf_text(b, g->net == GRANT_NET_NONE   ? "  no network\n"
		    : g->net == GRANT_NET_OPEN ? "  any host\n"
					       : "");
	for (size_t i = 0; i < g->n_hosts; i++) {
		buf_printf(b, "  host %s", g->hosts[i].host);
		if (g->hosts[i].port)
			buf_printf(b, " port %u", g->hosts[i].port);
		buf_byte(b, '\n');
	}
}

/* What a deny refuses: the grant that the visible effects would have needed. */
static void explain_refused(struct check *c, struct judging *j, struct buf *b)
{
	struct grant wanted;

	if (il_grant_wanted(&c->arena, &c->analysis, &j->context, &wanted) != 0)
		return;
	buf_text(b, "grant refused:\n");
	explain_grant(b, &wanted);
}

static void explain(struct check *c, struct judging *j, struct buf *b)
{
	const struct il_verdict *v = &c->verdict;

	explain_effects(b, v);
	buf_text(b, "findings:\n");
	for (size_t i = 0; i < v->n_findings; i++) {
		buf_printf(b, "  %-5s %s: ", il_decision_name(v->findings[i].decision),
			v->findings[i].id);
		show(b, v->findings[i].text);
		buf_byte(b, '\n');
	}
	if (v->decision == IL_DENY) {
		if (!c->analysis.refused)
			explain_refused(c, j, b);
	} else {
		buf_text(b, v->decision == IL_ALLOW ? "grant:\n" : "grant, if approved:\n");
		explain_grant(b, &v->grant);
	}
	if (v->alternative)
		buf_printf(b, "instead: %s\n", v->alternative);
}

static int print(struct check *c, struct judging *j)
{
	auto_buf struct buf b = BUF_INIT((size_t)32 << 20);

	if (c->json) {
		const struct value *v = il_verdict_to_value(&c->arena, &c->verdict);

		if (!v)
			return -ENOMEM;
		value_to_json(&b, v);
		buf_byte(&b, '\n');
	} else {
		buf_printf(&b, "%s [%s, tier %u] ", il_decision_name(c->verdict.decision),
			c->verdict.rule, c->verdict.tier);
		show(&b, c->verdict.reason);
		buf_byte(&b, '\n');
		if (c->explain)
			explain(c, j, &b);
	}
	if (buf_error(&b) != 0)
		return buf_error(&b);
	return fputs(buf_get_text(&b), stdout) < 0 ? -EIO : 0;
}

static int run(struct check *c, struct judging *j)
{
	static const int statuses[] = { [IL_DENY] = EXIT_CHECK_DENY,
		[IL_ASK] = EXIT_CHECK_ASK,
		[IL_ALLOW] = EXIT_CHECK_ALLOW };
	int r = default_places(c);

	if (r == 0)
		r = take_input(c);
	if (r == 0)
		r = judging_open(j, c->policy, c->action.workspace);
	if (r == 0)
		r = judging_run(j, &c->arena, &c->action, &c->analysis, &c->verdict);
	if (r == 0)
		r = print(c, j);
	return r == 0 ? statuses[c->verdict.decision] : EXIT_CHECK_BAD_INPUT;
}

int cmd_check(int argc, char **argv)
{
	struct check c = { 0 };
	struct judging j = JUDGING_NONE;
	int status;

	if (!parse(argc, argv, &c))
		return usage();
	arena_init(&c.arena, (size_t)256 << 20);
	status = run(&c, &j);
	judging_done(&j);
	arena_done(&c.arena);
	return status;
}
