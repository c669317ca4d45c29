#include "shield/detect.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "shield/command.h"
#include "shield/judgement.h"
#include "shield/notes.h"
#include "shield/policy.h"

#define CALL_TEXT_MAX 4096
#define DEPTH_MAX     4

struct detector {
	struct judgement *j;
	const char *field;
};

static unsigned scope_of(const struct il_action_type *type, const char *field)
{
	if (!type)
		return DETECT_ANY & ~(unsigned)DETECT_CONTENT;
	if (type->sink == IL_SINK_EXEC && strcmp(type->group, "shell") == 0)
		return strcmp(field, "command") == 0 ? DETECT_COMMAND : 0;
	if (strcmp(field, "url") == 0)
		return DETECT_URL | DETECT_SENT;
	if (strcmp(field, "content") == 0 && type->sink == IL_SINK_WORKSPACE_WRITE)
		return DETECT_CONTENT;
	if (strcmp(type->group, "schedule") == 0)
		return DETECT_PROSE | DETECT_COMMAND | DETECT_SENT;
	if (strcmp(type->group, "agents") == 0 || strcmp(type->group, "memory") == 0)
		return DETECT_PROSE;
	if (strcmp(type->group, "git") == 0)
		return 0;
	if (type->sink == IL_SINK_EXTERNAL || strcmp(type->group, "calendar") == 0)
		return DETECT_SENT | DETECT_PROSE;
	if (strcmp(type->group, "files") == 0)
		return strcmp(field, "pattern") == 0 ? 0 : DETECT_URL;
	return DETECT_PROSE;
}

static void report(struct detector *d, const struct detect_row *row, const char *text, size_t at, size_t size)
{
	struct il_finding finding = { .id = row->id, .decision = row->decision,
		.severity = row->severity, .field = d->field, .at = (uint32_t)at,
		.size = (uint32_t)size };
	auto_buf struct buf b = BUF_INIT(1024);

	buf_printf(&b, "The field \"%s\" %s: \"", d->field, row->what);
	utf8_escape(&b, text + at, size, 120);
	buf_text(&b, "\".");
	finding.text = arena_text(d->j->arena, buf_get_text(&b), b.size);
	if (!finding.text || buf_error(&b) != 0)
		d->j->failed = true;
	else
		judgement_find(d->j, &finding);
}

/* A placeholder and the like is no secret: documentation is full of them. */
static void detect_secrets(struct detector *d, unsigned scope, const char *text, size_t n)
{
	struct detect_secret secret;
	enum il_decision decision = scope & (DETECT_SENT | DETECT_PROSE) ? IL_DENY : IL_ASK;

	for (size_t from = 0, count = 0; count < 8 && detect_secret_find(text, n, from, &secret);
		from = secret.at + secret.size, count++) {
		struct il_finding finding = { .id = "DET-SECRET", .decision = decision,
			.severity = IL_SEVERITY_HIGH, .field = d->field, .at = (uint32_t)secret.at,
			.size = (uint32_t)secret.size };

		finding.text = arena_printf(d->j->arena, "The field \"%s\" contains a secret (%s).",
			d->field, secret.kind);
		if (!finding.text) {
			d->j->failed = true;
			return;
		}
		judgement_find(d->j, &finding);
	}
}

/* Cheap and certain: an anchor with a byte that the text does not have cannot stand in it. */
static bool may_stand(const bool present[static 256], const char *anchor)
{
	for (; *anchor; anchor++) {
		if (!present[(unsigned char)*anchor])
			return false;
	}
	return true;
}

static void detect_text(struct detector *d, unsigned scope, const char *text, size_t n)
{
	char small[1024];
	bool present[256] = { false };
	char *folded = n < sizeof(small) ? small : arena_alloc(d->j->arena, n + 1);

	if (!folded) {
		d->j->failed = true;
		return;
	}
	detect_fold(text, n, folded);
	for (size_t i = 0; i < n; i++)
		present[(unsigned char)folded[i]] = true;
	for (size_t i = 0; i < detect_n_rows; i++) {
		const struct detect_row *row = &detect_rows[i];
		size_t at, size;

		if ((row->scope & scope) && may_stand(present, row->anchor) &&
			is_detect_match(row, folded, n, &at, &size))
			report(d, row, text, at, size);
	}
	detect_secrets(d, scope, text, n);
}

static void detect_value(struct detector *d, unsigned scope, const struct value *v, int depth)
{
	if (depth > DEPTH_MAX)
		return;
	if (v->kind == VALUE_TEXT)
		detect_text(d, scope, v->text, v->size);
	for (size_t i = 0; v->kind == VALUE_ARRAY && i < v->size; i++)
		detect_value(d, scope, &v->items[i], depth + 1);
	for (size_t i = 0; v->kind == VALUE_MAP && i < v->size; i++)
		detect_value(d, scope, v->pairs[i].value, depth + 1);
}

/* Arguments joined by blanks; blanks inside an argument become \x01, so that words stay apart. */
static size_t call_text(const struct command_call *call, char *text, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < call->n_argv && n + 2 < max; i++) {
		const char *p = i == 0 && call->program ? call->program : call->argv[i];

		if (!p)
			p = "\x02";
		for (; *p && n + 2 < max; p++)
			text[n++] = *p == ' ' || *p == '\n' || *p == '\t' ? '\x01' : *p;
		text[n++] = ' ';
	}
	text[n] = '\0';
	return n;
}

static void detect_rows_of(struct detector *d, const char *program, const char *text, size_t n)
{
	const struct detect_index *index = &d->j->context->policy->calls;
	size_t n_entries;
	size_t first = detect_index_find(index, program, &n_entries);

	for (size_t i = first; i < first + n_entries; i++) {
		const struct detect_row *row = &detect_calls[index->entries[i].row];
		size_t size;

		if ((row->anchor && !memmem(text, n, row->anchor, strlen(row->anchor))) ||
			!is_detect_pattern(row->pattern, text, n, &size))
			continue;
		judgement_findf(d->j, row->id, row->decision, row->severity, NULL, "The command %s: \"%.*s\".",
			row->what, (int)(n > 160 ? 160 : n - 1), text);
	}
}

static void detect_call(struct detector *d, const struct command_call *call)
{
	char text[CALL_TEXT_MAX];
	size_t n = call_text(call, text, sizeof(text));

	if (call->program)
		detect_rows_of(d, call->program, text, n);
	detect_rows_of(d, NULL, text, n);
}

static void detect_notes(struct detector *d)
{
	for (size_t i = 0; i < d->j->n_notes; i++) {
		const struct command_note *note = &d->j->notes[i];
		struct il_finding finding = { .id = note->id, .text = note->text,
			.field = "command", .at = note->at, .size = note->size };

		note_weigh(note->id, &finding.decision, &finding.severity);
		judgement_find(d->j, &finding);
	}
}

#ifdef MUTATION_DETECTORS
void judge_detectors(struct judgement *j)
{
	(void)j;
}
#else
void judge_detectors(struct judgement *j)
{
	struct detector d = { .j = j };
	const struct value *payload = j->analysis->payload;

	if (payload && payload->kind == VALUE_MAP) {
		for (size_t i = 0; i < payload->size; i++) {
			unsigned scope;

			d.field = payload->pairs[i].key;
			scope = scope_of(j->analysis->type, d.field);
			if (scope)
				detect_value(&d, scope, payload->pairs[i].value, 0);
		}
	}
	d.field = "command";
	for (size_t i = 0; i < j->n_calls; i++)
		detect_call(&d, &j->calls[i]);
	detect_notes(&d);
	detect_effects(j);
}
#endif
