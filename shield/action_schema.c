#include "base/buf.h"
#include "base/value.h"
#include "shield/action.h"

static void schema_string(struct buf *b, const char *text)
{
	struct value v = { .kind = VALUE_TEXT, .text = text, .size = 0 };

	while (text[v.size])
		v.size++;
	value_to_json(b, &v);
}

static void schema_text(struct buf *b, const struct il_field *f)
{
	buf_printf(b, "\"type\":\"string\",\"maxLength\":%u", f->size_max ? f->size_max : 4096);
}

static void schema_field(struct buf *b, const struct il_field *f)
{
	unsigned count = f->count_max ? f->count_max : 256;

	schema_string(b, f->name);
	buf_text(b, ":{");
	switch (f->type) {
	case IL_FIELD_TEXT:
	case IL_FIELD_PATH:
		schema_text(b, f);
		break;
	case IL_FIELD_HOST_URL:
		schema_text(b, f);
		buf_text(b, ",\"format\":\"uri\"");
		break;
	case IL_FIELD_BOOL:
		buf_text(b, "\"type\":\"boolean\"");
		break;
	case IL_FIELD_INT:
		buf_printf(b, "\"type\":\"integer\",\"minimum\":%lld,\"maximum\":%lld",
			(long long)f->min, (long long)f->max);
		break;
	case IL_FIELD_TEXTS:
	case IL_FIELD_PATHS:
		buf_printf(b, "\"type\":\"array\",\"maxItems\":%u,\"items\":{", count);
		schema_text(b, f);
		buf_byte(b, '}');
		break;
	case IL_FIELD_COMMAND:
		buf_text(b, "\"anyOf\":[{");
		schema_text(b, f);
		buf_printf(b, "},{\"type\":\"array\",\"minItems\":1,\"maxItems\":%u,\"items\":{",
			count);
		schema_text(b, f);
		buf_text(b, "}}]");
		break;
	case IL_FIELD_ANY:
	case IL_FIELD_N_:
		buf_text(b, "\"type\":[\"string\",\"number\",\"boolean\",\"array\",\"object\","
			    "\"null\"]");
		break;
	}
	if (f->description) {
		buf_text(b, ",\"description\":");
		schema_string(b, f->description);
	}
	buf_byte(b, '}');
}

void il_action_schema(struct buf *b, const struct il_action_type *type)
{
	const char *separator = "";

	buf_text(b, "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
		    "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
	for (const struct il_field *f = type->fields; f->name; f++) {
		buf_text(b, separator);
		schema_field(b, f);
		separator = ",";
	}
	buf_text(b, "},\"required\":[");
	separator = "";
	for (const struct il_field *f = type->fields; f->name; f++) {
		if (!f->required)
			continue;
		buf_text(b, separator);
		schema_string(b, f->name);
		separator = ",";
	}
	buf_text(b, "]}");
}
