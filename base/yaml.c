#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/utf8.h"

#define YAML_MAX       ((size_t)1 << 20)
#define YAML_NODES_MAX ((size_t)100000)
#define YAML_ITEMS_MAX ((size_t)65536)
#define YAML_KEYS_MAX  ((size_t)4096) /* duplicates are looked for pair by pair */

struct loader {
	struct arena *arena;
	yaml_parser_t parser;
	yaml_event_t event;
	bool has_event;
	struct yaml_place *places;
	size_t n_places, capacity;
	struct diag *diag;
};

static int refuse(struct loader *l, const yaml_mark_t *mark, const char *why)
{
	return diag_set(
		l->diag, -EBADMSG, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1, "%s", why);
}

static int next(struct loader *l)
{
	if (l->has_event)
		yaml_event_delete(&l->event);
	l->has_event = false;
	if (!yaml_parser_parse(&l->parser, &l->event))
		return l->parser.error == YAML_MEMORY_ERROR
			       ? -ENOMEM
			       : refuse(l, &l->parser.problem_mark,
					 l->parser.problem ? l->parser.problem : "not valid YAML");
	l->has_event = true;
	return 0;
}

static int remember(struct loader *l, const struct value *v)
{
	if (l->n_places == l->capacity) {
		size_t capacity = l->capacity ? l->capacity * 2 : 64;
		struct yaml_place *grown = arena_alloc_array(l->arena, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (l->n_places > 0)
			memcpy(grown, l->places, l->n_places * sizeof(*grown));
		l->places = grown;
		l->capacity = capacity;
	}
	if (l->n_places >= YAML_NODES_MAX)
		return refuse(l, &l->event.start_mark, "more values than a file may hold");
	l->places[l->n_places++] = (struct yaml_place){ .value = v,
		.line = (uint32_t)l->event.start_mark.line + 1,
		.column = (uint32_t)l->event.start_mark.column + 1 };
	return 0;
}

static bool is_integer(const char *text, size_t n)
{
	size_t i = n > 1 && text[0] == '-' ? 1 : 0;

	if (n - i == 0 || n - i > 18)
		return false;
	for (; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
	}
	return true;
}

static int fill_scalar(struct loader *l, struct value *v)
{
	const char *text = (const char *)l->event.data.scalar.value;
	size_t n = l->event.data.scalar.length;
	bool plain = l->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (l->event.data.scalar.anchor || l->event.data.scalar.tag)
		return refuse(l, &l->event.start_mark, "anchors and tags are not accepted");
	if (memchr(text, 0, n) || !is_utf8(text, n))
		return refuse(l, &l->event.start_mark, "text must be UTF-8 without NUL");
	if (plain && (n == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)) {
		v->kind = VALUE_NIL;
	} else if (plain && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
		v->kind = VALUE_BOOL;
		v->boolean = text[0] == 't';
	} else if (plain && is_integer(text, n)) {
		v->kind = VALUE_INT;
		v->integer = strtoll(text, NULL, 10); /* at most 18 digits, checked above */
	} else {
		v->kind = VALUE_TEXT;
		v->text = arena_text(l->arena, text, n);
		v->size = n;
		if (!v->text)
			return -ENOMEM;
	}
	return 0;
}

static int fill(struct loader *l, unsigned depth, struct value *v);

/* A list that doubles inside the arena. */
static void *grow(struct arena *a, void *old, size_t n, size_t size, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity * 2 : 8;
	void *grown;

	if (n < *capacity)
		return old;
	grown = arena_alloc_array(a, wanted, size);
	if (!grown)
		return NULL;
	if (n > 0)
		memcpy(grown, old, n * size);
	*capacity = wanted;
	return grown;
}

static int fill_sequence(struct loader *l, unsigned depth, struct value *v)
{
	const struct value **children = NULL;
	struct value *items;
	size_t n = 0, capacity = 0;
	size_t first_place = l->n_places;
	int r;

	for (;; n++) {
		struct value *child;

		r = next(l);
		if (r != 0)
			return r;
		if (l->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		children = grow(l->arena, children, n, sizeof(*children), &capacity);
		child = value_new(l->arena, VALUE_NIL);
		if (!children || !child || n >= YAML_ITEMS_MAX)
			return -ENOMEM;
		children[n] = child;
		r = fill(l, depth - 1, child);
		if (r != 0)
			return r;
	}
	items = arena_alloc_array(l->arena, n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0, place = first_place; i < n; i++) {
		items[i] = *children[i];
		while (l->places[place].value != children[i])
			place++;
		l->places[place].value =
			&items[i]; /* the place follows the value to where it stays */
	}
	*v = (struct value){ .kind = VALUE_ARRAY, .size = n, .capacity = n, .items = items };
	return 0;
}

static int fill_pair(struct loader *l, unsigned depth, struct value_pair *pair)
{
	struct value key = { .kind = VALUE_NIL };
	struct value *child = value_new(l->arena, VALUE_NIL);
	int r;

	if (!child)
		return -ENOMEM;
	if (l->event.type != YAML_SCALAR_EVENT)
		return refuse(l, &l->event.start_mark, "a key must be text");
	r = fill_scalar(l, &key);
	if (r != 0)
		return r;
	pair->n_key = l->event.data.scalar.length;
	pair->key = arena_text(l->arena, (const char *)l->event.data.scalar.value, pair->n_key);
	pair->value = child;
	if (!pair->key)
		return -ENOMEM;
	if (strcmp(pair->key, "<<") == 0)
		return refuse(l, &l->event.start_mark, "merge keys are not accepted");
	r = next(l);
	return r != 0 ? r : fill(l, depth - 1, child);
}

static int fill_mapping(struct loader *l, unsigned depth, struct value *v)
{
	struct value_pair *pairs = NULL;
	size_t n = 0, capacity = 0;
	int r;

	for (;; n++) {
		yaml_mark_t mark;

		r = next(l);
		if (r != 0)
			return r;
		if (l->event.type == YAML_MAPPING_END_EVENT)
			break;
		mark = l->event.start_mark;
		pairs = grow(l->arena, pairs, n, sizeof(*pairs), &capacity);
		if (!pairs || n >= YAML_KEYS_MAX)
			return -ENOMEM;
		r = fill_pair(l, depth, &pairs[n]);
		if (r != 0)
			return r;
		for (size_t i = 0; i < n; i++) {
			if (strcmp(pairs[i].key, pairs[n].key) == 0)
				return diag_set(l->diag, -EBADMSG, (uint32_t)mark.line + 1,
					(uint32_t)mark.column + 1,
					"key \"%.64s\" stands here twice", pairs[n].key);
		}
	}
	*v = (struct value){ .kind = VALUE_MAP, .size = n, .capacity = n, .pairs = pairs };
	return 0;
}

static int fill(struct loader *l, unsigned depth, struct value *v)
{
	int r = remember(l, v);

	if (r != 0)
		return r;
	if (l->event.type == YAML_SCALAR_EVENT)
		return fill_scalar(l, v);
	if (depth == 0)
		return refuse(l, &l->event.start_mark, "nested too deep");
	if (l->event.type == YAML_SEQUENCE_START_EVENT) {
		if (l->event.data.sequence_start.anchor || l->event.data.sequence_start.tag)
			return refuse(l, &l->event.start_mark, "anchors and tags are not accepted");
		return fill_sequence(l, depth, v);
	}
	if (l->event.type == YAML_MAPPING_START_EVENT) {
		if (l->event.data.mapping_start.anchor || l->event.data.mapping_start.tag)
			return refuse(l, &l->event.start_mark, "anchors and tags are not accepted");
		return fill_mapping(l, depth, v);
	}
	return refuse(l, &l->event.start_mark, "aliases are not accepted");
}

static int expect(struct loader *l, yaml_event_type_t type, const char *why)
{
	int r = next(l);

	if (r != 0)
		return r;
	return l->event.type == type ? 0 : refuse(l, &l->event.start_mark, why);
}

static int load(struct loader *l, struct value *root)
{
	int r = expect(l, YAML_STREAM_START_EVENT, "not a YAML stream");

	if (r == 0)
		r = next(l);
	if (r != 0)
		return r;
	if (l->event.type == YAML_STREAM_END_EVENT)
		return 0; /* an empty file is nil */
	r = next(l);
	if (r == 0)
		r = fill(l, VALUE_DEPTH_MAX, root);
	if (r == 0)
		r = expect(l, YAML_DOCUMENT_END_EVENT, "the document should end here");
	if (r == 0)
		r = expect(l, YAML_STREAM_END_EVENT, "only one document a file is accepted");
	return r;
}

int yaml_parse(struct arena *a, const char *text, size_t n, struct yaml_doc *ret_doc,
	struct diag *reterr_diag)
{
	struct loader l = { .arena = a, .diag = reterr_diag };
	struct value *root = value_new(a, VALUE_NIL);
	int r;

	if (!root)
		return -ENOMEM;
	if (n > YAML_MAX)
		return diag_set(reterr_diag, -EBADMSG, 0, 0, "the file is over 1 MiB");
	if (!yaml_parser_initialize(&l.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, n);
	yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
	r = load(&l, root);
	if (l.has_event)
		yaml_event_delete(&l.event);
	yaml_parser_delete(&l.parser);
	if (r == 0)
		*ret_doc = (struct yaml_doc){
			.root = root, .places = l.places, .n_places = l.n_places
		};
	return r;
}

struct yaml_place yaml_place_get(const struct yaml_doc *doc, const struct value *v)
{
	for (size_t i = 0; i < doc->n_places; i++) {
		if (doc->places[i].value == v)
			return doc->places[i];
	}
	return (struct yaml_place){ 0 };
}
