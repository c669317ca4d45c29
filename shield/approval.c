#include <string.h>

#include "base/canon.h"
#include "base/utf8.h"
#include "shield/shield.h"

#define QUESTION_MAX ((size_t)4 << 20)

/* Every byte of an argument appears, in a form that a terminal cannot be tricked with. */
static void question_value(struct buf *b, const struct value *v)
{
	switch (v->kind) {
	case VALUE_TEXT:
		buf_byte(b, '"');
		utf8_escape(b, v->text, v->size, SIZE_MAX);
		buf_byte(b, '"');
		break;
	case VALUE_ARRAY:
		buf_byte(b, '[');
		for (size_t i = 0; i < v->size; i++) {
			buf_text(b, i > 0 ? ", " : "");
			question_value(b, &v->items[i]);
		}
		buf_byte(b, ']');
		break;
	case VALUE_MAP:
		buf_byte(b, '{');
		for (size_t i = 0; i < v->size; i++) {
			buf_text(b, i > 0 ? ", " : "");
			utf8_escape(b, v->pairs[i].key, v->pairs[i].n_key, SIZE_MAX);
			buf_text(b, ": ");
			question_value(b, v->pairs[i].value);
		}
		buf_byte(b, '}');
		break;
	case VALUE_NIL:
	case VALUE_BOOL:
	case VALUE_INT:
	case VALUE_BIN:
	case VALUE_N_:
		value_to_json(b, v);
		break;
	}
}

static void escaped(struct buf *b, const char *text)
{
	utf8_escape(b, text, strlen(text), SIZE_MAX);
}

static void question_effects(struct buf *b, const struct il_verdict *v)
{
	for (size_t i = 0; i < v->n_effects; i++) {
		const struct effect *e = &v->effects[i];

		buf_printf(b, "  %s%s ", e->certainty == EFFECT_POSSIBLE ? "may " : "",
			effect_kind_name(e->kind));
		escaped(b, e->object);
		if (e->target) {
			buf_text(b, " -> ");
			escaped(b, e->target);
		}
		if (e->port)
			buf_printf(b, " port %u", e->port);
		buf_text(b, e->recursive ? " and everything beneath\n" : "\n");
	}
}

static void question_grant(struct buf *b, const struct grant *g)
{
	static const char *const nets[GRANT_NET_N_] = { "no network", "only the hosts below",
		"network, arguments checked", "any host" };

	buf_printf(b, "Approved, it may (%s; %s):\n", g->profile, nets[g->net]);
	for (size_t i = 0; i < g->n_paths; i++) {
		const struct grant_path *p = &g->paths[i];

		if (p->hide)
			continue;
		buf_printf(b, "  %s%s%s%s ", p->rights & GRANT_READ ? "r" : "",
			p->rights & (GRANT_WRITE | GRANT_CREATE) ? "w" : "",
			p->rights & GRANT_DELETE ? "d" : "", p->rights & GRANT_EXEC ? "x" : "");
		escaped(b, g->roots[p->root]);
		buf_text(b, p->path[0] ? "/" : "");
		escaped(b, p->path);
		buf_byte(b, '\n');
	}
	for (size_t i = 0; i < g->n_hosts; i++)
		buf_printf(b, "  host %s%s\n", g->hosts[i].host,
			g->hosts[i].private_ok ? " (even where it is a private address)" : "");
	if (g->armed == GRANT_ARMED_WRITABLE)
		buf_text(b, "  change files that run by themselves later\n");
}

int il_approval_question(struct arena *a, const struct il_analysis *analysis,
	const struct il_verdict *verdict, const char **ret_text)
{
	auto_buf struct buf b = BUF_INIT(QUESTION_MAX);
	const char *text;

	buf_text(&b, "The agent wants: ");
	escaped(&b, analysis->action->type);
	buf_byte(&b, '\n');
	for (size_t i = 0; analysis->payload && i < analysis->payload->size; i++) {
		buf_text(&b, "  ");
		utf8_escape(&b, analysis->payload->pairs[i].key, analysis->payload->pairs[i].n_key,
			SIZE_MAX);
		buf_text(&b, " = ");
		question_value(&b, analysis->payload->pairs[i].value);
		buf_byte(&b, '\n');
	}
	buf_text(&b, "It would:\n");
	question_effects(&b, verdict);
	buf_text(&b, "Asked because: ");
	escaped(&b, verdict->reason);
	buf_printf(&b, " [%s]\n", verdict->rule);
	question_grant(&b, &verdict->grant);
	buf_text(&b, "action ");
	buf_hex(&b, verdict->action_hash, 8);
	buf_text(&b, "\n");
	if (buf_error(&b) != 0)
		return buf_error(&b);
	text = arena_text(a, buf_get_text(&b), b.size);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

int il_approval_rule(struct arena *a, const struct il_analysis *analysis,
	const struct il_verdict *verdict, const char **ret_yaml)
{
	auto_buf struct buf b = BUF_INIT(65536);
	const char *text;

	if (!analysis->type)
		return -EINVAL;
	buf_text(&b, "  - name: approved-");
	buf_hex(&b, verdict->action_hash, 6);
	buf_printf(&b, "\n    actions: [%s]\n    action_hash: \"", analysis->type->name);
	buf_hex(&b, verdict->action_hash, SHA256_SIZE);
	buf_text(&b, "\"\n    grant_hash: \"");
	buf_hex(&b, verdict->grant_hash, SHA256_SIZE);
	buf_printf(&b, "\"\n    reason: approved by the user, exactly this action\n");
	if (buf_error(&b) != 0)
		return buf_error(&b);
	text = arena_text(a, buf_get_text(&b), b.size);
	if (!text)
		return -ENOMEM;
	*ret_yaml = text;
	return 0;
}
