#include "ipc/files_job.h"

#include <string.h>

#include "base/mp.h"

/* Puts only what is there; the first error stays. */
static void put(int *r, struct value *map, const char *key, const struct value *v)
{
	if (*r == 0)
		*r = value_put(map, key, v);
}

static const struct value *text(struct arena *a, const char *t)
{
	return value_text(a, t, strlen(t));
}

static int write_whole(struct buf *b, const struct value *v, int r)
{
	if (r != 0)
		return r;
	mp_write_value(b, v);
	return buf_error(b);
}

int files_job_encode(struct buf *b, const struct files_job *job)
{
	auto_arena struct arena a = { 0 };
	struct value *map;
	int r = 0;

	arena_init(&a, 8u << 20);
	map = value_map(&a, 6);
	put(&r, map, "type", text(&a, job->type));
	put(&r, map, "payload", job->payload);
	put(&r, map, "grant", grant_to_value(&a, &job->grant));
	put(&r, map, "wall_ms", value_int(&a, (int64_t)job->wall_ms));
	put(&r, map, "entries_max", value_int(&a, (int64_t)job->entries_max));
	put(&r, map, "text_max", value_int(&a, (int64_t)job->text_max));
	return write_whole(b, map, r);
}

static int read_whole(
	struct arena *a, const void *bytes, size_t n, size_t n_keys, const struct value **ret_map)
{
	const struct value *map;
	struct mp_reader r;

	mp_reader_init(&r, bytes, n);
	if (mp_read_value(&r, a, &map) != 0 || mp_reader_end(&r) != 0 || map->kind != VALUE_MAP ||
		map->size != n_keys)
		return -EBADMSG;
	*ret_map = map;
	return 0;
}

/* True when the key holds an integer from 0. */
static bool get_count(const struct value *map, const char *key, uint64_t *ret_count)
{
	const struct value *v = value_get(map, key);

	if (!v || v->kind != VALUE_INT || v->integer < 0)
		return false;
	*ret_count = (uint64_t)v->integer;
	return true;
}

int files_job_decode(struct arena *a, const void *bytes, size_t n, struct files_job *ret_job,
	struct diag *reterr_diag)
{
	struct files_job job = { 0 };
	const struct value *map, *grant;

	if (read_whole(a, bytes, n, 6, &map) != 0)
		return diag_set(reterr_diag, -EBADMSG, 0, 0, "the job is not one map of six");
	job.type = value_get_text(map, "type");
	job.payload = value_get(map, "payload");
	grant = value_get(map, "grant");
	if (!job.type || !job.payload || job.payload->kind != VALUE_MAP || !grant ||
		!get_count(map, "wall_ms", &job.wall_ms) ||
		!get_count(map, "entries_max", &job.entries_max) ||
		!get_count(map, "text_max", &job.text_max))
		return diag_set(reterr_diag, -EBADMSG, 0, 0, "the job misses a field");
	if (grant_from_value(a, grant, &job.grant, reterr_diag) != 0)
		return -EBADMSG;
	*ret_job = job;
	return 0;
}

int files_answer_encode(struct buf *b, const struct files_answer *answer)
{
	static const struct value nothing = { .kind = VALUE_MAP };
	auto_arena struct arena a = { 0 };
	struct value *map;
	int r = 0;

	arena_init(&a, 8u << 20);
	map = value_map(&a, 7);
	put(&r, map, "ok", value_bool(&a, answer->ok));
	put(&r, map, "content", text(&a, answer->content));
	put(&r, map, "error", text(&a, answer->error ? answer->error : ""));
	put(&r, map, "code", value_int(&a, answer->code));
	put(&r, map, "entries", value_int(&a, (int64_t)answer->n_entries));
	put(&r, map, "truncated", value_bool(&a, answer->truncated));
	put(&r, map, "data", answer->data ? answer->data : &nothing);
	return write_whole(b, map, r);
}

static bool get_bool(const struct value *map, const char *key, bool *ret_boolean)
{
	const struct value *v = value_get(map, key);

	if (!v || v->kind != VALUE_BOOL)
		return false;
	*ret_boolean = v->boolean;
	return true;
}

int files_answer_decode(
	struct arena *a, const void *bytes, size_t n, struct files_answer *ret_answer)
{
	struct files_answer answer = { 0 };
	const struct value *map;
	uint64_t code;

	if (read_whole(a, bytes, n, 7, &map) != 0)
		return -EBADMSG;
	answer.content = value_get_text(map, "content");
	answer.error = value_get_text(map, "error");
	answer.data = value_get(map, "data");
	if (!answer.content || !answer.error || !answer.data || answer.data->kind != VALUE_MAP ||
		!get_bool(map, "ok", &answer.ok) ||
		!get_bool(map, "truncated", &answer.truncated) || !get_count(map, "code", &code) ||
		code > 4095 || !get_count(map, "entries", &answer.n_entries))
		return -EBADMSG;
	answer.code = (int)code;
	if (answer.ok)
		answer.error = NULL;
	*ret_answer = answer;
	return 0;
}
