/*
 * What stands beside the segments: head.json, audit.key, public.key, the stub of a prune, and what
 * the verifier brought: the kept key and the anchors.
 */
#include "audit/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "audit/reader.h"
#include "audit/segment.h"
#include "base/files.h"

#define ANCHOR_MAX ((size_t)64 << 20)

static int check_head(struct verify *v)
{
	const struct audit_checkpoint *c = &v->head.checkpoint;

	if (!v->has_head)
		return v->report->n_entries == 0 || (v->has_key_file && v->file_mark.seq == 0)
			       ? 0 /* before the first checkpoint there is no head */
			       : verify_damaged(v, IL_AUDIT_DAMAGE_REPLACEMENT, 0, "head.json",
					 "head.json is missing or cannot be read");
	if (v->has_public && !audit_signature_is_valid(v->public_key, c, v->head.signature))
		return verify_damaged(v, IL_AUDIT_DAMAGE_REPLACEMENT, 0, "head.json",
			"its signature is not this log's");
	if (c->seq > v->report->last_seq)
		return verify_damaged(v, IL_AUDIT_DAMAGE_TRUNCATION, v->report->last_seq + 1,
			"head.json", "the log ends at entry %llu, its head at %llu",
			(unsigned long long)v->report->last_seq, (unsigned long long)c->seq);
	return 0;
}

static int check_key_file(struct verify *v)
{
	if (!v->has_key_file)
		return v->has_key ? verify_damaged(v, IL_AUDIT_DAMAGE_REPLACEMENT, 0, "audit.key",
					    "audit.key is missing or cannot be read")
				  : 0;
	if (v->file_mark.seq > v->report->last_seq)
		return verify_damaged(v, IL_AUDIT_DAMAGE_TRUNCATION, v->report->last_seq + 1,
			"audit.key", "the log ends at entry %llu, its key was at %llu",
			(unsigned long long)v->report->last_seq,
			(unsigned long long)v->file_mark.seq);
	if (v->file_epoch > v->epoch + 1)
		return verify_damaged(v, IL_AUDIT_DAMAGE_TRUNCATION, v->report->last_seq + 1,
			"audit.key", "the key has gone on to epoch %llu, the log ends at %llu",
			(unsigned long long)v->file_epoch, (unsigned long long)v->epoch);
	if (v->has_key && !v->file_key_is_ours)
		return verify_damaged(v, IL_AUDIT_DAMAGE_TRUNCATION, v->report->last_seq,
			"audit.key",
			"it does not descend from your key: the log may have been cut");
	return 0;
}

int verify_sides_check(struct verify *v)
{
	int stop = 0;

	if (v->options->to_seq != 0 && v->report->last_seq >= v->options->to_seq)
		return 0; /* the end was not asked for */
	if (v->next_anchor < v->n_anchors)
		return verify_damaged(v,
			v->report->n_entries > 0 ? IL_AUDIT_DAMAGE_TRUNCATION
						 : IL_AUDIT_DAMAGE_REPLACEMENT,
			v->report->last_seq + 1, "anchor",
			"entry %llu was anchored, the log ends at %llu",
			(unsigned long long)v->anchors[v->n_anchors - 1].checkpoint.seq,
			(unsigned long long)v->report->last_seq);
	stop = check_head(v);
	return stop != 0 ? stop : check_key_file(v);
}

static int compare_anchors(const void *x, const void *y)
{
	const struct audit_head *a = x, *b = y;

	return (a->checkpoint.seq > b->checkpoint.seq) - (a->checkpoint.seq < b->checkpoint.seq);
}

static int load_anchors(struct verify *v)
{
	auto_free char *text = NULL;
	size_t n = 0, capacity = 0;
	int r;

	if (!v->options->anchor_file)
		return 0;
	r = file_read(AT_FDCWD, v->options->anchor_file, ANCHOR_MAX, &text, &n);
	for (char *line = text; r == 0 && line && *line;) {
		size_t n_line = strcspn(line, "\n");

		if (v->n_anchors == capacity) {
			struct audit_head *grown = realloc(v->anchors,
				(capacity = capacity ? 2 * capacity : 64) * sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			v->anchors = grown;
		}
		r = n_line == 0 ? 0 : head_parse(line, n_line, &v->anchors[v->n_anchors]);
		v->n_anchors += n_line > 0;
		line += n_line + (line[n_line] == '\n');
	}
	if (r == 0 && v->n_anchors > 0)
		qsort(v->anchors, v->n_anchors, sizeof(*v->anchors), compare_anchors);
	return r;
}

/* Which is the first segment to look at? The one behind the stub, or the one with from_seq. */
static int find_start(struct verify *v)
{
	auto_free uint32_t *numbers = NULL;
	uint64_t behind = v->has_stub ? v->stub.checkpoint.seq + 1 : 0;
	uint64_t from = v->options->from_seq > behind ? v->options->from_seq : behind;
	size_t n = 0;
	int r = segment_list(v->dir_fd, &numbers, &n);

	if (r != 0 || n == 0)
		return r;
	v->last_segment = numbers[n - 1];
	for (size_t i = 0; from > 0 && i < n; i++) {
		auto_free char *text = NULL;
		struct line l;
		size_t n_text;

		r = reader_first_line(v->dir_fd, numbers[i], &text, &n_text);
		if (r < 0)
			return r;
		if (r != 0 || line_read(text, n_text, &l) != 0 || l.seq > from)
			break; /* what is wrong with it is told when its turn comes */
		v->from_segment = numbers[i];
		v->is_partial = l.seq > 1 && l.seq != behind;
	}
	return 0;
}

static void load_key_file(struct verify *v)
{
	struct audit_keys keys = { .fd = -1 };
	uint8_t key[SHA256_SIZE];

	v->has_key_file = audit_keys_open(v->dir_fd, false, &keys) == 0;
	if (!v->has_key_file)
		return;
	v->file_epoch = keys.epoch;
	v->file_mark.seq = keys.at.seq;
	memcpy(v->file_mark.hash, keys.at.hash, SHA256_SIZE);
	memcpy(key, v->first_key, sizeof(key));
	/* A number that no log reached would only cost time. */
	for (uint64_t e = 0; v->has_key && e < keys.epoch && e < VERIFY_EPOCHS_MAX; e++)
		audit_ratchet(key);
	v->file_key_is_ours = memcmp(key, keys.mac, sizeof(key)) == 0;
	explicit_bzero(key, sizeof(key));
	audit_keys_done(&keys);
}

static int load_stub(struct verify *v)
{
	int r = stub_read(v->dir_fd, &v->stub);

	if (r == -ENOENT)
		return 0;
	if (r != 0 && r != -EBADMSG)
		return r;
	v->has_stub = r == 0;
	if (r != 0 || (v->has_public && !audit_signature_is_valid(v->public_key,
						&v->stub.checkpoint, v->stub.signature)))
		(void)verify_damaged(v, IL_AUDIT_DAMAGE_DELETE, 0, "pruned.json",
			"it was not signed by this log's key");
	return 0;
}

int verify_sides_load(struct verify *v)
{
	int r = load_anchors(v);

	if (r == 0 && v->options->key)
		r = audit_key_parse(v->options->key, v->first_key, v->public_key);
	if (r != 0)
		return r;
	v->has_key = v->has_public = v->options->key != NULL;
	memcpy(v->key, v->first_key, sizeof(v->key));
	if (!v->has_public)
		v->has_public = audit_public_read(v->dir_fd, v->public_key) == 0;
	v->has_head = head_read(v->dir_fd, &v->head) == 0;
	load_key_file(v);
	r = load_stub(v);
	return r != 0 ? r : find_start(v);
}
