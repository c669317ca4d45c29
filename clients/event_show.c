#include "clients/event_show.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#define SHOWN_MAX ((size_t)2000)

/* Text from outsiders goes to the terminal display-safe. */
static void put(const char *label, const char *text)
{
	auto_buf struct buf b = BUF_INIT((size_t)64 << 10);
	size_t n = text ? strlen(text) : 0;

	if (!text)
		return;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	utf8_escape(&b, text, n, SHOWN_MAX);
	printf("      %-9s %s\n", label, buf_get_text(&b));
}

static void put_json(const char *label, const struct value *v)
{
	auto_buf struct buf b = BUF_INIT((size_t)1 << 20);

	if (!v)
		return;
	value_to_json(&b, v);
	put(label, buf_get_text(&b));
}

static void put_effects(const struct value *verdict)
{
	const struct value *effects = value_get(verdict, "effects");

	for (size_t i = 0; effects && effects->kind == VALUE_ARRAY && i < effects->size; i++) {
		const struct value *e = &effects->items[i];
		const char *kind = value_get_text(e, "kind"), *object = value_get_text(e, "object"),
			   *target = value_get_text(e, "target");
		auto_buf struct buf b = BUF_INIT((size_t)64 << 10);

		buf_printf(&b, "%s ", kind ? kind : "?");
		buf_text(&b, object ? object : "");
		if (target) {
			buf_text(&b, " -> ");
			buf_text(&b, target);
		}
		put(i == 0 ? "effects" : "", buf_get_text(&b));
	}
}

void event_show(const struct message *event)
{
	const struct value *data = message_value(event, "data");
	const char *type = message_text(event, "type");
	const char *decision = value_get_text(data, "decision");
	const char *action = value_get_text(data, "type");

	printf("%-22s %s%s%s\n", type ? type : "?", action ? action : "", decision ? " " : "",
		decision ? decision : "");
	put_json("payload", value_get(data, "payload"));
	put_effects(value_get(data, "verdict"));
	put("rule", value_get_text(data, "rule"));
	put("reason", value_get_text(data, "reason"));
	put("snapshot", value_get_text(data, "snapshot"));
	put("status", value_get_text(data, "status"));
	put("error", value_get_text(data, "error"));
	put_json("changes", value_get(data, "changes"));
	put("question", value_get_text(data, "question"));
	put("text", value_get_text(data, "text"));
	put("content", value_get_text(data, "content"));
	(void)fflush(stdout);
}
