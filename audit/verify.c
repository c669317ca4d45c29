/*
 * Verification: the chain, every hash, and with a key every MAC; checkpoints, head and key file;
 * and, when something is wrong, what kind of damage it is. Decides only; audit/stream.c reads.
 */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/head.h"
#include "audit/keys.h"
#include "audit/mac.h"
#include "audit/merkle.h"
#include "audit/stream.h"
#include "base/exit.h"
#include "base/files.h"

#define RECENT     4096u /* hashes kept to recognise a fork or a repeated entry */
#define ANCHOR_MAX ((size_t)64 << 20)
#define STOP       1

static const char *const damage_names[] = {
	[IL_AUDIT_DAMAGE_NONE] = "none",
	[IL_AUDIT_DAMAGE_EDIT] = "edit",
	[IL_AUDIT_DAMAGE_REORDER] = "reorder",
	[IL_AUDIT_DAMAGE_INSERT] = "insert",
	[IL_AUDIT_DAMAGE_DELETE] = "delete",
	[IL_AUDIT_DAMAGE_TRUNCATION] = "tail truncation",
	[IL_AUDIT_DAMAGE_REPLACEMENT] = "replacement",
	[IL_AUDIT_DAMAGE_REWRITE] = "rewrite",
	[IL_AUDIT_DAMAGE_FORK] = "fork",
	[IL_AUDIT_DAMAGE_SECOND_WRITER] = "second writer",
	[IL_AUDIT_DAMAGE_UNREADABLE] = "unreadable",
};
_Static_assert(N_ELEMENTS(damage_names) == IL_AUDIT_DAMAGE_N_, "name every kind");

const char *il_audit_damage_name(enum il_audit_damage damage)
{
	return (unsigned)damage < IL_AUDIT_DAMAGE_N_ ? damage_names[damage] : "unknown";
}

struct verify {
	const struct il_audit_verify_options *options;
	struct il_audit_report *report;
	int dir_fd;
	uint64_t next_seq; /* 0: nothing seen yet */
	uint64_t epoch;
	uint8_t last_hash[SHA256_SIZE];
	uint8_t recent[RECENT][SHA256_SIZE]; /* by seq % RECENT */
	struct merkle merkle;
	bool merkle_known; /* from the first Checkpoint or LogOpened on */
	bool has_key;
	uint8_t first_key[SHA256_SIZE], key[SHA256_SIZE];
	uint64_t key_epoch;
	struct mac_key mac; /* of key, when mac_is_set */
	bool mac_is_set;
	bool has_public;
	uint8_t public_key[AUDIT_PUBLIC_SIZE];
	bool has_head;
	struct audit_head head;
	bool head_seen;
	struct audit_head *anchors; /* owned, by seq */
	size_t n_anchors, next_anchor;
};

static int damaged(struct verify *v, enum il_audit_damage damage, uint64_t seq, const char *where,
	const char *format, ...) PRINTF_LIKE(5, 6);

static int damaged(struct verify *v, enum il_audit_damage damage, uint64_t seq, const char *where,
	const char *format, ...)
{
	va_list args;

	v->report->status = EXIT_VERIFY_BROKEN;
	v->report->damage = damage;
	v->report->bad_seq = seq;
	(void)snprintf(v->report->where, sizeof(v->report->where), "%s",
		where); /* cut is fine: for reading */
	va_start(args, format);
	(void)vsnprintf(v->report->text, sizeof(v->report->text), format,
		args); /* cut is fine: for reading */
	va_end(args);
	return STOP;
}

static const uint8_t *recent_get(const struct verify *v, uint64_t seq)
{
	if (seq == 0 || seq >= v->next_seq || v->next_seq - seq > RECENT)
		return NULL;
	return v->recent[seq % RECENT];
}

static bool event_is(const struct line *l, const char *event)
{
	return slice_is(l->event, event);
}

/* An entry that is sound in itself but does not continue the chain: what happened? */
static int classify_break(struct verify *v, const struct stream_record *r, const char *where,
	const struct stream_record *ahead, size_t n_ahead)
{
	const struct line *l = &r->line;
	const uint8_t *before = recent_get(v, l->seq - 1);

	if (l->seq > v->next_seq) {
		for (size_t i = 0; i < n_ahead; i++) {
			if (!ahead[i].is_bad && ahead[i].line.seq == v->next_seq)
				return damaged(v, IL_AUDIT_DAMAGE_REORDER, l->seq, where,
					"entry %llu stands before entry %llu",
					(unsigned long long)l->seq,
					(unsigned long long)v->next_seq);
		}
		return damaged(v, IL_AUDIT_DAMAGE_DELETE, v->next_seq, where,
			"entries %llu to %llu are missing", (unsigned long long)v->next_seq,
			(unsigned long long)l->seq - 1);
	}
	if (l->seq == v->next_seq)
		return damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq - 1, where,
			"entry %llu is not the one that entry %llu was chained to",
			(unsigned long long)l->seq - 1, (unsigned long long)l->seq);
	if (before && memcmp(before, l->previous_hash, SHA256_SIZE) == 0) {
		const uint8_t *same = recent_get(v, l->seq);

		if (event_is(l, "LogOpened"))
			return damaged(v, IL_AUDIT_DAMAGE_SECOND_WRITER, l->seq, where,
				"a second writer opened the log at entry %llu",
				(unsigned long long)l->seq);
		if (v->next_seq - l->seq == 1 || (same && memcmp(same, l->hash, SHA256_SIZE) == 0))
			return damaged(v, IL_AUDIT_DAMAGE_INSERT, l->seq, where,
				"entry %llu is there twice", (unsigned long long)l->seq);
		return damaged(v, IL_AUDIT_DAMAGE_FORK, l->seq, where,
			"the chain forks at entry %llu", (unsigned long long)l->seq);
	}
	return damaged(v, IL_AUDIT_DAMAGE_INSERT, l->seq, where, "entry %llu does not belong here",
		(unsigned long long)l->seq);
}

/* The MAC of one entry; keys of passed epochs are derived and forgotten as the log goes on. */
static int check_mac(struct verify *v, const struct line *l, const char *where)
{
	uint8_t mac[SHA256_SIZE];

	if (l->epoch < v->epoch)
		return damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"the epoch of entry %llu runs backwards", (unsigned long long)l->seq);
	if (l->epoch > v->epoch + 1)
		return damaged(v, IL_AUDIT_DAMAGE_TRUNCATION, l->seq, where,
			"between entries %llu and %llu others were cut away: the key went on without them",
			(unsigned long long)l->seq - 1, (unsigned long long)l->seq);
	v->epoch = l->epoch;
	if (!v->has_key)
		return 0;
	for (; v->key_epoch < l->epoch; v->key_epoch++) {
		audit_ratchet(v->key);
		v->mac_is_set = false;
	}
	if (!v->mac_is_set)
		mac_key_init(&v->mac, v->key);
	v->mac_is_set = true;
	mac_compute(&v->mac, l->computed, mac);
	if (memcmp(mac, l->mac, SHA256_SIZE) == 0)
		return 0;
	return damaged(v,
		l->seq == v->report->first_seq ? IL_AUDIT_DAMAGE_REPLACEMENT
					       : IL_AUDIT_DAMAGE_REWRITE,
		l->seq, where, "entry %llu was not written with this log's key",
		(unsigned long long)l->seq);
}

static int check_checkpoint(struct verify *v, const struct line *l, const char *where)
{
	struct audit_head head;
	uint8_t root[SHA256_SIZE];

	if (!l->details.at || head_parse(l->details.at, l->details.n, &head) != 0)
		return damaged(
			v, IL_AUDIT_DAMAGE_EDIT, l->seq, where, "the checkpoint cannot be read");
	if (head.checkpoint.seq + 1 != l->seq ||
		memcmp(head.checkpoint.hash, l->previous_hash, SHA256_SIZE) != 0)
		return damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"the checkpoint names another entry");
	merkle_root(&v->merkle, root);
	if (v->merkle_known && memcmp(root, head.checkpoint.root, SHA256_SIZE) != 0)
		return damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"the checkpoint's root differs from its entries");
	if (v->has_public &&
		!audit_signature_is_valid(v->public_key, &head.checkpoint, head.signature))
		return damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"the checkpoint's signature is not this log's");
	return 0;
}

static int check_marks(struct verify *v, const struct line *l, const char *where)
{
	if (v->has_head && v->head.checkpoint.seq == l->seq) {
		v->head_seen = true;
		if (memcmp(v->head.checkpoint.hash, l->hash, SHA256_SIZE) != 0)
			return damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
				"entry %llu is not the one that head.json names",
				(unsigned long long)l->seq);
	}
	while (v->next_anchor < v->n_anchors &&
		v->anchors[v->next_anchor].checkpoint.seq <= l->seq) {
		const struct audit_checkpoint *c = &v->anchors[v->next_anchor++].checkpoint;

		if (c->seq == l->seq && memcmp(c->hash, l->hash, SHA256_SIZE) != 0)
			return damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
				"entry %llu is not the one that was anchored",
				(unsigned long long)l->seq);
	}
	return 0;
}

static int check_first(struct verify *v, const struct line *l, const char *where)
{
	static const uint8_t none[SHA256_SIZE];

	if (v->next_seq != 0)
		return 0;
	v->report->first_seq = l->seq;
	v->next_seq = l->seq;
	if (l->seq == 1 && memcmp(l->previous_hash, none, SHA256_SIZE) == 0)
		return 0;
	return damaged(v, IL_AUDIT_DAMAGE_DELETE, 1, where, "the log begins with entry %llu",
		(unsigned long long)l->seq);
}

static void accept(struct verify *v, const struct line *l)
{
	memcpy(v->last_hash, l->hash, SHA256_SIZE);
	memcpy(v->recent[l->seq % RECENT], l->hash, SHA256_SIZE);
	v->next_seq = l->seq + 1;
	v->report->last_seq = l->seq;
	v->report->n_entries++;
	if (event_is(l, "Checkpoint") || event_is(l, "LogOpened")) {
		merkle_init(&v->merkle);
		v->merkle_known = true;
	}
	merkle_add(&v->merkle, l->hash);
}

static int on_record(
	void *ctx, const struct stream_record *r, const struct stream_record *ahead, size_t n_ahead)
{
	struct verify *v = ctx;
	const struct line *l = &r->line;
	char where[64];
	int stop;

	(void)snprintf(where, sizeof(where), "%08u.jsonl:%llu", r->segment,
		(unsigned long long)r->line_number);
	if (r->is_bad)
		return damaged(v, IL_AUDIT_DAMAGE_EDIT, v->next_seq, where,
			"this is no entry in canonical form");
	if (memcmp(l->hash, l->computed, SHA256_SIZE) != 0)
		return damaged(v, IL_AUDIT_DAMAGE_EDIT, l->seq, where,
			"entry %llu differs from its hash", (unsigned long long)l->seq);
	if (v->options->to_seq != 0 && l->seq > v->options->to_seq)
		return STOP;
	stop = check_first(v, l, where);
	if (stop == 0 &&
		(l->seq != v->next_seq || memcmp(l->previous_hash, v->last_hash, SHA256_SIZE) != 0))
		stop = classify_break(v, r, where, ahead, n_ahead);
	if (stop == 0)
		stop = check_mac(v, l, where);
	if (stop == 0 && event_is(l, "Checkpoint"))
		stop = check_checkpoint(v, l, where);
	if (stop == 0)
		stop = check_marks(v, l, where);
	if (stop == 0)
		accept(v, l);
	return stop;
}

/* ---- what stands beside the log ---- */

static int check_head(struct verify *v)
{
	const struct audit_checkpoint *c = &v->head.checkpoint;

	if (!v->has_head)
		return v->report->n_entries == 0
			       ? 0
			       : damaged(v, IL_AUDIT_DAMAGE_REPLACEMENT, 0, "head.json",
					 "head.json is missing or cannot be read");
	if (v->has_public && !audit_signature_is_valid(v->public_key, c, v->head.signature))
		return damaged(v, IL_AUDIT_DAMAGE_REPLACEMENT, 0, "head.json",
			"its signature is not this log's");
	if (c->seq > v->report->last_seq)
		return damaged(v, IL_AUDIT_DAMAGE_TRUNCATION, v->report->last_seq + 1, "head.json",
			"the log ends at entry %llu, its head at %llu",
			(unsigned long long)v->report->last_seq, (unsigned long long)c->seq);
	return 0;
}

static int check_key_file(struct verify *v)
{
	struct audit_keys keys = { .fd = -1 };
	int r = audit_keys_open(v->dir_fd, false, &keys);
	int stop = 0;

	if (r != 0) {
		if (v->has_key)
			stop = damaged(v, IL_AUDIT_DAMAGE_REPLACEMENT, 0, "audit.key",
				"audit.key is missing or cannot be read");
		return stop;
	}
	if (keys.epoch > v->epoch) {
		stop = damaged(v, IL_AUDIT_DAMAGE_TRUNCATION, v->report->last_seq + 1, "audit.key",
			"the key has gone on to epoch %llu, the log ends at %llu",
			(unsigned long long)keys.epoch, (unsigned long long)v->epoch);
	} else if (v->has_key) {
		uint8_t key[SHA256_SIZE];

		memcpy(key, v->first_key, sizeof(key));
		for (uint64_t e = 0; e < keys.epoch; e++)
			audit_ratchet(key);
		if (memcmp(key, keys.mac, sizeof(key)) != 0)
			stop = damaged(v, IL_AUDIT_DAMAGE_REPLACEMENT, 0, "audit.key",
				"it does not descend from your key");
		explicit_bzero(key, sizeof(key));
	}
	audit_keys_done(&keys);
	return stop;
}

static int check_end(struct verify *v)
{
	int stop = 0;

	if (v->options->to_seq != 0 && v->report->last_seq >= v->options->to_seq)
		return 0; /* the end was not asked for */
	if (v->next_anchor < v->n_anchors)
		return damaged(v,
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

static int prepare(struct verify *v)
{
	int r = load_anchors(v);

	if (r != 0)
		return r;
	v->has_head = head_read(v->dir_fd, &v->head) == 0;
	v->has_public = audit_public_read(v->dir_fd, v->public_key) == 0;
	if (!v->options->key)
		return 0;
	r = audit_key_parse(v->options->key, v->first_key, v->public_key);
	memcpy(v->key, v->first_key, sizeof(v->key));
	v->has_key = v->has_public = r == 0;
	return r;
}

static void conclude(struct verify *v, int walked, uint32_t segment)
{
	struct il_audit_report *report = v->report;
	char where[64];

	(void)snprintf(where, sizeof(where), "%08u.jsonl", segment);
	if (walked == STREAM_E_GAP)
		(void)damaged(v, IL_AUDIT_DAMAGE_DELETE, v->next_seq, where,
			"the segment before it is missing");
	if (report->status == EXIT_VERIFY_BROKEN || check_end(v) != 0)
		return;
	if (report->n_entries == 0) {
		if (report->anchored)
			(void)damaged(
				v, IL_AUDIT_DAMAGE_REPLACEMENT, 1, "the log", "there is no entry");
		else {
			report->status = EXIT_VERIFY_CANNOT_TELL;
			(void)snprintf(
				report->text, sizeof(report->text), "there is no entry to verify");
		}
		return;
	}
	(void)snprintf(report->text, sizeof(report->text), "%s",
		report->anchored ? "intact" : "consistent, not anchored");
}

static int verify_open(struct verify *v, const struct il_audit_verify_options *o)
{
	v->dir_fd = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return v->dir_fd < 0 ? -errno : prepare(v);
}

int il_audit_verify(const struct il_audit_verify_options *o, struct il_audit_report *ret_report)
{
	struct il_audit_report report = { .status = EXIT_VERIFY_INTACT,
		.unratcheted_window_ms = 1000 };
	struct verify *v;
	uint32_t segment = 0;
	int r;

	if (o->reference_format)
		return -EOPNOTSUPP;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->options = o;
	v->report = &report;
	v->dir_fd = -1;
	r = verify_open(v, o);
	report.anchored = v->has_key || v->n_anchors > 0;
	if (r == 0) {
		struct stream_options so = { .dir_fd = v->dir_fd, .threads = o->threads };

		r = stream_walk(&so, on_record, v, &segment);
		/* A torn last line is what a crash leaves and the next opening cuts: no damage. */
		if (r >= 0) {
			conclude(v,
				report.status == EXIT_VERIFY_BROKEN ? 0
								    : (r == STREAM_E_TORN ? 0 : r),
				segment);
			r = 0;
		}
	}
	cleanup_close(&v->dir_fd);
	free(v->anchors);
	explicit_bzero(v, sizeof(*v));
	free(v);
	if (r == 0)
		*ret_report = report;
	return r;
}
