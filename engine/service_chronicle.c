#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "engine/errand.h"
#include "engine/fill.h"
#include "engine/record.h"
#include "engine/service_data.h"

#define CHANGES_MAX 2000

struct listing {
	struct errand *errand;
	struct value *list;
	size_t limit;
	bool more;
};

static void refuse(struct errand *q, enum message_error error, const char *text)
{
	q->error = error;
	q->refused = text;
}

static const char *const outcome_names[IL_OUTCOME_N_] = { "interrupted", "done", "failed",
	"cancelled" };
static const char *const change_names[IL_CHANGE_N_] = { "created", "modified", "deleted",
	"attributes", "type" };

static int on_snapshot(void *ctx, const struct il_snapshot *s)
{
	struct listing *l = ctx;
	const char *before = message_text(&l->errand->message, "before");
	struct fill f;

	if (before && strcmp(s->id, before) >= 0)
		return 0;
	if (l->list->size >= l->limit) {
		l->more = true;
		return 1;
	}
	f = fill_start(&l->errand->arena, 12);
	fill_text(&f, "snapshot", s->id);
	fill_int(&f, "time_ns", s->time_ns);
	fill_text(&f, "session", s->session);
	fill_text(&f, "type", s->action_type);
	fill_text(&f, "summary", s->summary);
	fill_text(&f, "outcome", s->outcome < IL_OUTCOME_N_ ? outcome_names[s->outcome] : "?");
	fill_int(&f, "changes", (int64_t)s->n_changes);
	fill_int(&f, "left_out", (int64_t)s->n_left_out);
	fill_text(&f, "undoes", s->undoes);
	fill_bool(&f, "pruned", s->pruned);
	return fill_end(&f) ? value_push(l->list, f.map) : -ENOMEM;
}

static int on_change(void *ctx, const struct il_change *c)
{
	struct listing *l = ctx;
	struct fill f;

	if (l->list->size >= CHANGES_MAX) {
		l->more = true;
		return 0;
	}
	f = fill_start(&l->errand->arena, 5);
	fill_text(&f, "kind", change_names[c->kind]);
	fill_text(&f, "path", c->path);
	fill_text(&f, "root", c->root);
	fill_int(&f, "size_before", (int64_t)c->size_before);
	fill_int(&f, "size_after", (int64_t)c->size_after);
	return fill_end(&f) ? value_push(l->list, f.map) : -ENOMEM;
}

static void answer_list(
	struct errand *q, struct listing *l, const char *key, enum message_kind kind)
{
	struct fill f = fill_start(&q->arena, 2);

	fill_value(&f, key, l->list);
	fill_bool(&f, "more", l->more);
	q->answer = fill_end(&f);
	q->answer_kind = kind;
}

static void work_list(struct errand *q)
{
	struct listing l = { .errand = q, .limit = (size_t)message_int(&q->message, "limit", 100) };

	l.list = value_array(&q->arena, 1000);
	if (!l.list || il_chronicle_list(q->engine->chronicle, on_snapshot, &l) < 0)
		refuse(q, MESSAGE_ERROR_INTERNAL, "the chronicle cannot be read");
	else
		answer_list(q, &l, "snapshots", MESSAGE_CHRONICLE_PAGE);
}

static void answer_failure(struct errand *q, int r)
{
	if (r == IL_CHRONICLE_E_UNKNOWN)
		refuse(q, MESSAGE_ERROR_NOT_FOUND, "no such snapshot");
	else if (r == IL_CHRONICLE_E_CONFLICT)
		refuse(q, MESSAGE_ERROR_CONFLICT,
			"what is there now is not what the action left; force takes it back all "
			"the same");
	else if (r == IL_CHRONICLE_E_ERASED)
		refuse(q, MESSAGE_ERROR_NOT_FOUND, "its content was forgotten");
	else
		refuse(q, MESSAGE_ERROR_INTERNAL, "the chronicle refused");
}

static void work_diff(struct errand *q)
{
	struct listing l = { .errand = q };
	int r;

	l.list = value_array(&q->arena, CHANGES_MAX);
	r = l.list ? il_chronicle_changes(q->engine->chronicle,
			     message_text(&q->message, "snapshot"), on_change, &l)
		   : -ENOMEM;
	if (r != 0)
		answer_failure(q, r);
	else
		answer_list(q, &l, "changes", MESSAGE_CHRONICLE_CHANGES);
}

static void record_rollback(struct errand *q, const char *id)
{
	struct il_audit_entry entry = { .event = "RolledBack", .origin = "client", .snapshot = id };
	struct il_audit_receipt receipt;
	struct fill f = fill_start(&q->arena, 4);

	fill_text(&f, "undoes", message_text(&q->message, "snapshot"));
	fill_bool(&f, "force", message_bool(&q->message, "force", false));
	entry.details = fill_end(&f);
	if (il_audit_append_wait(q->engine->audit, &entry, &receipt) != 0)
		refuse(q, MESSAGE_ERROR_INTERNAL,
			"rolled back, but the audit log could not be written");
}

static void work_rollback(struct errand *q)
{
	struct listing l = { .errand = q };
	const struct value *paths = message_value(&q->message, "paths");
	struct il_rollback what = { .id = message_text(&q->message, "snapshot"),
		.side = IL_SIDE_BEFORE,
		.dry_run = message_bool(&q->message, "dry_run", false),
		.force = message_bool(&q->message, "force", false) };
	const char **texts =
		arena_alloc_array(&q->arena, (paths ? paths->size : 0) + 1, sizeof(*texts));
	char id[IL_SNAPSHOT_ID_SIZE] = "";
	struct diag diag = { 0 };
	int r;

	l.list = value_array(&q->arena, CHANGES_MAX);
	for (size_t i = 0; texts && paths && i < paths->size; i++)
		texts[i] = paths->items[i].text;
	what.paths = texts;
	what.n_paths = paths ? paths->size : 0;
	r = l.list && texts
		    ? il_chronicle_rollback(q->engine->chronicle, &what, on_change, &l, id, &diag)
		    : -ENOMEM;
	if (r != 0) {
		answer_failure(q, r);
		return;
	}
	answer_list(q, &l, "changes", MESSAGE_CHRONICLE_CHANGES);
	if (!what.dry_run)
		record_rollback(q, id);
}

static void work_verify(struct errand *q)
{
	struct il_chronicle_report report = { 0 };
	struct fill f;

	if (il_chronicle_verify(q->engine->chronicle, &report) < 0) {
		refuse(q, MESSAGE_ERROR_INTERNAL, "the chronicle cannot be read");
		return;
	}
	f = fill_start(&q->arena, 3);
	fill_bool(&f, "intact", report.status == EXIT_VERIFY_INTACT);
	fill_int(&f, "objects", (int64_t)report.n_blobs);
	fill_text(&f, "detail", report.text);
	q->answer = fill_end(&f);
	q->answer_kind = MESSAGE_CHRONICLE_STATE;
}

void service_chronicle(struct engine *e, struct connection *c, const struct message *m)
{
	void (*work)(struct errand * q) = m->kind == MESSAGE_CHRONICLE_LIST       ? work_list
					  : m->kind == MESSAGE_CHRONICLE_DIFF     ? work_diff
					  : m->kind == MESSAGE_CHRONICLE_ROLLBACK ? work_rollback
										  : work_verify;

	errand_run(e, c, m, work, true);
}
