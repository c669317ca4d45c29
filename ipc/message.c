#include "ipc/message.h"

#include <string.h>

#include "base/mp.h"
#include "ipc/frame.h"

#define TEXTS_EACH_MAX 4096

const char *message_name(enum message_kind kind)
{
	return (unsigned)kind < MESSAGE_N_ ? message_types[kind].name : "";
}

enum message_kind message_kind_find(const char *name, size_t n)
{
	for (unsigned kind = MESSAGE_NONE + 1; kind < MESSAGE_N_; kind++) {
		const char *known = message_types[kind].name;

		if (n > 0 && known[0] == name[0] && strncmp(known, name, n) == 0 &&
			known[n] == '\0')
			return (enum message_kind)kind;
	}
	return MESSAGE_NONE;
}

enum message_right message_right(enum message_kind kind, enum role sender, enum message_state state)
{
	const struct message_type *type = &message_types[kind];

	if ((type->senders & ROLE_BIT(sender)) == 0)
		return MESSAGE_RIGHT_NO_ROLE;
	if (type->place == MESSAGE_ANYWHERE)
		return state == MESSAGE_STATE_CLOSED ? MESSAGE_RIGHT_NO_STATE : MESSAGE_RIGHT_YES;
	return type->state == state ? MESSAGE_RIGHT_YES : MESSAGE_RIGHT_NO_STATE;
}

static bool is_word(const char *words, const char *text, size_t n)
{
	if (memchr(text, ' ', n))
		return false; /* two neighbours are not one word */
	for (const char *at = words; n > 0 && (at = strstr(at, text)) != NULL; at += n) {
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	}
	return false;
}

static bool all_are(const struct value *array, enum value_kind kind, size_t size_max)
{
	for (size_t i = 0; i < array->size; i++) {
		if (array->items[i].kind != kind || array->items[i].size > size_max)
			return false;
	}
	return true;
}

/* What is wrong, or NULL. */
static const char *field_fault(const struct message_field *f, const struct value *v)
{
	static const enum value_kind kinds[MESSAGE_FIELD_N_] = {
		[MESSAGE_FIELD_TEXT] = VALUE_TEXT,
		[MESSAGE_FIELD_WORD] = VALUE_TEXT,
		[MESSAGE_FIELD_UINT] = VALUE_INT,
		[MESSAGE_FIELD_INT] = VALUE_INT,
		[MESSAGE_FIELD_BOOL] = VALUE_BOOL,
		[MESSAGE_FIELD_BYTES] = VALUE_BIN,
		[MESSAGE_FIELD_MAP] = VALUE_MAP,
		[MESSAGE_FIELD_ARRAY] = VALUE_ARRAY,
		[MESSAGE_FIELD_TEXTS] = VALUE_ARRAY,
		[MESSAGE_FIELD_MAPS] = VALUE_ARRAY,
	};

	if (f->type == MESSAGE_FIELD_ANY)
		return NULL;
	if (v->kind != kinds[f->type])
		return "has the wrong type";
	switch (f->type) {
	case MESSAGE_FIELD_WORD:
		return is_word(f->words, v->text, v->size) ? NULL : "is none of its words";
	case MESSAGE_FIELD_UINT:
		return v->integer >= 0 && (uint64_t)v->integer <= f->max ? NULL : "is out of range";
	case MESSAGE_FIELD_TEXTS:
		if (!all_are(v, VALUE_TEXT, TEXTS_EACH_MAX))
			return "has an item that is no text or is too long";
		return v->size <= f->max ? NULL : "has too many items";
	case MESSAGE_FIELD_MAPS:
		if (!all_are(v, VALUE_MAP, SIZE_MAX))
			return "has an item that is no map";
		return v->size <= f->max ? NULL : "has too many items";
	case MESSAGE_FIELD_TEXT:
	case MESSAGE_FIELD_BYTES:
	case MESSAGE_FIELD_MAP:
	case MESSAGE_FIELD_ARRAY:
		return v->size <= f->max ? NULL : "is too long";
	case MESSAGE_FIELD_INT:
	case MESSAGE_FIELD_BOOL:
	case MESSAGE_FIELD_ANY:
	case MESSAGE_FIELD_N_:
		break;
	}
	return NULL;
}

static const struct message_field *field_find(const struct message_field *fields, const char *name)
{
	for (; fields->name; fields++) {
		if (strcmp(fields->name, name) == 0)
			return fields;
	}
	return NULL;
}

static int field_refused(struct diag *diag, const char *name, const char *what)
{
	return diag_set(diag, MESSAGE_E_FIELD, 0, 0, "%s: %s", name, what);
}

int message_check(enum message_kind kind, const struct value *body, struct diag *reterr_field)
{
	const struct message_field *fields;
	size_t n_found = 0, n_required_found = 0, n_required = 0;

	if ((unsigned)kind >= MESSAGE_N_ || kind == MESSAGE_NONE)
		return MESSAGE_E_UNKNOWN;
	fields = message_types[kind].fields;
	if (!body || body->kind != VALUE_MAP)
		return body ? field_refused(reterr_field, "body", "is no map") : -ENOMEM;
	for (; n_found < body->size; n_found++) {
		const struct value_pair *pair = &body->pairs[n_found];
		const struct message_field *f = field_find(fields, pair->key);
		const char *fault = f ? field_fault(f, pair->value) : NULL;

		if (!f)
			return field_refused(reterr_field, "body", "has an unknown field");
		if (fault)
			return field_refused(reterr_field, f->name, fault);
		n_required_found += f->required;
	}
	/* Keys are unique, so counting suffices; only a refusal looks for the name. */
	for (const struct message_field *f = fields; f->name; f++)
		n_required += f->required;
	if (n_required_found == n_required)
		return 0;
	for (const struct message_field *f = fields; f->name; f++) {
		if (f->required && !value_get(body, f->name))
			return field_refused(reterr_field, f->name, "is missing");
	}
	return MESSAGE_E_FIELD;
}

int message_decode_body(struct arena *a, enum message_kind kind, const struct frame *frame,
	struct message *ret_message, struct diag *reterr_field)
{
	struct message m = { .kind = kind, .stream = frame->stream };
	struct mp_reader r;
	int e;

	mp_reader_init(&r, frame->body, frame->n_body);
	/* Out of the arena's bound is the peer's doing: a body made of very many very small items.
	 */
	if (mp_read_value(&r, a, &m.body) != 0 || mp_reader_end(&r) != 0)
		return MESSAGE_E_MALFORMED;
	e = message_check(kind, m.body, reterr_field);
	if (e == 0)
		*ret_message = m;
	return e;
}

int message_decode(struct arena *a, const uint8_t *payload, size_t size,
	struct message *ret_message, struct diag *reterr_field)
{
	struct frame frame;
	enum message_kind kind;

	if (frame_parse(payload, size, &frame) != 0)
		return MESSAGE_E_MALFORMED;
	kind = message_kind_find(frame.kind, frame.n_kind);
	if (kind == MESSAGE_NONE)
		return MESSAGE_E_UNKNOWN;
	return message_decode_body(a, kind, &frame, ret_message, reterr_field);
}

int message_encode(struct buf *b, enum message_kind kind, uint64_t stream, const struct value *body,
	uint32_t limit, struct diag *reterr_field)
{
	static const struct value nothing = { .kind = VALUE_MAP };
	size_t start;
	int r;

	if (!body)
		body = &nothing;
	r = message_check(kind, body, reterr_field);
	if (r != 0)
		return r;
	start = frame_write_start(b, message_types[kind].name, stream);
	mp_write_value(b, body);
	r = frame_write_end(b, start, limit);
	return r == FRAME_E_OVERSIZE ? -E2BIG : r;
}

const char *message_text(const struct message *m, const char *field)
{
	return value_get_text(m->body, field);
}

bool message_bool(const struct message *m, const char *field, bool fallback)
{
	const struct value *v = value_get(m->body, field);

	return v && v->kind == VALUE_BOOL ? v->boolean : fallback;
}

int64_t message_int(const struct message *m, const char *field, int64_t fallback)
{
	const struct value *v = value_get(m->body, field);

	return v && v->kind == VALUE_INT ? v->integer : fallback;
}

const struct value *message_value(const struct message *m, const char *field)
{
	return value_get(m->body, field);
}

static const char *const error_names[MESSAGE_ERROR_N_] = {
	[MESSAGE_ERROR_INTERNAL] = "internal",
	[MESSAGE_ERROR_MALFORMED] = "malformed",
	[MESSAGE_ERROR_OVERSIZE] = "oversize",
	[MESSAGE_ERROR_UNAUTHORIZED] = "unauthorized",
	[MESSAGE_ERROR_FORBIDDEN] = "forbidden",
	[MESSAGE_ERROR_OUT_OF_TURN] = "out_of_turn",
	[MESSAGE_ERROR_BAD_FIELD] = "bad_field",
	[MESSAGE_ERROR_UNKNOWN_MESSAGE] = "unknown_message",
	[MESSAGE_ERROR_UNAVAILABLE] = "unavailable",
	[MESSAGE_ERROR_QUOTA] = "quota",
	[MESSAGE_ERROR_TIMEOUT] = "timeout",
	[MESSAGE_ERROR_NOT_FOUND] = "not_found",
	[MESSAGE_ERROR_CONFLICT] = "conflict",
	[MESSAGE_ERROR_STOPPING] = "stopping",
	[MESSAGE_ERROR_PROTOCOL] = "protocol",
};

const char *message_error_name(enum message_error error)
{
	return (unsigned)error < MESSAGE_ERROR_N_ ? error_names[error] : "internal";
}

static const char *const event_names[EVENT_N_] = {
	[EVENT_LLM_TOKEN] = "llm_token",
	[EVENT_ACTION_STARTED] = "action_started",
	[EVENT_SHIELD_VERDICT] = "shield_verdict",
	[EVENT_ACTION_COMPLETED] = "action_completed",
	[EVENT_RESPONSE_COMPLETE] = "response_complete",
	[EVENT_OTR_BLOCKED] = "otr_blocked",
	[EVENT_ERROR] = "error",
	[EVENT_APPROVAL_REQUIRED] = "tier3_approval_required",
	[EVENT_SUB_AGENT_SPAWNED] = "sub_agent_spawned",
	[EVENT_SUB_AGENT_PROGRESS] = "sub_agent_progress",
	[EVENT_SUB_AGENT_COMPLETED] = "sub_agent_completed",
	[EVENT_SUB_AGENT_FAILED] = "sub_agent_failed",
	[EVENT_SUB_AGENT_CANCELLED] = "sub_agent_cancelled",
	[EVENT_ACTION_PROPOSED] = "action_proposed",
	[EVENT_SNAPSHOT_TAKEN] = "snapshot_taken",
	[EVENT_APPROVAL_SETTLED] = "approval_settled",
	[EVENT_LOG_ENTRY] = "log_entry",
	[EVENT_SESSION_CREATED] = "session_created",
	[EVENT_ENGINE_STATE] = "engine_state",
};

const char *event_name(enum event_kind kind)
{
	return (unsigned)kind < EVENT_N_ ? event_names[kind] : "";
}
