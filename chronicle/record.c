#include "chronicle/record.h"

#include <errno.h>
#include <string.h>

static void write_text(struct buf *b, const char *text)
{
	if (text)
		mp_write_bin(b, text, strlen(text));
	else
		mp_write_nil(b);
}

static void write_places(struct buf *b, const struct record *r)
{
	mp_write_array(b, r->n_places);
	for (uint32_t i = 0; i < r->n_places; i++) {
		const struct record_place *p = &r->places[i];

		mp_write_array(b, 4);
		mp_write_uint(b, p->root);
		write_text(b, p->path);
		mp_write_uint(b, (p->recursive ? 1U : 0U) | (p->may_create ? 2U : 0U) |
					 (p->ignore_exclusions ? 4U : 0U));
		entry_write(b, &p->entry);
	}
	mp_write_array(b, r->n_omissions);
	for (uint32_t i = 0; i < r->n_omissions; i++) {
		mp_write_array(b, 3);
		mp_write_uint(b, r->omissions[i].place);
		write_text(b, r->omissions[i].path);
		mp_write_uint(b, (uint64_t)r->omissions[i].reason);
	}
	mp_write_uint(b, r->n_left_out);
	mp_write_uint(b, r->n_objects);
}

void record_write(struct buf *b, const struct record *r)
{
	static const uint32_t counts[RECORD_N_] = { 15, 10, 7 };

	mp_write_array(b, counts[r->kind]);
	mp_write_uint(b, (uint64_t)r->kind);
	mp_write_uint(b, r->seq);
	mp_write_bin(b, r->prev, SHA256_SIZE);
	mp_write_str(b, r->id, strlen(r->id));
	mp_write_int(b, r->time_ns);
	if (r->kind == RECORD_FORGET) {
		write_text(b, r->path);
		mp_write_bin(b, r->hashes, (size_t)r->n_hashes * SHA256_SIZE);
		return;
	}
	if (r->kind == RECORD_BEGIN) {
		write_text(b, r->session);
		write_text(b, r->action_type);
		write_text(b, r->summary);
		mp_write_bin(b, r->action_hash.bytes ? (const void *)r->action_hash.bytes : "",
			r->action_hash.n);
		mp_write_str(b, r->undoes, strlen(r->undoes));
		mp_write_array(b, r->n_roots);
		for (uint32_t i = 0; i < r->n_roots; i++)
			write_text(b, r->roots[i]);
	} else {
		mp_write_uint(b, (uint64_t)r->outcome);
	}
	write_places(b, r);
	if (r->kind == RECORD_SEAL)
		mp_write_uint(b, r->n_changes);
}

/* A terminated copy without NUL inside; NULL for nil where that is allowed. */
static int read_text(struct mp_reader *in, struct arena *a, bool optional, const char **ret_text)
{
	const uint8_t *bytes = NULL;
	size_t n = 0;

	if (optional && mp_peek(in) == MP_NIL)
		return mp_read_nil(in);
	if (mp_read_bin(in, RECORD_PATH_MAX, &bytes, &n) != 0 || (n > 0 && memchr(bytes, 0, n)))
		return -EBADMSG;
	*ret_text = arena_text(a, n > 0 ? (const char *)bytes : "", n);
	return *ret_text ? 0 : -ENOMEM;
}

static int read_id(struct mp_reader *in, bool optional, char ret_id[static IL_SNAPSHOT_ID_SIZE])
{
	uint8_t bytes[ID_LENGTH / 2];
	const char *text = NULL;
	size_t n = 0;

	if (mp_read_str(in, ID_LENGTH, &text, &n) != 0)
		return -EBADMSG;
	if (n == 0 && optional)
		return 0;
	if (n != ID_LENGTH)
		return -EBADMSG;
	memcpy(ret_id, text, n);
	ret_id[n] = '\0';
	return hex_decode(ret_id, bytes, sizeof(bytes)) == 0 ? 0 : -EBADMSG;
}

/* No absolute path, no empty, "." or ".." component: it cannot lead out. "" is the root itself. */
bool path_is_relative(const char *path)
{
	size_t n;

	for (const char *at = path; *at; at += n + (at[n] == '/')) {
		n = strcspn(at, "/");
		if (n == 0 || n > ENTRY_NAME_MAX || (at[n] == '/' && at[n + 1] == '\0'))
			return false;
		if (at[0] == '.' && (n == 1 || (n == 2 && at[1] == '.')))
			return false;
	}
	return true;
}

static int read_place(struct mp_reader *in, struct arena *a, struct record_place *p)
{
	uint64_t root = 0, flags = 0;
	uint32_t n = 0;
	int r;

	if (mp_read_array(in, 4, &n) != 0 || n != 4 ||
		mp_read_uint(in, RECORD_ROOTS_MAX - 1, &root) != 0)
		return -EBADMSG;
	r = read_text(in, a, false, &p->path);
	if (r != 0)
		return r;
	if (!path_is_relative(p->path) || mp_read_uint(in, 7, &flags) != 0)
		return -EBADMSG;
	p->root = (uint32_t)root;
	p->recursive = (flags & 1) != 0;
	p->may_create = (flags & 2) != 0;
	p->ignore_exclusions = (flags & 4) != 0;
	return entry_read(in, false, &p->entry);
}

static int read_omission(
	struct mp_reader *in, struct arena *a, uint32_t n_places, struct record_omission *o)
{
	uint64_t place = 0, reason = 0;
	uint32_t n = 0;
	int r;

	if (mp_read_array(in, 3, &n) != 0 || n != 3 || mp_read_uint(in, UINT32_MAX, &place) != 0 ||
		place >= n_places)
		return -EBADMSG;
	r = read_text(in, a, false, &o->path);
	if (r == 0 && mp_read_uint(in, LEFT_OUT_N_ - 1, &reason) != 0)
		r = -EBADMSG;
	o->place = (uint32_t)place;
	o->reason = (enum left_out)reason;
	return r;
}

static int read_places(struct mp_reader *in, struct arena *a, struct record *rec)
{
	int r = 0;

	if (mp_read_array(in, RECORD_PLACES_MAX, &rec->n_places) != 0)
		return -EBADMSG;
	rec->places = arena_alloc_array(a, rec->n_places + 1, sizeof(*rec->places));
	if (!rec->places)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < rec->n_places; i++)
		r = read_place(in, a, &rec->places[i]);
	if (r == 0 && mp_read_array(in, RECORD_OMISSIONS_MAX, &rec->n_omissions) != 0)
		r = -EBADMSG;
	if (r != 0)
		return r;
	rec->omissions = arena_alloc_array(a, rec->n_omissions + 1, sizeof(*rec->omissions));
	if (!rec->omissions)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < rec->n_omissions; i++)
		r = read_omission(in, a, rec->n_places, &rec->omissions[i]);
	if (r == 0 && (mp_read_uint(in, INT64_MAX, &rec->n_left_out) != 0 ||
			      mp_read_uint(in, INT64_MAX, &rec->n_objects) != 0))
		r = -EBADMSG;
	return r;
}

static int read_begin(struct mp_reader *in, struct arena *a, struct record *rec)
{
	int r = read_text(in, a, true, &rec->session);

	if (r == 0)
		r = read_text(in, a, true, &rec->action_type);
	if (r == 0)
		r = read_text(in, a, true, &rec->summary);
	if (r == 0 &&
		(mp_read_bin(in, SHA256_SIZE, &rec->action_hash.bytes, &rec->action_hash.n) != 0 ||
			(rec->action_hash.n != 0 && rec->action_hash.n != SHA256_SIZE)))
		r = -EBADMSG;
	if (r == 0)
		r = read_id(in, true, rec->undoes);
	if (r == 0 && mp_read_array(in, RECORD_ROOTS_MAX, &rec->n_roots) != 0)
		r = -EBADMSG;
	if (r != 0)
		return r;
	rec->roots = arena_alloc_array(a, rec->n_roots + 1, sizeof(*rec->roots));
	if (!rec->roots)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < rec->n_roots; i++) {
		r = read_text(in, a, false, &rec->roots[i]);
		if (r == 0 && rec->roots[i][0] != '/')
			r = -EBADMSG;
	}
	if (r == 0)
		r = read_places(in, a, rec);
	for (uint32_t i = 0; r == 0 && i < rec->n_places; i++) {
		if (rec->places[i].root >= rec->n_roots)
			r = -EBADMSG;
	}
	return r;
}

static int read_seal(struct mp_reader *in, struct arena *a, struct record *rec)
{
	uint64_t outcome = 0;
	int r;

	if (mp_read_uint(in, IL_OUTCOME_N_ - 1, &outcome) != 0)
		return -EBADMSG;
	rec->outcome = (enum il_snapshot_outcome)outcome;
	r = read_places(in, a, rec);
	if (r == 0 && mp_read_uint(in, INT64_MAX, &rec->n_changes) != 0)
		r = -EBADMSG;
	return r;
}

static int read_forget(struct mp_reader *in, struct arena *a, struct record *rec)
{
	size_t n = 0;
	int r = read_text(in, a, false, &rec->path);

	if (r == 0 &&
		(mp_read_bin(in, (size_t)RECORD_HASHES_MAX * SHA256_SIZE, &rec->hashes, &n) != 0 ||
			n % SHA256_SIZE != 0))
		r = -EBADMSG;
	rec->n_hashes = (uint32_t)(n / SHA256_SIZE);
	return r;
}

int record_read(struct arena *a, const uint8_t *bytes, size_t n, struct record *ret_record)
{
	static const uint32_t counts[RECORD_N_] = { 15, 10, 7 };
	struct record rec = { 0 };
	const uint8_t *prev = NULL;
	struct mp_reader in;
	uint64_t kind = 0;
	uint32_t count = 0;
	size_t n_prev = 0;
	int r;

	mp_reader_init(&in, bytes, n);
	if (mp_read_array(&in, counts[RECORD_BEGIN], &count) != 0 ||
		mp_read_uint(&in, RECORD_N_ - 1, &kind) != 0 || count != counts[kind] ||
		mp_read_uint(&in, INT64_MAX, &rec.seq) != 0 || rec.seq == 0 ||
		mp_read_bin(&in, SHA256_SIZE, &prev, &n_prev) != 0 || n_prev != SHA256_SIZE ||
		read_id(&in, false, rec.id) != 0 || mp_read_int(&in, &rec.time_ns) != 0)
		return -EBADMSG;
	memcpy(rec.prev, prev, SHA256_SIZE);
	rec.kind = (enum record_kind)kind;
	if (rec.kind == RECORD_BEGIN)
		r = read_begin(&in, a, &rec);
	else if (rec.kind == RECORD_SEAL)
		r = read_seal(&in, a, &rec);
	else
		r = read_forget(&in, a, &rec);
	if (r == 0)
		r = mp_reader_end(&in);
	if (r == 0)
		*ret_record = rec;
	return r;
}
