#include "engine/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/num.h"
#include "engine/fill.h"

#define OPEN_MAX_INTENTS 1024
#define CHANGES_SHOWN    256

struct intent {
	uint64_t number;
	bool open;
	char type[64], session[64];
	char hash[SHA256_HEX_SIZE];
	char snapshot[IL_SNAPSHOT_ID_SIZE];
};

struct recovery {
	struct engine *engine;
	struct intent intents[OPEN_MAX_INTENTS]; /* of the last run, newest first, ended ones too */
	size_t n;
	uint64_t last_seq;
	struct arena arena;
	struct value *changes;
	uint64_t n_changes;
};

static bool is_outcome(const char *event)
{
	static const char *const outcomes[] = { "ActionExecuted", "ActionFailed", "ActionCancelled",
		"ActionInterrupted" };

	for (size_t i = 0; i < N_ELEMENTS(outcomes); i++) {
		if (strcmp(event, outcomes[i]) == 0)
			return true;
	}
	return false;
}

static struct intent *find(struct recovery *r, uint64_t number)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->intents[i].number == number)
			return &r->intents[i];
	}
	return NULL;
}

static void keep_text(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text ? text : "");
}

/* Newest first: an outcome is seen before its intent. Ends at the start of that run. */
static int on_entry(void *ctx, const char *line, size_t n, const struct value *entry)
{
	struct recovery *r = ctx;
	const char *event = value_get_text(entry, "event");
	const struct value *seq = value_get(entry, "seq");
	const struct value *number = value_get(value_get(entry, "details"), "action");

	(void)line;
	(void)n;
	if (seq && seq->kind == VALUE_INT && (uint64_t)seq->integer > r->last_seq)
		r->last_seq = (uint64_t)seq->integer;
	if (!event || strcmp(event, "EngineStarted") == 0)
		return event ? 1 : 0;
	if (!number || number->kind != VALUE_INT ||
		(!is_outcome(event) && strcmp(event, "ActionIntended") != 0))
		return 0;
	if (find(r, (uint64_t)number->integer) || r->n == OPEN_MAX_INTENTS)
		return 0;
	r->intents[r->n] =
		(struct intent){ .number = (uint64_t)number->integer, .open = !is_outcome(event) };
	keep_text(r->intents[r->n].type, sizeof(r->intents[0].type),
		value_get_text(entry, "action_type"));
	keep_text(r->intents[r->n].session, sizeof(r->intents[0].session),
		value_get_text(entry, "session"));
	keep_text(r->intents[r->n].hash, sizeof(r->intents[0].hash),
		value_get_text(entry, "action_hash"));
	r->n++;
	return 0;
}

static int on_snapshot(void *ctx, const struct il_snapshot *snapshot)
{
	struct recovery *r = ctx;
	char digits[24];
	uint64_t number;
	struct intent *intent;

	if (!snapshot->summary || snapshot->summary[0] != '#')
		return 0;
	keep_text(digits, sizeof(digits), snapshot->summary + 1);
	digits[strcspn(digits, " ")] = '\0';
	if (num_parse_u64(digits, 1, INT64_MAX, &number) != 0)
		return 0;
	intent = find(r, number);
	if (intent && intent->open)
		keep_text(intent->snapshot, sizeof(intent->snapshot), snapshot->id);
	return 0;
}

static int on_change(void *ctx, const struct il_change *change)
{
	static const char *const names[IL_CHANGE_N_] = { "created", "modified", "deleted",
		"attributes", "type" };
	struct recovery *r = ctx;
	struct fill f;

	if (++r->n_changes > CHANGES_SHOWN)
		return 0;
	f = fill_start(&r->arena, 3);
	fill_text(&f, "kind", names[change->kind]);
	fill_text(&f, "path", change->path);
	fill_text(&f, "root", change->root);
	if (fill_end(&f))
		(void)!value_push(r->changes, f.map); /* a full list only shows less */
	return 0;
}

static int interrupt(struct recovery *r, const struct intent *intent, const char *snapshot)
{
	struct il_audit_entry entry = { .event = "ActionInterrupted", .origin = "engine" };
	struct il_audit_receipt receipt;
	uint8_t hash[SHA256_SIZE];
	struct fill f;
	int rr = 0;

	arena_reset(&r->arena);
	r->changes = value_array(&r->arena, CHANGES_SHOWN);
	r->n_changes = 0;
	if (snapshot && snapshot[0])
		rr = il_chronicle_seal(
			r->engine->chronicle, snapshot, IL_OUTCOME_INTERRUPTED, on_change, r);
	if (rr != 0)
		log_line(LOG_LEVEL_WARNING, "interrupted-seal-failed snapshot=%s err=%d", snapshot,
			rr);
	f = fill_start(&r->arena, 6);
	if (intent)
		fill_int(&f, "action", (int64_t)intent->number);
	fill_value(&f, "changes", r->changes);
	fill_int(&f, "n_changes", (int64_t)r->n_changes);
	if (snapshot && snapshot[0])
		fill_text(
			&f, "undo", "interlock chronicle rollback brings back the state before it");
	entry.details = fill_end(&f);
	entry.snapshot = snapshot && snapshot[0] ? snapshot : NULL;
	if (intent) {
		entry.action_type = intent->type[0] ? intent->type : NULL;
		entry.session = intent->session[0] ? intent->session : NULL;
		if (hex_decode(intent->hash, hash, sizeof(hash)) == 0)
			entry.action_hash = hash;
	}
	log_line(LOG_LEVEL_WARNING, "interrupted action=%llu snapshot=%s changes=%llu",
		intent ? (unsigned long long)intent->number : 0, snapshot ? snapshot : "",
		(unsigned long long)r->n_changes);
	r->engine->n_interrupted++;
	return il_audit_append_wait(r->engine->audit, &entry, &receipt);
}

static int collect_unsealed(void *ctx, const char *id)
{
	char(*ids)[IL_SNAPSHOT_ID_SIZE] = ctx;

	for (size_t i = 0; i < OPEN_MAX_INTENTS; i++) {
		if (ids[i][0])
			continue;
		keep_text(ids[i], IL_SNAPSHOT_ID_SIZE, id);
		return 0;
	}
	return 1;
}

static int interrupt_all(struct recovery *r, char (*unsealed)[IL_SNAPSHOT_ID_SIZE])
{
	for (size_t i = 0; i < r->n; i++) {
		int rr;

		if (!r->intents[i].open)
			continue;
		rr = interrupt(r, &r->intents[i], r->intents[i].snapshot);
		if (rr != 0)
			return rr;
		for (size_t j = 0; j < OPEN_MAX_INTENTS; j++) {
			if (strcmp(unsealed[j], r->intents[i].snapshot) == 0)
				unsealed[j][0] = '\0';
		}
	}
	/* Begun, but its intent never reached the disk: it did not run, yet must be closed. */
	for (size_t j = 0; j < OPEN_MAX_INTENTS; j++) {
		int rr = unsealed[j][0] ? interrupt(r, NULL, unsealed[j]) : 0;

		if (rr != 0)
			return rr;
	}
	return 0;
}

int recovery_run(struct engine *e)
{
	struct il_audit_query query = { .newest_first = true };
	auto_free char(*unsealed)[IL_SNAPSHOT_ID_SIZE] =
		calloc(OPEN_MAX_INTENTS, sizeof(*unsealed));
	auto_free struct recovery *r = calloc(1, sizeof(*r));
	auto_free char *dir = NULL;
	int rr;

	if (!r || !unsealed || asprintf(&dir, "%s/audit", e->state_path) < 0)
		return -ENOMEM;
	r->engine = e;
	arena_init(&r->arena, 8u << 20);
	rr = il_audit_read(dir, &query, on_entry, r);
	if (rr >= 0)
		rr = il_chronicle_unsealed(e->chronicle, collect_unsealed, unsealed);
	if (rr >= 0)
		rr = il_chronicle_list(e->chronicle, on_snapshot, r);
	if (rr >= 0)
		rr = interrupt_all(r, unsealed);
	arena_done(&r->arena);
	e->next_number = r->last_seq + 1;
	return rr < 0 ? rr : 0;
}
