/*
 * An entry that is sound in itself but does not continue the chain: what happened?
 */
#include "audit/verify.h"

#include <fcntl.h>
#include <string.h>

#include "audit/reader.h"
#include "audit/segment.h"

#define LOOK_AHEAD 4096u /* lines */

static const uint8_t *recent_get(const struct verify *v, uint64_t seq)
{
	if (seq == 0 || seq >= v->next_seq || v->next_seq - seq > VERIFY_RECENT)
		return NULL;
	return v->recent[seq % VERIFY_RECENT];
}

/* In this segment behind the record, or in the next: is the entry that was expected there? */
static bool is_in_segment(const struct verify *v, uint32_t segment, uint64_t after)
{
	char name[SEGMENT_NAME_SIZE];
	auto_reader struct reader reader = { .bytes = BUF_INIT(0) };
	auto_close int fd = -1;
	const char *text;
	size_t n;

	segment_name(segment, name);
	fd = openat(v->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	reader_init(&reader, fd, 0, UINT64_MAX);
	while (reader.number < after + LOOK_AHEAD && reader_next(&reader, &text, &n) == 0) {
		struct line l;

		if (reader.number > after && line_read(text, n, &l) == 0 && l.seq == v->next_seq)
			return true;
	}
	return false;
}

static int break_forward(struct verify *v, const struct stream_record *r, const char *where,
	const struct stream_record *ahead, size_t n_ahead)
{
	uint64_t seq = r->line.seq;
	bool comes_later = false;

	for (size_t i = 0; i < n_ahead && !comes_later; i++)
		comes_later = !ahead[i].is_bad && ahead[i].line.seq == v->next_seq;
	if (comes_later || is_in_segment(v, r->segment, r->line_number) ||
		is_in_segment(v, r->segment + 1, 0))
		return verify_damaged(v, IL_AUDIT_DAMAGE_REORDER, seq, where,
			"entry %llu stands before entry %llu", (unsigned long long)seq,
			(unsigned long long)v->next_seq);
	return verify_damaged(v, IL_AUDIT_DAMAGE_DELETE, v->next_seq, where,
		"entries %llu to %llu are missing", (unsigned long long)v->next_seq,
		(unsigned long long)seq - 1);
}

int verify_break(struct verify *v, const struct stream_record *r, const char *where,
	const struct stream_record *ahead, size_t n_ahead)
{
	const struct line *l = &r->line;
	const uint8_t *before = recent_get(v, l->seq - 1);

	if (l->seq > v->next_seq)
		return break_forward(v, r, where, ahead, n_ahead);
	if (l->seq == v->next_seq)
		return verify_damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq - 1, where,
			"entry %llu is not the one that entry %llu was chained to",
			(unsigned long long)l->seq - 1, (unsigned long long)l->seq);
	if (before && memcmp(before, l->previous_hash, SHA256_SIZE) == 0) {
		const uint8_t *same = recent_get(v, l->seq);

		if (slice_is(l->event, "LogOpened"))
			return verify_damaged(v, IL_AUDIT_DAMAGE_SECOND_WRITER, l->seq, where,
				"a second writer opened the log at entry %llu",
				(unsigned long long)l->seq);
		if (v->next_seq - l->seq == 1 || (same && memcmp(same, l->hash, SHA256_SIZE) == 0))
			return verify_damaged(v, IL_AUDIT_DAMAGE_INSERT, l->seq, where,
				"entry %llu is there twice", (unsigned long long)l->seq);
		return verify_damaged(v, IL_AUDIT_DAMAGE_FORK, l->seq, where,
			"the chain forks at entry %llu", (unsigned long long)l->seq);
	}
	return verify_damaged(v, IL_AUDIT_DAMAGE_INSERT, l->seq, where,
		"entry %llu does not belong here", (unsigned long long)l->seq);
}
