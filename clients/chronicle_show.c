#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/exit.h"
#include "base/utf8.h"
#include "base/value.h"
#include "clients/chronicle_options.h"

#define TEXT_MAX   4096
#define SHORT_ID   16
#define OUTPUT_MAX ((size_t)256 << 20)

void chronicle_print_text(const char *text)
{
	auto_buf struct buf b = BUF_INIT(OUTPUT_MAX);

	utf8_escape(&b, text, strlen(text), TEXT_MAX);
	(void)fputs(buf_get_text(&b), stdout);
}

const char *chronicle_change_name(enum il_change_kind kind)
{
	static const char *const names[IL_CHANGE_N_] = {
		[IL_CHANGE_CREATED] = "created",
		[IL_CHANGE_MODIFIED] = "modified",
		[IL_CHANGE_DELETED] = "deleted",
		[IL_CHANGE_ATTRIBUTES] = "attributes",
		[IL_CHANGE_TYPE] = "type",
	};

	return names[kind];
}

static const char *outcome_name(enum il_snapshot_outcome outcome)
{
	static const char *const names[IL_OUTCOME_N_] = {
		[IL_OUTCOME_INTERRUPTED] = "interrupted",
		[IL_OUTCOME_DONE] = "done",
		[IL_OUTCOME_FAILED] = "failed",
		[IL_OUTCOME_CANCELLED] = "cancelled",
	};

	return names[outcome];
}

/* JSON text; bytes that are no UTF-8 appear escaped, as on a terminal. */
static void json_text(struct buf *b, const char *text)
{
	auto_buf struct buf escaped = BUF_INIT(OUTPUT_MAX);
	struct value v = { .kind = VALUE_TEXT };

	if (!text) {
		buf_text(b, "null");
		return;
	}
	if (!is_utf8(text, strlen(text))) {
		utf8_escape(&escaped, text, strlen(text), TEXT_MAX);
		text = buf_get_text(&escaped);
	}
	v.text = text;
	v.size = strlen(text);
	value_to_json(b, &v);
}

static int on_change(void *ctx, const struct il_change *change)
{
	struct buf *b = ctx;

	if (b) {
		buf_printf(b, "%s{\"kind\":\"%s\",\"root\":", b->size > 0 ? "," : "",
			chronicle_change_name(change->kind));
		json_text(b, change->root);
		buf_text(b, ",\"path\":");
		json_text(b, change->path);
		buf_printf(b, ",\"size_before\":%" PRIu64 ",\"size_after\":%" PRIu64 "}",
			change->size_before, change->size_after);
		return buf_error(b);
	}
	printf("  %-10s ", chronicle_change_name(change->kind));
	chronicle_print_text(change->path[0] ? change->path : ".");
	putchar('\n');
	return 0;
}

static void print_json(const struct il_snapshot *s)
{
	auto_buf struct buf b = BUF_INIT(OUTPUT_MAX);
	char when[RFC3339_SIZE];

	rfc3339_format(s->time_ns, when);
	buf_printf(&b, "{\"id\":\"%s\",\"time\":\"%s\",\"outcome\":\"%s\",\"session\":", s->id,
		when, outcome_name(s->outcome));
	json_text(&b, s->session);
	buf_text(&b, ",\"action\":");
	json_text(&b, s->action_type);
	buf_text(&b, ",\"summary\":");
	json_text(&b, s->summary);
	buf_text(&b, ",\"undoes\":");
	json_text(&b, s->undoes);
	buf_printf(&b, ",\"objects\":%" PRIu64 ",\"changes\":%" PRIu64 ",\"left_out\":%" PRIu64 "}",
		s->n_objects, s->n_changes, s->n_left_out);
	puts(buf_get_text(&b));
}

static void print_line(const struct il_snapshot *s)
{
	char when[RFC3339_SIZE];

	rfc3339_format(s->time_ns, when);
	when[19] = '\0'; /* whole seconds are enough for people */
	printf("%.*s  %s  %-11s %4" PRIu64 " changed  ", SHORT_ID, s->id, when,
		outcome_name(s->outcome), s->n_changes);
	chronicle_print_text(s->action_type ? s->action_type : "");
	if (s->undoes)
		printf(" (takes back %.*s)", SHORT_ID, s->undoes);
	if (s->summary) {
		(void)fputs("  ", stdout);
		chronicle_print_text(s->summary);
	}
	putchar('\n');
}

struct path_filter {
	const char *path;
	bool found;
};

static int match_path(void *ctx, const struct il_change *change)
{
	struct path_filter *f = ctx;
	size_t n = strlen(f->path);

	if (strncmp(change->path, f->path, n) == 0 &&
		(change->path[n] == '\0' || change->path[n] == '/'))
		f->found = true;
	return 0;
}

static int list_one(void *ctx, const struct il_snapshot *s)
{
	struct chronicle_command *c = ctx;
	struct path_filter f = { .path = c->path };
	int r = 0;

	if (c->session && (!s->session || strcmp(s->session, c->session) != 0))
		return 0;
	if (s->time_ns < c->since_ns)
		return 0;
	if (c->path)
		r = il_chronicle_changes(c->c, s->id, match_path, &f);
	if (r != 0 || (c->path && !f.found))
		return r;
	if (c->json)
		print_json(s);
	else
		print_line(s);
	return 0;
}

int chronicle_list(struct chronicle_command *c)
{
	return chronicle_result("list", il_chronicle_list(c->c, list_one, c), NULL);
}

int chronicle_history(struct chronicle_command *c)
{
	c->path = c->paths[0];
	return chronicle_list(c);
}

static int show_one(void *ctx, const struct il_snapshot *s)
{
	const struct chronicle_command *c = ctx;

	if (strcmp(s->id, c->id) != 0)
		return 0;
	if (c->json)
		print_json(s);
	else
		print_line(s);
	return 0;
}

static int on_left_out(void *ctx, const char *path, const char *reason)
{
	(void)ctx;
	(void)fputs("  left out   ", stdout);
	chronicle_print_text(path);
	printf(": %s\n", reason);
	return 0;
}

int chronicle_show(struct chronicle_command *c)
{
	char id[IL_SNAPSHOT_ID_SIZE];
	auto_buf struct buf b = BUF_INIT(OUTPUT_MAX);
	int r = chronicle_find(c, c->id, id);

	if (r != 0)
		return r;
	c->id = id;
	r = il_chronicle_list(c->c, show_one, c);
	if (r == 0)
		r = il_chronicle_changes(c->c, id, on_change, c->json ? &b : NULL);
	if (r == 0 && c->json)
		printf("[%s]\n", buf_get_text(&b));
	else if (r == 0)
		r = il_chronicle_left_out(c->c, id, on_left_out, NULL);
	return chronicle_result("show", r, NULL);
}

struct totals {
	uint64_t n, n_changes;
	int64_t first_ns, last_ns;
};

static int count_one(void *ctx, const struct il_snapshot *s)
{
	struct totals *t = ctx;

	if (t->n++ == 0)
		t->first_ns = s->time_ns;
	t->last_ns = s->time_ns;
	t->n_changes += s->n_changes;
	return 0;
}

int chronicle_stats(struct chronicle_command *c)
{
	char first[RFC3339_SIZE], last[RFC3339_SIZE];
	struct totals t = { 0 };
	int r = il_chronicle_list(c->c, count_one, &t);

	rfc3339_format(t.first_ns, first);
	rfc3339_format(t.last_ns, last);
	printf("snapshots  %" PRIu64 "\nchanges    %" PRIu64 "\nbytes      %" PRIu64 "\n", t.n,
		t.n_changes, il_chronicle_bytes(c->c));
	if (t.n > 0)
		printf("first      %s\nlast       %s\n", first, last);
	return chronicle_result("stats", r, NULL);
}
