/*
 * Verification: the chain, every hash, and with a key every MAC; checkpoints, head and key file;
 * and, when something is wrong, what kind of damage it is. Decides only; audit/stream.c reads.
 */
#include "audit/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/exit.h"

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

int verify_damaged(struct verify *v, enum il_audit_damage damage, uint64_t seq, const char *where,
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
	return VERIFY_STOP;
}

static bool event_is(const struct line *l, const char *event)
{
	return slice_is(l->event, event);
}

/* The MAC of one entry; keys of passed epochs are derived and forgotten as the log goes on. */
static int check_mac(struct verify *v, const struct line *l, const char *where)
{
	uint8_t mac[SHA256_SIZE];

	if (l->epoch < v->epoch)
		return verify_damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"the epoch of entry %llu runs backwards", (unsigned long long)l->seq);
	if (l->epoch > v->epoch + (v->report->n_entries > 0 || v->has_stub ? 1 : 0))
		return verify_damaged(v, IL_AUDIT_DAMAGE_TRUNCATION, l->seq, where,
			"between entries %llu and %llu others were cut away: the key went on "
			"without them",
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
#ifdef MUTATION_AUDIT_MAC
	return 0;
#endif
	if (memcmp(mac, l->mac, SHA256_SIZE) == 0)
		return 0;
	return verify_damaged(v,
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
		return verify_damaged(
			v, IL_AUDIT_DAMAGE_EDIT, l->seq, where, "the checkpoint cannot be read");
	if (head.checkpoint.seq + 1 != l->seq ||
		memcmp(head.checkpoint.hash, l->previous_hash, SHA256_SIZE) != 0)
		return verify_damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"the checkpoint names another entry");
	merkle_root(&v->merkle, root);
	if (v->merkle_known && memcmp(root, head.checkpoint.root, SHA256_SIZE) != 0)
		return verify_damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"the checkpoint's root differs from its entries");
	if (v->has_public &&
		!audit_signature_is_valid(v->public_key, &head.checkpoint, head.signature))
		return verify_damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"the checkpoint's signature is not this log's");
	return 0;
}

static int check_mark(struct verify *v, const struct line *l, const struct mark *mark,
	const char *where, const char *who)
{
	if (mark->seq != l->seq || memcmp(mark->hash, l->hash, SHA256_SIZE) == 0)
		return 0;
	return verify_damaged(v, IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
		"entry %llu is not the one that %s names", (unsigned long long)l->seq, who);
}

static int check_anchors(struct verify *v, const struct line *l, const char *where)
{
	while (v->next_anchor < v->n_anchors &&
		v->anchors[v->next_anchor].checkpoint.seq <= l->seq) {
		const struct audit_checkpoint *c = &v->anchors[v->next_anchor++].checkpoint;

#ifdef MUTATION_AUDIT_ANCHOR
		continue;
#endif
		if (c->seq != l->seq || memcmp(c->hash, l->hash, SHA256_SIZE) == 0)
			continue;
		/* Rightly authenticated and yet another story: both were written by the log's keys.
		 */
		return verify_damaged(v,
			v->has_key ? IL_AUDIT_DAMAGE_FORK : IL_AUDIT_DAMAGE_REWRITE, l->seq, where,
			"entry %llu is not the one that was anchored", (unsigned long long)l->seq);
	}
	return 0;
}

static int check_marks(struct verify *v, const struct line *l, const char *where)
{
	struct mark head = { .seq = v->has_head ? v->head.checkpoint.seq : 0 };
	int stop;

	memcpy(head.hash, v->head.checkpoint.hash, SHA256_SIZE);
	stop = check_mark(v, l, &head, where, "head.json");
	if (stop == 0)
		stop = check_mark(v, l, &v->file_mark, where, "audit.key");
	return stop != 0 ? stop : check_anchors(v, l, where);
}

/* Where a log begins: at its first entry, behind its stub, or where it was asked to. */
static int check_first(struct verify *v, const struct line *l, const char *where)
{
	const struct audit_checkpoint *stub = &v->stub.checkpoint;

	if (v->next_seq != 0)
		return 0;
	v->report->first_seq = l->seq;
	if (v->is_partial) {
		v->next_seq = l->seq;
		memcpy(v->last_hash, l->previous_hash, SHA256_SIZE);
		v->epoch = l->epoch;
		return 0;
	}
	v->next_seq = v->has_stub ? stub->seq + 1 : 1;
	if (v->has_stub) {
		memcpy(v->last_hash, stub->hash, SHA256_SIZE);
		v->epoch = stub->epoch;
		merkle_init(&v->merkle);
		merkle_add(&v->merkle, stub->hash);
		v->merkle_known = true;
	}
	if (l->seq > v->next_seq)
		return verify_damaged(v, IL_AUDIT_DAMAGE_DELETE, v->next_seq, where,
			"the log begins with entry %llu", (unsigned long long)l->seq);
	return 0;
}

/*
 * Bytes that are no entry, behind the last checkpoint and at the very end: what a cut of the power
 * leaves of a group that nobody was told about. The next opening cuts and records it.
 */
static bool is_unfinished(const struct verify *v, const struct stream_record *r,
	const struct stream_record *ahead, size_t n_ahead)
{
	if (!r->is_bad || r->segment != v->last_segment || !v->has_key_file ||
		v->file_mark.seq >= v->next_seq ||
		(v->has_head && v->head.checkpoint.seq >= v->next_seq))
		return false;
	for (size_t i = 0; i < n_ahead; i++) {
		if (!ahead[i].is_bad && ahead[i].line.epoch > v->epoch + 1)
			return false;
	}
	return true;
}

static void accept(struct verify *v, const struct line *l)
{
	memcpy(v->last_hash, l->hash, SHA256_SIZE);
	memcpy(v->recent[l->seq % VERIFY_RECENT], l->hash, SHA256_SIZE);
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
	if (is_unfinished(v, r, ahead, n_ahead)) {
		v->is_torn = true;
		return VERIFY_STOP;
	}
	if (r->is_bad)
		return verify_damaged(v, IL_AUDIT_DAMAGE_EDIT, v->next_seq, where,
			"this is no entry in canonical form");
#ifndef MUTATION_AUDIT_HASH
	if (memcmp(l->hash, l->computed, SHA256_SIZE) != 0)
		return verify_damaged(v, IL_AUDIT_DAMAGE_EDIT, l->seq, where,
			"entry %llu differs from its hash", (unsigned long long)l->seq);
#endif
	if (v->options->to_seq != 0 && l->seq > v->options->to_seq)
		return VERIFY_STOP;
	stop = check_first(v, l, where);
	if (stop == 0 &&
		(l->seq != v->next_seq || memcmp(l->previous_hash, v->last_hash, SHA256_SIZE) != 0))
		stop = verify_break(v, r, where, ahead, n_ahead);
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

static void conclude(struct verify *v, int walked, uint32_t segment)
{
	struct il_audit_report *report = v->report;
	char where[64];

	(void)snprintf(where, sizeof(where), "%08u.jsonl", segment);
	if (walked == STREAM_E_GAP)
		(void)verify_damaged(v, IL_AUDIT_DAMAGE_DELETE, v->next_seq, where,
			"the segment before it is missing");
	if (report->status == EXIT_VERIFY_BROKEN || verify_sides_check(v) != 0)
		return;
	if (report->n_entries == 0) {
		if (report->anchored)
			(void)verify_damaged(
				v, IL_AUDIT_DAMAGE_REPLACEMENT, 1, "the log", "there is no entry");
		else {
			report->status = EXIT_VERIFY_CANNOT_TELL;
			(void)snprintf(
				report->text, sizeof(report->text), "there is no entry to verify");
		}
		return;
	}
	/* The keys of everything up to the last checkpoint are gone; behind it one second at most.
	 */
	if (!v->has_key_file || v->file_mark.seq != report->last_seq)
		report->unratcheted_window_ms = VERIFY_WINDOW_MS;
	(void)snprintf(report->text, sizeof(report->text), "%s%s%s",
		report->anchored ? "intact" : "consistent, not anchored",
		v->is_torn ? ", with an unfinished end that the next start cuts" : "",
		v->has_stub && !v->is_partial ? ", pruned before its first entry" : "");
}

static int verify_open(struct verify *v, const struct il_audit_verify_options *o)
{
	v->dir_fd = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return v->dir_fd < 0 ? -errno : verify_sides_load(v);
}

int il_audit_verify(const struct il_audit_verify_options *o, struct il_audit_report *ret_report)
{
	struct il_audit_report report = { .status = EXIT_VERIFY_INTACT };
	struct verify *v;
	uint32_t segment = 0;
	int r;

	if (o->reference_format)
		return verify_reference(o, ret_report);
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->options = o;
	v->report = &report;
	v->dir_fd = -1;
	r = verify_open(v, o);
	report.anchored = v->has_key || v->n_anchors > 0;
	if (r == 0 && report.status == EXIT_VERIFY_INTACT) {
		struct stream_options so = {
			.dir_fd = v->dir_fd, .threads = o->threads, .from_segment = v->from_segment
		};

		r = stream_walk(&so, on_record, v, &segment);
		/* A torn last line is what a crash leaves and the next opening cuts: no damage. */
		if (r >= 0) {
			v->is_torn = v->is_torn || r == STREAM_E_TORN;
			conclude(v, report.status != EXIT_VERIFY_BROKEN && !v->is_torn ? r : 0,
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
