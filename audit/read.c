#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/segment.h"
#include "base/cleanup.h"

/* One line that is kept until its turn comes, for newest first. */
struct kept {
	char *text; /* owned */
	size_t n;
};

struct reader {
	const struct il_audit_query *query;
	il_audit_entry_fn fn;
	void *ctx;
	uint64_t n_given;
	struct kept *ring; /* owned; the last `limit` matches */
	size_t ring_size, n_ring, at;
};

static bool text_matches(const struct value *entry, const char *key, const char *wanted)
{
	const char *text = value_get_text(entry, key);

	return !wanted || (text && strcmp(text, wanted) == 0);
}

static bool entry_matches(const struct il_audit_query *q, const struct value *entry)
{
	const struct value *seq = value_get(entry, "seq");
	const char *time = value_get_text(entry, "time");
	int64_t at = 0;

	if (!seq || seq->kind != VALUE_INT || (uint64_t)seq->integer < q->from_seq)
		return false;
	if ((q->since_ns != 0 || q->until_ns != 0) && (!time || rfc3339_parse(time, &at) != 0))
		return false;
	if ((q->since_ns != 0 && at < q->since_ns) || (q->until_ns != 0 && at > q->until_ns))
		return false;
	return text_matches(entry, "session", q->session) &&
	       text_matches(entry, "event", q->event) &&
	       text_matches(entry, "action_type", q->action_type) &&
	       text_matches(entry, "verdict", q->verdict) &&
	       text_matches(entry, "origin", q->origin);
}

/* Keeps the line as the newest, dropping the oldest when the ring is full. */
static int keep(struct reader *r, const char *line, size_t n)
{
	char *copy = strndup(line, n);

	if (!copy)
		return -ENOMEM;
	if (r->query->limit == 0 && r->n_ring == r->ring_size) {
		size_t size = r->ring_size ? 2 * r->ring_size : 256;
		struct kept *grown = realloc(r->ring, size * sizeof(*grown));

		if (!grown) {
			free(copy);
			return -ENOMEM;
		}
		r->ring = grown;
		r->ring_size = size;
		r->at = r->n_ring;
	}
	if (r->n_ring == r->ring_size)
		free(r->ring[r->at].text);
	else
		r->n_ring++;
	r->ring[r->at] = (struct kept){ .text = copy, .n = n };
	r->at = (r->at + 1) % r->ring_size;
	return 0;
}

static int give(struct reader *r, const char *line, size_t n)
{
	auto_arena struct arena a;
	const struct value *entry;
	struct diag diag;

	arena_init(&a, 32 * (size_t)IL_AUDIT_ENTRY_MAX);
	if (value_from_json(&a, line, n, &entry, &diag) != 0)
		return -EBADMSG;
	if (!entry_matches(r->query, entry))
		return 0;
	if (r->query->newest_first)
		return keep(r, line, n);
	if (r->query->limit != 0 && r->n_given >= r->query->limit)
		return 1;
	r->n_given++;
	return r->fn(r->ctx, line, n, entry);
}

static int read_segment(struct reader *r, int fd)
{
	auto_fclose FILE *file = fdopen(dup(fd), "r");
	auto_free char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!file)
		return -errno;
	while ((n = getline(&line, &size, file)) > 0) {
		int stop;

		if (line[n - 1] != '\n')
			return 0; /* being written, or torn: not an entry */
		stop = give(r, line, (size_t)n - 1);
		if (stop != 0)
			return stop;
	}
	return ferror(file) ? -EIO : 0;
}

static int give_kept(struct reader *r)
{
	for (size_t i = 0; i < r->n_ring; i++) {
		const struct kept *k = &r->ring[(r->at + r->ring_size - 1 - i) % r->ring_size];
		auto_arena struct arena a;
		const struct value *entry;
		struct diag diag;
		int stop;

		arena_init(&a, 32 * (size_t)IL_AUDIT_ENTRY_MAX);
		stop = value_from_json(&a, k->text, k->n, &entry, &diag);
		if (stop == 0)
			stop = r->fn(r->ctx, k->text, k->n, entry);
		if (stop != 0)
			return stop;
	}
	return 0;
}

int il_audit_read(
	const char *dir, const struct il_audit_query *query, il_audit_entry_fn fn, void *ctx)
{
	struct reader r = { .query = query,
		.fn = fn,
		.ctx = ctx,
		.ring_size = query->newest_first ? query->limit : 0 };
	auto_close int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free uint32_t *numbers = NULL;
	size_t n = 0;
	int stop = dir_fd < 0 ? -errno : segment_list(dir_fd, &numbers, &n);

	if (stop == 0 && r.ring_size > 0) {
		r.ring = calloc(r.ring_size, sizeof(*r.ring));
		stop = r.ring ? 0 : -ENOMEM;
	}
	for (size_t i = 0; stop == 0 && i < n; i++) {
		char name[SEGMENT_NAME_SIZE];
		auto_close int fd = -1;

		segment_name(numbers[i], name);
		fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		stop = fd < 0 ? -errno : read_segment(&r, fd);
	}
	if (stop == 0 && query->newest_first)
		stop = give_kept(&r);
	for (size_t i = 0; i < r.n_ring; i++)
		free(r.ring[i].text);
	free(r.ring);
	return stop < 0 ? stop : 0;
}
