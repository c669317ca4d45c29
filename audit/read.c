/*
 * Queries: the lines are looked at with the strict reader, and only what matches becomes a tree.
 * Newest first goes through the segments from the last one on and keeps one segment's places,
 * so that memory does not grow with the log.
 */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/line.h"
#include "audit/reader.h"
#include "audit/segment.h"
#include "base/cleanup.h"

#define ARENA_MAX (32 * (size_t)IL_AUDIT_ENTRY_MAX)

struct place {
	uint64_t offset;
	size_t n;
};

struct query {
	const struct il_audit_query *wanted;
	il_audit_entry_fn fn;
	void *ctx;
	uint64_t n_given;
	struct place *places; /* owned: the matches of one segment */
	size_t n_places, capacity;
};

/* Names and ids have one spelling when they need no escape; those that do are compared unescaped.
 */
static bool slice_matches(struct slice s, const char *wanted)
{
	auto_arena struct arena a = { 0 };
	struct slice quoted = { s.at ? s.at - 1 : NULL, s.n + 2 };
	const struct value *v = NULL;

	if (!wanted)
		return true;
	if (!s.at)
		return false;
	if (!memchr(s.at, '\\', s.n))
		return slice_is(s, wanted);
	arena_init(&a, ARENA_MAX);
	return value_from_json(&a, quoted.at, quoted.n, &v, NULL) == 0 && v->kind == VALUE_TEXT &&
	       strcmp(v->text, wanted) == 0;
}

static bool time_matches(const struct il_audit_query *q, struct slice time)
{
	char text[RFC3339_SIZE] = "";
	int64_t at;

	if (q->since_ns == 0 && q->until_ns == 0)
		return true;
	if (time.n >= sizeof(text))
		return false;
	memcpy(text, time.at, time.n);
	if (rfc3339_parse(text, &at) != 0)
		return false;
	return (q->since_ns == 0 || at >= q->since_ns) && (q->until_ns == 0 || at <= q->until_ns);
}

static bool line_matches(const struct il_audit_query *q, const struct line *l)
{
	return l->seq >= q->from_seq && slice_matches(l->event, q->event) &&
	       slice_matches(l->session, q->session) &&
	       slice_matches(l->action_type, q->action_type) &&
	       slice_matches(l->verdict, q->verdict) && slice_matches(l->origin, q->origin) &&
	       time_matches(q, l->time);
}

/* Non-zero ends the query. */
static int give(struct query *q, const char *text, size_t n)
{
	auto_arena struct arena a = { 0 };
	const struct value *entry = NULL;

	if (q->wanted->limit != 0 && q->n_given >= q->wanted->limit)
		return 1;
	arena_init(&a, ARENA_MAX);
	if (value_from_json(&a, text, n, &entry, NULL) != 0)
		return -EBADMSG;
	q->n_given++;
	return q->fn(q->ctx, text, n, entry);
}

static int keep_place(struct query *q, uint64_t offset, size_t n)
{
	if (q->n_places == q->capacity) {
		size_t capacity = q->capacity ? 2 * q->capacity : 1024;
		struct place *grown = reallocarray(q->places, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		q->places = grown;
		q->capacity = capacity;
	}
	q->places[q->n_places++] = (struct place){ offset, n };
	return 0;
}

static int give_places(struct query *q, int fd)
{
	auto_buf struct buf line = BUF_INIT(IL_AUDIT_ENTRY_MAX + 1);
	int r = 0;

	for (size_t i = q->n_places; r == 0 && i-- > 0;) {
		const struct place *p = &q->places[i];
		uint8_t *room;
		size_t got;

		buf_clear(&line);
		room = buf_reserve(&line, p->n);
		if (!room)
			return buf_error(&line);
		r = segment_read_at(fd, room, p->n, p->offset, &got);
		if (r == 0 && got < p->n)
			r = -EIO;
		if (r == 0)
			r = give(q, (const char *)room, p->n);
	}
	return r;
}

static int read_segment(struct query *q, int fd)
{
	auto_reader struct reader reader = { 0 };
	int r;

	q->n_places = 0;
	reader_init(&reader, fd, 0, UINT64_MAX);
	for (;;) {
		uint64_t offset = reader.offset;
		const char *text;
		struct line l;
		size_t n;

		r = reader_next(&reader, &text, &n);
		if (r < 0)
			return r;
		if (r != 0)
			break; /* the end, or a line that is being written */
		if (line_read(text, n, &l) != 0)
			return -EBADMSG;
		if (!line_matches(q->wanted, &l))
			continue;
		r = q->wanted->newest_first ? keep_place(q, offset, n) : give(q, text, n);
		if (r != 0)
			return r;
	}
	return q->wanted->newest_first ? give_places(q, fd) : 0;
}

/* Every entry before from_seq is in an earlier segment than this one's first. */
static size_t first_segment(int dir_fd, uint64_t from_seq, const uint32_t *numbers, size_t n)
{
	size_t first = 0;

	for (size_t i = 1; from_seq > 0 && i < n; i++) {
		auto_free char *text = NULL;
		struct line l;
		size_t n_text;

		if (reader_first_line(dir_fd, numbers[i], &text, &n_text) != 0 ||
			line_read(text, n_text, &l) != 0 || l.seq > from_seq)
			break;
		first = i;
	}
	return first;
}

int il_audit_read(
	const char *dir, const struct il_audit_query *query, il_audit_entry_fn fn, void *ctx)
{
	struct query q = { .wanted = query, .fn = fn, .ctx = ctx };
	auto_close int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free uint32_t *numbers = NULL;
	size_t n = 0, first;
	int r = dir_fd < 0 ? -errno : segment_list(dir_fd, &numbers, &n);

	if (r != 0)
		return r;
	first = first_segment(dir_fd, query->from_seq, numbers, n);
	for (size_t i = first; r == 0 && i < n; i++) {
		uint32_t number = numbers[query->newest_first ? n - 1 - (i - first) : i];
		char name[SEGMENT_NAME_SIZE];
		auto_close int fd = -1;

		segment_name(number, name);
		fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		r = fd < 0 ? -errno : read_segment(&q, fd);
	}
	free(q.places);
	return r < 0 ? r : 0;
}
