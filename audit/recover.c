#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "audit/reader.h"
#include "audit/segment.h"

struct recovery {
	struct il_audit *log;
	struct diag *diag;
	bool has_followed; /* an entry of the epoch of log->keys was seen */
	uint64_t n_cut;
	uint8_t cut_hash[SHA256_SIZE];
};

static int broken(struct recovery *rec, const char *what, uint64_t seq)
{
	return diag_set(rec->diag, IL_AUDIT_E_BROKEN, 0, 0, "%s at entry %llu", what,
		(unsigned long long)seq);
}

/* An entry behind the last checkpoint: it must continue the chain under the keys that follow. */
static int follow_line(struct recovery *rec, const struct line *l)
{
	struct il_audit *log = rec->log;
	uint8_t mac[SHA256_SIZE];

	if (memcmp(l->hash, l->computed, SHA256_SIZE) != 0)
		return broken(rec, "an entry differs from its hash", l->seq);
	if (l->seq != log->chain.seq ||
		memcmp(l->previous_hash, log->chain.previous_hash, SHA256_SIZE) != 0)
		return broken(rec, "the chain is broken", log->chain.seq);
	if (l->epoch < log->keys.epoch ||
		l->epoch - log->keys.epoch > (rec->has_followed ? 1u : 0u))
		return broken(rec, "entries are missing", l->seq);
	if (l->epoch > log->keys.epoch)
		audit_keys_step(&log->keys);
	rec->has_followed = true;
	hmac_sha256(log->keys.mac, SHA256_SIZE, l->hash, SHA256_SIZE, mac);
	if (memcmp(mac, l->mac, SHA256_SIZE) != 0)
		return broken(rec, "an entry was not written with this log's key", l->seq);
	log->chain.seq++;
	memcpy(log->chain.previous_hash, l->hash, SHA256_SIZE);
	return 0;
}

/*
 * What follows an unreadable line may be of the same unfinished group. An entry of a later group
 * means that the line was once whole and acknowledged: that is damage, not a crash.
 */
static int check_rest(struct recovery *rec, int fd, uint64_t from, uint64_t size)
{
	auto_reader struct reader reader = { 0 };
	const char *text;
	size_t n;
	int r;

	reader_init(&reader, fd, from, size);
#ifdef MUTATION_AUDIT_TAIL
	return 0;
#endif
	for (;;) {
		struct line l;

		r = reader_next(&reader, &text, &n);
		if (r != 0)
			return r < 0 ? r : 0;
		if (line_read(text, n, &l) == 0 &&
			l.epoch > rec->log->keys.epoch + (rec->has_followed ? 1 : 0))
			return broken(rec, "an entry cannot be read", rec->log->chain.seq);
	}
}

static int hash_rest(struct recovery *rec, int fd, uint64_t from)
{
	if (lseek(fd, (off_t)from, SEEK_SET) < 0)
		return -errno;
	return sha256_fd(fd, rec->cut_hash);
}

static int cut(struct recovery *rec, int fd, uint64_t from, uint64_t size)
{
	int r = check_rest(rec, fd, from, size);

	if (r == 0)
		r = hash_rest(rec, fd, from);
	if (r != 0)
		return r;
	if (ftruncate(fd, (off_t)from) < 0 || fdatasync(fd) < 0)
		return -errno;
	rec->n_cut = size - from;
	return 0;
}

/* From `offset` to the end of a segment; only the last one may end unfinished. */
static int follow_segment(struct recovery *rec, int fd, uint64_t offset, bool is_last)
{
	auto_reader struct reader reader = { .bytes = BUF_INIT(0) };
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < offset)
		return broken(rec, "the log ends before its last checkpoint: entries are missing",
			rec->log->keys.at.seq);
	reader_init(&reader, fd, offset, (uint64_t)st.st_size);
	for (;;) {
		uint64_t before = reader.offset;
		const char *text;
		struct line l;
		size_t n;

		r = reader_next(&reader, &text, &n);
		if (r == 0 && line_read(text, n, &l) == 0) {
			r = follow_line(rec, &l);
			if (r != 0)
				return r;
			continue;
		}
		if (r < 0)
			return r;
		rec->log->segment_size = before;
		if (r == READER_E_END)
			return 0;
		if (!is_last)
			return broken(rec, "an entry cannot be read", rec->log->chain.seq);
		return cut(rec, fd, before, (uint64_t)st.st_size);
	}
}

/* The entry that ends where the key file says must be the one that it names. */
static int check_place(struct recovery *rec, int fd)
{
	const struct audit_place *at = &rec->log->keys.at;
	char bytes[4096];
	uint64_t from = at->offset > sizeof(bytes) ? at->offset - sizeof(bytes) : 0;
	size_t n, start;
	struct line l;
	int r;

	if (at->seq == 0)
		return 0;
	r = segment_read_at(fd, bytes, (size_t)(at->offset - from), from, &n);
	if (r != 0)
		return r;
	if (n < at->offset - from)
		return broken(rec, "the log ends before its last checkpoint: entries are missing",
			at->seq);
	if (n < 2 || bytes[n - 1] != '\n')
		return broken(rec, "the last checkpoint is not where it was", at->seq);
	for (start = n - 1; start > 0 && bytes[start - 1] != '\n'; start--)
		;
	if (line_read(bytes + start, n - 1 - start, &l) != 0 || l.seq != at->seq ||
		memcmp(l.hash, at->hash, SHA256_SIZE) != 0 ||
		memcmp(l.computed, at->hash, SHA256_SIZE) != 0)
		return broken(rec, "the last checkpoint is not the one that was written", at->seq);
	return 0;
}

static int follow_all(struct recovery *rec, uint32_t last)
{
	struct il_audit *log = rec->log;

	for (uint32_t number = log->keys.at.segment; number <= last; number++) {
		uint64_t offset = number == log->keys.at.segment ? log->keys.at.offset : 0;
		int r;

		cleanup_close(&log->segment_fd);
		r = segment_open(log->dir_fd, number, &log->segment_fd);
		if (r == 0 && number == log->keys.at.segment)
			r = check_place(rec, log->segment_fd);
		if (r == 0)
			r = follow_segment(rec, log->segment_fd, offset, number == last);
		if (r != 0)
			return r;
		log->segment = number;
	}
	return 0;
}

static int check_head(struct recovery *rec)
{
	struct audit_head head;
	int r = head_read(rec->log->dir_fd, &head);

	if (r == -ENOENT && rec->log->keys.at.seq == 0)
		return 0; /* a crash before the first checkpoint */
	if (r != 0)
		return diag_set(rec->diag, IL_AUDIT_E_BROKEN, 0, 0, "head.json cannot be read");
	if (head.checkpoint.seq >= rec->log->chain.seq)
		return diag_set(rec->diag, IL_AUDIT_E_BROKEN, 0, 0,
			"the log ends at entry %llu, its head at %llu: entries are missing",
			(unsigned long long)rec->log->chain.seq - 1,
			(unsigned long long)head.checkpoint.seq);
	return 0;
}

static int record_cut(struct recovery *rec)
{
	auto_arena struct arena a = { 0 };
	char hex[SHA256_HEX_SIZE];
	struct value *details;

	arena_init(&a, 4096);
	hex_encode(rec->cut_hash, SHA256_SIZE, hex);
	details = value_map(&a, 2);
	if (value_put(details, "bytes_cut", value_int(&a, (int64_t)rec->n_cut)) != 0 ||
		value_put(details, "sha256", value_text(&a, hex, strlen(hex))) != 0)
		return -ENOMEM;
	return log_write_own(rec->log, "LogRecovered", details);
}

/* The day on which the segment was last written, so that a new day gets a new one. */
static void keep_day(struct il_audit *log)
{
	struct stat st;

	if (log->segment_size > 0 && fstat(log->segment_fd, &st) == 0 &&
		st.st_mtim.tv_sec / (NS_PER_DAY / 1000000000) < log->segment_day)
		log->segment_day = st.st_mtim.tv_sec / (NS_PER_DAY / 1000000000);
}

int log_recover(struct il_audit *log, struct diag *reterr_diag)
{
	struct recovery rec = { .log = log, .diag = reterr_diag };
	auto_free uint32_t *numbers = NULL;
	size_t n = 0;
	uint32_t last;
	int r = segment_list(log->dir_fd, &numbers, &n);

	if (r != 0)
		return r;
	last = n > 0 ? numbers[n - 1] : 0;
	/* The very first segment may be missing when the making of the log was cut short. */
	if (log->keys.at.seq == 0 && last == 0)
		last = 1;
	if (last < log->keys.at.segment)
		return broken(&rec, "segments are gone", log->keys.at.seq);
	log->chain.seq = log->keys.at.seq + 1;
	memcpy(log->chain.previous_hash, log->keys.at.hash, SHA256_SIZE);
	for (size_t i = 1; i < n; i++) {
		if (numbers[i] > log->keys.at.segment && numbers[i] != numbers[i - 1] + 1)
			return broken(&rec, "a segment is missing", log->keys.at.seq);
	}
	r = follow_all(&rec, last);
	if (r == 0)
		r = check_head(&rec);
	if (r != 0)
		return r;
	if (rec.has_followed)
		audit_keys_step(&log->keys);
	keep_day(log);
	return rec.n_cut > 0 ? record_cut(&rec) : 0;
}
