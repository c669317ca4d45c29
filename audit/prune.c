#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/head.h"
#include "audit/keys.h"
#include "audit/line.h"
#include "audit/log.h"
#include "audit/reader.h"
#include "audit/segment.h"

/* The first entry of a segment. */
struct first {
	uint64_t seq, epoch;
	uint8_t previous_hash[SHA256_SIZE];
	int64_t wall_ns;
};

static int read_first(int dir_fd, uint32_t segment, struct first *ret_first)
{
	auto_free char *text = NULL;
	char time[RFC3339_SIZE] = "";
	struct line l;
	size_t n;
	int r = reader_first_line(dir_fd, segment, &text, &n);

	if (r != 0)
		return r < 0 ? r : -ENODATA;
	if (line_read(text, n, &l) != 0 || l.time.n >= sizeof(time))
		return -EBADMSG;
	memcpy(time, l.time.at, l.time.n);
	if (rfc3339_parse(time, &ret_first->wall_ns) != 0)
		return -EBADMSG;
	ret_first->seq = l.seq;
	ret_first->epoch = l.epoch;
	memcpy(ret_first->previous_hash, l.previous_hash, SHA256_SIZE);
	return 0;
}

/* The first segment that stays: all before it are older than before_ns to their last entry. */
static int find_kept(int dir_fd, int64_t before_ns, const uint32_t *numbers, size_t n,
	size_t *ret_kept, struct first *ret_first)
{
	*ret_kept = 0;
	for (size_t i = 1; i < n; i++) {
		struct first first;
		int r = read_first(dir_fd, numbers[i], &first);

		if (r == -ENODATA)
			return 0; /* begun, and nothing in it yet */
		if (r != 0)
			return r;
		/* Time may run backwards: the first that is too young ends it. */
		if (first.wall_ns > before_ns)
			return 0;
		*ret_kept = i;
		*ret_first = first;
	}
	return 0;
}

static int write_stub(struct il_audit *log, const struct first *kept)
{
	struct audit_head stub = { .checkpoint = { .seq = kept->seq - 1, .epoch = kept->epoch } };

	memcpy(stub.checkpoint.hash, kept->previous_hash, SHA256_SIZE);
	stub_mark(&stub.checkpoint);
	audit_sign(&log->keys, &stub.checkpoint, stub.signature);
	return stub_write(log->dir_fd, &stub);
}

static int record_prune(struct il_audit *log, uint64_t through, size_t n_segments)
{
	auto_arena struct arena a = { 0 };
	struct il_audit_entry entry = { .event = "LogPruned", .origin = "audit" };
	struct value *details;

	arena_init(&a, 4096);
	details = value_map(&a, 2);
	if (value_put(details, "segments", value_int(&a, (int64_t)n_segments)) != 0 ||
		value_put(details, "through", value_int(&a, (int64_t)through)) != 0)
		return -ENOMEM;
	entry.details = details;
	return il_audit_append_wait(log, &entry, NULL);
}

/* The record of it and the stub first, then the files from the oldest on: a crash leaves a log that
 * verifies. */
static int prune(struct il_audit *log, int64_t before_ns, uint64_t *ret_through)
{
	auto_free uint32_t *numbers = NULL;
	struct first first = { 0 };
	size_t n = 0, kept = 0;
	int r = segment_list(log->dir_fd, &numbers, &n);

	*ret_through = 0;
	if (r == 0)
		r = find_kept(log->dir_fd, before_ns, numbers, n, &kept, &first);
	if (r != 0 || kept == 0)
		return r;
	r = record_prune(log, first.seq - 1, kept);
	if (r == 0)
		r = write_stub(log, &first);
	for (size_t i = 0; r == 0 && i < kept; i++) {
		char name[SEGMENT_NAME_SIZE];

		segment_name(numbers[i], name);
		if (unlinkat(log->dir_fd, name, 0) < 0)
			r = -errno;
	}
	if (r == 0 && fsync(log->dir_fd) < 0)
		r = -errno;
	if (r == 0)
		*ret_through = first.seq - 1;
	return r;
}

int il_audit_prune(
	const char *dir, int64_t before_ns, uint64_t *ret_through, struct diag *reterr_diag)
{
	struct il_audit_options o = { .dir = dir };
	struct il_audit_verify_options check = { .dir = dir };
	struct il_audit_report report;
	struct il_audit *log;
	int r = il_audit_open(&o, &log, reterr_diag);

	if (r != 0)
		return r;
	r = il_audit_verify(&check, &report);
	if (r == 0 && report.status != 0)
		r = diag_set(reterr_diag, IL_AUDIT_E_BROKEN, 0, 0, "a broken log is not pruned: %s",
			report.text);
	if (r == 0)
		r = prune(log, before_ns, ret_through);
	il_audit_close(log);
	return r;
}
