/*
 * The writer: a queue, one thread, group commit.
 *
 * il_audit_append() prepares everything that does not depend on the entry's place and queues it.
 * The thread takes all that is queued, gives each its place in the chain, writes them with one
 * write and one fdatasync, and only then says so. The first failure is kept: from then on nothing
 * is accepted.
 */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/anchor.h"
#include "audit/head.h"
#include "audit/keys.h"
#include "audit/line.h"
#include "audit/merkle.h"
#include "audit/segment.h"
#include "base/files.h"

#define SEGMENT_BYTES_DEFAULT ((uint64_t)64 << 20)
#define CHECKPOINT_EVERY      1024u
#define CHECKPOINT_MS         1000u
#define QUEUE_MAX             65536u
#define GROUP_MAX             4096u
#define GROUP_BYTES           ((size_t)16 << 20)
#define NS_PER_DAY            (INT64_C(86400) * 1000000000)
#define LOCK_FILE             "lock"

struct pending {
	struct pending *next;
	struct line_parts parts; /* owned */
	int64_t wall_ns;
	il_audit_done_fn done;
	void *ctx;
	struct il_audit_receipt receipt;
};

struct il_audit {
	int dir_fd, lock_fd, segment_fd; /* owned */
	const struct clock *clock;       /* borrowed; outlives the log */
	char *const *anchor_command;     /* owned copy, NULL-terminated, or NULL */
	bool anchor_syslog;
	uint64_t segment_bytes;
	uint32_t checkpoint_every;

	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct pending *first, **last; /* the queue, under the mutex */
	size_t n_queued;
	bool closing;
	int error; /* the first write error, under the mutex */

	/* Only the thread touches what follows. */
	struct line_chain chain; /* of the entry that comes next */
	struct audit_keys keys;
	struct merkle merkle;
	uint64_t n_since_checkpoint;
	uint64_t checkpoint_ms; /* monotonic time of the last one */
	uint32_t segment;
	uint64_t segment_size;
	int64_t segment_day;
};

static void pending_free(struct pending *p)
{
	line_parts_done(&p->parts);
	free(p);
}

static void new_id(char ret_id[static IL_AUDIT_ID_SIZE])
{
	uint8_t b[16];
	char hex[33];

	randombytes_buf(b, sizeof(b));
	b[6] = (uint8_t)(0x40 | (b[6] & 0x0f)); /* RFC 9562, version 4 */
	b[8] = (uint8_t)(0x80 | (b[8] & 0x3f));
	hex_encode(b, sizeof(b), hex);
	(void)snprintf(ret_id, IL_AUDIT_ID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
		hex + 12, hex + 16, hex + 20);
}

/* ---- the thread's side ---- */

static int rotate(struct il_audit *log, int64_t wall_ns)
{
	int64_t day = wall_ns / NS_PER_DAY;
	int fd, r;

	if (log->segment_size == 0 ||
		(log->segment_size < log->segment_bytes && day == log->segment_day)) {
		log->segment_day = day;
		return 0;
	}
	r = segment_open(log->dir_fd, log->segment + 1, log->segment_bytes, &fd);
	if (r != 0)
		return r;
	(void)!ftruncate(
		log->segment_fd, (off_t)log->segment_size); /* gives the preallocated rest back */
	(void)close(log->segment_fd);
	log->segment_fd = fd;
	log->segment++;
	log->segment_size = 0;
	log->segment_day = day;
	return 0;
}

/* Gives one entry its place; nothing is on disk yet. */
static void place(struct il_audit *log, struct pending *p, struct buf *out)
{
	log->chain.epoch = log->keys.epoch;
	memcpy(log->chain.key, log->keys.mac, SHA256_SIZE);
	line_finish(&p->parts, &log->chain, out, p->receipt.hash);
	p->receipt.seq = log->chain.seq;
	memcpy(p->receipt.id, p->parts.id, sizeof(p->receipt.id));
	memcpy(log->chain.previous_hash, p->receipt.hash, SHA256_SIZE);
	log->chain.seq++;
	merkle_add(&log->merkle, p->receipt.hash);
	log->n_since_checkpoint++;
}

/* Writes at the known end, so that a failed write can be cut off again and never leaves half a
 * group. */
static int commit(struct il_audit *log, const struct buf *out)
{
	size_t done = 0;

	if (buf_error(out) != 0)
		return buf_error(out);
	while (done < out->size) {
		ssize_t n = pwrite(log->segment_fd, out->data + done, out->size - done,
			(off_t)(log->segment_size + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int r = -errno;

			(void)!ftruncate(log->segment_fd,
				(off_t)log->segment_size); /* the next open cuts what this cannot */
			return r;
		}
		done += (size_t)n;
	}
	if (fdatasync(log->segment_fd) < 0)
		return -errno;
	log->segment_size += out->size;
	return 0;
}

static int parts_for(
	struct il_audit *log, const struct il_audit_entry *entry, struct pending **ret_pending)
{
	struct pending *p = calloc(1, sizeof(*p));
	char id[IL_AUDIT_ID_SIZE];
	int r;

	if (!p)
		return -ENOMEM;
	new_id(id);
	p->wall_ns = clock_wall_ns(log->clock);
	r = line_parts_init(&p->parts, entry, id, clock_monotonic_ms(log->clock), p->wall_ns);
	if (r != 0) {
		free(p);
		return r;
	}
	*ret_pending = p;
	return 0;
}

/* One entry of the log's own, by the thread (or before it starts). */
static int write_own(struct il_audit *log, const char *event, const struct value *details)
{
	struct il_audit_entry entry = { .event = event, .origin = "audit", .details = details };
	auto_buf struct buf out = BUF_INIT(IL_AUDIT_ENTRY_MAX);
	struct pending *p;
	int r = parts_for(log, &entry, &p);

	if (r != 0)
		return r;
	audit_keys_step(&log->keys);
	place(log, p, &out);
	r = commit(log, &out);
	pending_free(p);
	return r;
}

/*
 * Order matters: the entry first, then the head that names it, then the key. A crash in between
 * leaves a log that goes further than its head, never the other way round.
 */
static int checkpoint(struct il_audit *log)
{
	auto_arena struct arena a;
	struct audit_head head = { 0 };
	const struct value *details;
	int r;

	if (log->chain.seq <= 1 || log->n_since_checkpoint == 0)
		return 0;
	arena_init(&a, 64 * 1024);
	head.checkpoint =
		(struct audit_checkpoint){ .seq = log->chain.seq - 1, .epoch = log->keys.epoch };
	memcpy(head.checkpoint.hash, log->chain.previous_hash, SHA256_SIZE);
	merkle_root(&log->merkle, head.checkpoint.root);
	audit_sign(&log->keys, &head.checkpoint, head.signature);
	details = head_to_value(&a, &head);
	r = details ? write_own(log, "Checkpoint", details) : -ENOMEM;
	if (r == 0)
		r = head_write(log->dir_fd, &head);
	if (r == 0)
		r = audit_keys_save(&log->keys);
	if (r != 0)
		return r;
	/* The next root begins with this checkpoint's own entry. */
	merkle_init(&log->merkle);
	merkle_add(&log->merkle, log->chain.previous_hash);
	log->n_since_checkpoint = 0;
	log->checkpoint_ms = clock_monotonic_ms(log->clock);
	anchor_send(log->anchor_command, log->anchor_syslog, details);
	return 0;
}

static int write_group(struct il_audit *log, struct pending *group)
{
	auto_buf struct buf out = BUF_INIT(GROUP_BYTES + 2 * IL_AUDIT_ENTRY_MAX);
	int r;

	if (!group)
		return 0;
	r = rotate(log, group->wall_ns);
	if (r != 0)
		return r;
	audit_keys_step(&log->keys);
	for (struct pending *p = group; p; p = p->next)
		place(log, p, &out);
	return commit(log, &out);
}

static void answer_group(struct pending *group, int r)
{
	while (group) {
		struct pending *next = group->next;

		group->done(group->ctx, r, &group->receipt);
		pending_free(group);
		group = next;
	}
}

static size_t pending_size(const struct pending *p)
{
	return p->parts.before_epoch.size + p->parts.before_chain.size + p->parts.after_seq.size +
	       512;
}

/* Under the mutex: cuts a group off the front of the queue. */
static struct pending *take_group(struct il_audit *log)
{
	struct pending *group = log->first;
	struct pending **end = &log->first;
	size_t n = 0, size = 0;

	while (*end && n < GROUP_MAX && size < GROUP_BYTES) {
		size += pending_size(*end);
		n++;
		end = &(*end)->next;
	}
	log->first = *end;
	if (!log->first)
		log->last = &log->first;
	*end = NULL;
	log->n_queued -= n;
	return n > 0 ? group : NULL;
}

/* Under the mutex: until there is work, the end, or time for a checkpoint. */
static void wait_for_work(struct il_audit *log)
{
	while (!log->first && !log->closing) {
		struct timespec until;

		if (log->n_since_checkpoint == 0 || log->error != 0) {
			(void)pthread_cond_wait(
				&log->wake, &log->mutex); /* cannot fail with a valid pair */
			continue;
		}
		(void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail with this clock */
		until.tv_sec += CHECKPOINT_MS / 1000;
		if (pthread_cond_timedwait(&log->wake, &log->mutex, &until) == ETIMEDOUT)
			return;
	}
}

static bool checkpoint_is_due(const struct il_audit *log)
{
	return log->n_since_checkpoint >= log->checkpoint_every ||
	       (log->n_since_checkpoint > 0 &&
		       clock_monotonic_ms(log->clock) - log->checkpoint_ms >= CHECKPOINT_MS);
}

static void keep_error(struct il_audit *log, int r)
{
	(void)pthread_mutex_lock(&log->mutex);
	if (log->error == 0)
		log->error = r;
	(void)pthread_mutex_unlock(&log->mutex);
}

static void *log_thread(void *arg)
{
	struct il_audit *log = arg;
	bool closing = false;

	while (!closing) {
		struct pending *group;
		int r;

		(void)pthread_mutex_lock(&log->mutex);
		wait_for_work(log);
		group = take_group(log);
		closing = log->closing && !log->first;
		r = log->error;
		(void)pthread_mutex_unlock(&log->mutex);
		if (r == 0)
			r = write_group(log, group);
		if (r != 0)
			keep_error(log, r);
		answer_group(group, r);
		if (r == 0 && !closing && checkpoint_is_due(log)) {
			r = checkpoint(log);
			if (r != 0)
				keep_error(log, r);
		}
	}
	return NULL;
}

/* ---- opening ---- */

static int take_lock(struct il_audit *log)
{
	log->lock_fd =
		openat(log->dir_fd, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (log->lock_fd < 0)
		return -errno;
	if (flock(log->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? IL_AUDIT_E_LOCKED : -errno;
	return 0;
}

/* The key of the next entry: on from the one on disk, over the epochs that the log has seen since.
 */
static int catch_up_keys(struct il_audit *log, uint64_t epoch)
{
	if (epoch - log->keys.epoch > UINT32_MAX && epoch > log->keys.epoch)
		return -EUCLEAN;
	while (log->keys.epoch < epoch)
		audit_keys_step(&log->keys);
	return 0;
}

static int continue_after(struct il_audit *log, const struct segment_tail *tail, struct diag *diag)
{
	struct audit_head head;
	struct line line;
	int r;

	if (line_read(tail->line, tail->n_line, &line) != 0 ||
		memcmp(line.hash, line.computed, SHA256_SIZE) != 0)
		return diag_set(diag, IL_AUDIT_E_BROKEN, 0, 0,
			"the last entry does not match its own hash");
	r = head_read(log->dir_fd, &head);
	if (r == 0 && head.checkpoint.seq > line.seq)
		return diag_set(diag, IL_AUDIT_E_BROKEN, 0, 0,
			"the log ends at entry %llu, its head at %llu: entries are missing",
			(unsigned long long)line.seq, (unsigned long long)head.checkpoint.seq);
	if (r != 0 && r != -ENOENT)
		return diag_set(diag, IL_AUDIT_E_BROKEN, 0, 0, "head.json cannot be read");
	if (line.epoch < log->keys.epoch)
		return diag_set(diag, IL_AUDIT_E_BROKEN, 0, 0,
			"the key has gone further than the log: entries are missing");
	log->chain.seq = line.seq + 1;
	memcpy(log->chain.previous_hash, line.hash, SHA256_SIZE);
	return catch_up_keys(log, line.epoch);
}

static int record_cut(struct il_audit *log, uint64_t n_cut)
{
	auto_arena struct arena a;
	struct value *details;

	arena_init(&a, 4096);
	details = value_map(&a, 1);
	if (value_put(details, "bytes_cut", value_int(&a, (int64_t)n_cut)) != 0)
		return -ENOMEM;
	return write_own(log, "LogRecovered", details);
}

/* Finds the end of the last segment that has a whole line. */
static int open_tail(struct il_audit *log, const uint32_t *numbers, size_t n, struct diag *diag)
{
	struct segment_tail tail = { 0 };
	uint64_t n_cut;
	int r;

	log->segment = numbers[n - 1];
	r = segment_open(log->dir_fd, log->segment, 0, &log->segment_fd);
	if (r == 0)
		r = segment_tail_read(log->segment_fd, &tail);
	if (r == 0 && !tail.line && n > 1) {
		/* A segment that was made and not yet written; the chain goes on from the one
		 * before. */
		int before = -1;
		struct segment_tail last = { 0 };

		r = segment_open(log->dir_fd, numbers[n - 2], 0, &before);
		if (r == 0)
			r = segment_tail_read(before, &last);
		cleanup_close(&before);
		tail.line = last.line;
		tail.n_line = last.n_line;
	}
	if (r == 0 && tail.line)
		r = continue_after(log, &tail, diag);
	else if (r == 0 && log->keys.epoch > 0)
		r = diag_set(diag, IL_AUDIT_E_BROKEN, 0, 0,
			"the log is empty though its key has been used");
	free(tail.line);
	if (r != 0)
		return r;
	n_cut = (uint64_t)(tail.size - tail.end);
	log->segment_size = (uint64_t)tail.end;
	log->segment_day = clock_wall_ns(log->clock) / NS_PER_DAY;
	if (n_cut == 0)
		return 0;
	if (ftruncate(log->segment_fd, tail.end) < 0 || fdatasync(log->segment_fd) < 0)
		return -errno;
	return record_cut(log, n_cut);
}

static int open_log(struct il_audit *log, struct diag *diag)
{
	auto_free uint32_t *numbers = NULL;
	size_t n = 0;
	int r = segment_list(log->dir_fd, &numbers, &n);

	if (r == 0)
		r = audit_keys_open(log->dir_fd, true, &log->keys);
	if (r == AUDIT_KEYS_E_MISSING) {
		if (n > 0)
			return diag_set(
				diag, IL_AUDIT_E_NO_KEY, 0, 0, "entries exist, audit.key does not");
		r = audit_keys_make(log->dir_fd, &log->keys);
	}
	log->chain.seq = 1;
	merkle_init(&log->merkle);
	log->checkpoint_ms = clock_monotonic_ms(log->clock);
	if (r == 0 && n > 0) {
		r = open_tail(log, numbers, n, diag);
	} else if (r == 0 && log->keys.epoch > 0) {
		r = diag_set(diag, IL_AUDIT_E_BROKEN, 0, 0,
			"the segments are gone though the key has been used");
	} else if (r == 0) {
		log->segment = 1;
		log->segment_day = clock_wall_ns(log->clock) / NS_PER_DAY;
		r = segment_open(log->dir_fd, 1, log->segment_bytes, &log->segment_fd);
	}
	if (r != 0)
		return r;
	merkle_init(&log->merkle); /* a root never reaches back over an opening, whose tail alone
				      was read */
	return write_own(log, "LogOpened", NULL);
}

static int copy_command(struct il_audit *log, const char *const *command)
{
	size_t n = 0;
	char **copy;

	if (!command)
		return 0;
	while (command[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	log->anchor_command = copy;
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(command[i]);
		if (!copy[i])
			return -ENOMEM;
	}
	return copy ? 0 : -ENOMEM;
}

static int start_thread(struct il_audit *log)
{
	pthread_condattr_t attr;
	int r = -pthread_mutex_init(&log->mutex, NULL);

	if (r == 0)
		r = -pthread_condattr_init(&attr);
	if (r != 0)
		return r;
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* cannot fail with this clock */
	r = -pthread_cond_init(&log->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	return r != 0 ? r : -pthread_create(&log->thread, NULL, log_thread, log);
}

static void log_free(struct il_audit *log)
{
	cleanup_close(&log->segment_fd);
	cleanup_close(&log->lock_fd);
	cleanup_close(&log->dir_fd);
	audit_keys_done(&log->keys);
	for (size_t i = 0; log->anchor_command && log->anchor_command[i]; i++)
		free(log->anchor_command[i]);
	free((void *)(uintptr_t)log->anchor_command);
	explicit_bzero(&log->chain, sizeof(log->chain));
	free(log);
}

int il_audit_open(
	const struct il_audit_options *o, struct il_audit **ret_log, struct diag *reterr_diag)
{
	struct il_audit *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	log->dir_fd = log->lock_fd = log->segment_fd = log->keys.fd = -1;
	log->last = &log->first;
	log->clock = o->clock ? o->clock : &clock_system;
	log->segment_bytes = o->segment_bytes ? o->segment_bytes : SEGMENT_BYTES_DEFAULT;
	log->checkpoint_every = o->checkpoint_every ? o->checkpoint_every : CHECKPOINT_EVERY;
	log->anchor_syslog = o->anchor_syslog;
	r = sodium_init() < 0 ? -EIO : copy_command(log, o->anchor_command);
	if (r == 0)
		r = make_dirs(o->dir, 0700);
	if (r == 0) {
		log->dir_fd = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = log->dir_fd < 0 ? -errno : take_lock(log);
	}
	if (r == 0)
		r = open_log(log, reterr_diag);
	if (r == 0)
		r = start_thread(log);
	if (r != 0) {
		log_free(log);
		return r;
	}
	*ret_log = log;
	return 0;
}

void il_audit_close(struct il_audit *log)
{
	if (!log)
		return;
	(void)pthread_mutex_lock(&log->mutex);
	log->closing = true;
	(void)pthread_cond_signal(&log->wake);
	(void)pthread_mutex_unlock(&log->mutex);
	(void)pthread_join(log->thread, NULL);
	if (log->error == 0 && write_own(log, "LogClosed", NULL) == 0)
		(void)checkpoint(log); /* nobody is left to tell; verify sees what is missing */
	(void)pthread_cond_destroy(&log->wake);
	(void)pthread_mutex_destroy(&log->mutex);
	log_free(log);
}

/* ---- appending ---- */

int il_audit_append(
	struct il_audit *log, const struct il_audit_entry *entry, il_audit_done_fn done, void *ctx)
{
	struct pending *p;
	int r;

	if (!entry->event || il_audit_event_id(entry->event) == 0)
		return -EINVAL;
	r = parts_for(log, entry, &p);
	if (r != 0)
		return r;
	p->done = done;
	p->ctx = ctx;
	(void)pthread_mutex_lock(&log->mutex);
	r = log->error;
	if (r == 0 && (log->closing || log->n_queued >= QUEUE_MAX))
		r = log->closing ? -ESHUTDOWN : -EAGAIN;
	if (r == 0) {
		*log->last = p;
		log->last = &p->next;
		log->n_queued++;
		(void)pthread_cond_signal(&log->wake);
	}
	(void)pthread_mutex_unlock(&log->mutex);
	if (r != 0)
		pending_free(p);
	return r;
}

struct waiter {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool answered;
	int r;
	struct il_audit_receipt receipt;
};

static void on_waited(void *ctx, int r, const struct il_audit_receipt *receipt)
{
	struct waiter *w = ctx;

	(void)pthread_mutex_lock(&w->mutex);
	w->answered = true;
	w->r = r;
	w->receipt = *receipt;
	(void)pthread_cond_signal(&w->wake);
	(void)pthread_mutex_unlock(&w->mutex);
}

int il_audit_append_wait(struct il_audit *log, const struct il_audit_entry *entry,
	struct il_audit_receipt *ret_receipt)
{
	struct waiter w = { .mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };
	int r = il_audit_append(log, entry, on_waited, &w);

	if (r != 0)
		return r;
	(void)pthread_mutex_lock(&w.mutex);
	while (!w.answered)
		(void)pthread_cond_wait(&w.wake, &w.mutex);
	(void)pthread_mutex_unlock(&w.mutex);
	if (w.r == 0 && ret_receipt)
		*ret_receipt = w.receipt;
	return w.r;
}

int il_audit_take_verification_key(struct il_audit *log, char **ret_key)
{
	return audit_key_take(log->dir_fd, ret_key);
}
