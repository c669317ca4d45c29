#include "chronicle/delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "chronicle/names.h"

void deltas_done(struct deltas *d)
{
	free(d->list);
	*d = (struct deltas){ 0 };
}

bool is_shallow(const struct entry *e)
{
	static const uint8_t none[SHA256_SIZE];

	return e->kind != ENTRY_DIR || memcmp(e->hash, none, SHA256_SIZE) == 0;
}

bool path_is_in(const char *path, const char *beneath)
{
	size_t n = strlen(beneath);

	if (n == 0)
		return true;
	return strncmp(path, beneath, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool delta_is_change(const struct delta *d)
{
	return d->before.kind != d->after.kind || !entry_same_content(&d->before, &d->after) ||
	       !entry_same_attributes(&d->before, &d->after) ||
	       d->before.link_ino != d->after.link_ino || d->before.link_dev != d->after.link_dev;
}

enum il_change_kind delta_kind(const struct delta *d)
{
	if (d->before.kind == ENTRY_ABSENT)
		return IL_CHANGE_CREATED;
	if (d->after.kind == ENTRY_ABSENT)
		return IL_CHANGE_DELETED;
	if (d->before.kind != d->after.kind)
		return IL_CHANGE_TYPE;
	return entry_same_content(&d->before, &d->after) ? IL_CHANGE_ATTRIBUTES
							 : IL_CHANGE_MODIFIED;
}

struct tree_loader {
	struct arena *arena;
	struct tree *tree;
};

static int add_entry(void *ctx, const struct entry *e)
{
	struct tree_loader *l = ctx;
	struct tree *t = l->tree;

	if (t->n == t->capacity) {
		size_t capacity = t->capacity > 0 ? t->capacity * 2 : 16;
		struct entry *grown = arena_alloc_array(l->arena, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (t->n > 0)
			memcpy(grown, t->list, t->n * sizeof(*grown));
		t->list = grown;
		t->capacity = capacity;
	}
	t->list[t->n++] = *e;
	return 0;
}

int tree_load(struct store *s, struct arena *a, const struct entry *dir, struct tree *ret_tree)
{
	struct tree_loader l = { .arena = a, .tree = ret_tree };
	auto_free uint8_t *bytes = NULL;
	const uint8_t *kept;
	size_t n = 0;
	int r;

	*ret_tree = (struct tree){ 0 };
	if (is_shallow(dir))
		return 0;
	r = store_get(s, dir->hash, TREE_BYTES_MAX, &bytes, &n);
	if (r != 0)
		return r;
	kept = arena_copy(a, bytes, n);
	if (!kept)
		return -ENOMEM;
	r = tree_read(kept, n, add_entry, &l);
	return r == -EBADMSG ? STORE_E_BROKEN : r;
}

struct finder {
	struct store *store;
	struct arena *arena;
	struct deltas *out;
	uint32_t place;
	struct buf path;
};

static int emit(struct finder *f, const struct entry *before, const struct entry *after)
{
	struct deltas *d = f->out;
	struct delta *at;

	if (d->n == d->capacity) {
		size_t capacity = d->capacity > 0 ? d->capacity * 2 : 64;
		struct delta *grown = realloc(d->list, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		d->list = grown;
		d->capacity = capacity;
	}
	at = &d->list[d->n];
	*at = (struct delta){ .place = f->place, .before = *before, .after = *after };
	at->before.name = at->after.name = (struct slice){ 0 };
	at->path = arena_text(f->arena, buf_get_text(&f->path), f->path.size);
	if (!at->path)
		return -ENOMEM;
	d->n++;
	return 0;
}

static int compare(struct finder *f, const struct entry *before, const struct entry *after);

static int compare_child(struct finder *f, const struct entry *before, const struct entry *after)
{
	static const struct entry absent;
	struct slice name = before ? before->name : after->name;
	size_t n = f->path.size;
	int r;

	if (n > 0)
		buf_byte(&f->path, '/');
	buf_bytes(&f->path, name.bytes, name.n);
	r = buf_error(&f->path);
	if (r == 0)
		r = compare(f, before ? before : &absent, after ? after : &absent);
	path_cut(&f->path, n);
	return r;
}

static int compare_trees(struct finder *f, const struct entry *before, const struct entry *after)
{
	struct tree x = { 0 }, y = { 0 };
	size_t i = 0, j = 0;
	int r = tree_load(f->store, f->arena, before, &x);

	if (r == 0)
		r = tree_load(f->store, f->arena, after, &y);
	while (r == 0 && (i < x.n || j < y.n)) {
		int order = i == x.n   ? 1
			    : j == y.n ? -1
				       : slice_compare(x.list[i].name, y.list[j].name);

		r = compare_child(
			f, order <= 0 ? &x.list[i] : NULL, order >= 0 ? &y.list[j] : NULL);
		i += order <= 0;
		j += order >= 0;
	}
	return r;
}

static int compare(struct finder *f, const struct entry *before, const struct entry *after)
{
	bool both = before->kind == ENTRY_DIR && after->kind == ENTRY_DIR;
	int r = entry_equal(before, after) ? 0 : emit(f, before, after);

	if (r != 0 || (both && (is_shallow(before) || is_shallow(after) ||
				       memcmp(before->hash, after->hash, SHA256_SIZE) == 0)))
		return r;
	if (is_shallow(before) && is_shallow(after))
		return 0;
	return compare_trees(f, before, after);
}

int deltas_find(struct store *s, struct arena *a, const struct record_place *before,
	const struct record_place *after, uint32_t n_places, struct deltas *ret_deltas)
{
	struct finder f = {
		.store = s, .arena = a, .out = ret_deltas, .path = BUF_INIT((size_t)1 << 20)
	};
	int r = 0;

	for (f.place = 0; r == 0 && f.place < n_places; f.place++) {
		buf_clear(&f.path);
		buf_text(&f.path, before[f.place].path);
		r = buf_error(&f.path);
		if (r == 0)
			r = compare(&f, &before[f.place].entry, &after[f.place].entry);
	}
	buf_done(&f.path);
	return r;
}

static int find_child(struct store *s, struct arena *a, const struct entry *dir, const char *name,
	size_t n, struct entry *ret_entry)
{
	struct slice wanted = { (const uint8_t *)name, n };
	struct tree t;
	int r = tree_load(s, a, dir, &t);

	*ret_entry = (struct entry){ 0 };
	for (size_t i = 0; r == 0 && i < t.n; i++) {
		if (slice_equal(t.list[i].name, wanted)) {
			*ret_entry = t.list[i];
			ret_entry->name = (struct slice){ 0 };
			break;
		}
	}
	return r;
}

int entry_lookup(struct store *s, struct arena *a, const struct record_place *places,
	uint32_t n_places, uint32_t place, const char *path, struct entry *ret_entry)
{
	struct entry at = { 0 };
	size_t n;
	int r = 0;

	if (place >= n_places || !path_is_in(path, places[place].path)) {
		*ret_entry = at;
		return 0;
	}
	at = places[place].entry;
	path += strlen(places[place].path);
	path += *path == '/';
	for (; r == 0 && *path && at.kind == ENTRY_DIR; path += n + (path[n] == '/')) {
		struct entry next;

		n = strcspn(path, "/");
		r = find_child(s, a, &at, path, n, &next);
		at = next;
	}
	if (*path)
		at = (struct entry){ 0 };
	*ret_entry = at;
	return r;
}
