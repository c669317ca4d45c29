/*
 * The writer: a queue, one thread, group commit.
 *
 * il_audit_append() prepares everything that does not depend on the entry's place and queues it.
 * The thread takes all that is queued, gives each its place in the chain, writes them with one
 * write and one fdatasync, and only then says so. The first failure is kept: from then on nothing
 * is accepted.
 */
#include "audit/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/segment.h"

#define QUEUE_MAX       65536u
#define QUEUE_BYTES_MAX ((size_t)64 << 20)
#define GROUP_MAX       4096u
#define GROUP_BYTES     ((size_t)16 << 20)
#define ALLOCATE_STEP   ((uint64_t)4 << 20)

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

void log_trim(struct il_audit *log)
{
	/* Only a matter of space. */
	(void)!ftruncate(log->segment_fd, (off_t)log->segment_size);
}

static bool rotation_is_due(const struct il_audit *log, int64_t wall_ns)
{
	/* A clock that runs backwards begins no new day. */
	return log->segment_size > 0 &&
	       (log->segment_size >= log->segment_bytes || wall_ns / NS_PER_DAY > log->segment_day);
}

/* Each segment but the last ends with a checkpoint, so that it can be pruned. */
static int rotate(struct il_audit *log, int64_t wall_ns)
{
	int fd = -1, r;

	if (!rotation_is_due(log, wall_ns))
		return 0;
	r = log_checkpoint(log);
	if (r == 0)
		r = segment_open(log->dir_fd, log->segment + 1, &fd);
	if (r != 0)
		return r;
	log_trim(log);
	(void)close(log->segment_fd);
	log->segment_fd = fd;
	log->segment++;
	log->segment_size = 0;
	log->allocated = 0;
	if (wall_ns / NS_PER_DAY > log->segment_day)
		log->segment_day = wall_ns / NS_PER_DAY;
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
	if (log->n_since_checkpoint++ == 0)
		log->unsealed_ms = clock_monotonic_ms(log->clock);
}

/* Only a matter of speed: not every file system can, and a full disk shows itself at the write. */
static void allocate(struct il_audit *log, size_t n)
{
	if (log->segment_size + n <= log->allocated)
		return;
	(void)fallocate(log->segment_fd, FALLOC_FL_KEEP_SIZE, (off_t)log->segment_size,
		(off_t)(n + ALLOCATE_STEP));
	log->allocated = log->segment_size + n + ALLOCATE_STEP;
}

/* Writes at the known end, so that a failed write can be cut off again and never leaves half a
 * group. */
static int commit(struct il_audit *log, const struct buf *out)
{
	size_t done = 0;

	if (buf_error(out) != 0)
		return buf_error(out);
	allocate(log, out->size);
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
	explicit_bzero(log->chain.key, sizeof(log->chain.key));
	audit_keys_step(&log->keys); /* nobody can authenticate for this group any more */
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
int log_write_own(struct il_audit *log, const char *event, const struct value *details)
{
	struct il_audit_entry entry = { .event = event, .origin = "audit", .details = details };
	auto_buf struct buf out = BUF_INIT(IL_AUDIT_ENTRY_MAX);
	struct pending *p;
	int r = parts_for(log, &entry, &p);

	if (r != 0)
		return r;
	place(log, p, &out);
	r = commit(log, &out);
	pending_free(p);
	return r;
}

/*
 * Order matters: the entry first, then the head that names it, then the key. A crash in between
 * leaves a log that goes further than its head, never the other way round.
 */
int log_checkpoint(struct il_audit *log)
{
	auto_arena struct arena a = { 0 };
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
	r = details ? log_write_own(log, "Checkpoint", details) : -ENOMEM;
	if (r == 0)
		r = head_write(log->dir_fd, &head);
	log->keys.at = (struct audit_place){
		.segment = log->segment, .offset = log->segment_size, .seq = log->chain.seq - 1
	};
	memcpy(log->keys.at.hash, log->chain.previous_hash, SHA256_SIZE);
	if (r == 0)
		r = audit_keys_save(&log->keys);
	if (r != 0)
		return r;
	/* The next root begins with this checkpoint's own entry. */
	merkle_init(&log->merkle);
	merkle_add(&log->merkle, log->chain.previous_hash);
	log->n_since_checkpoint = 0;
	anchor_send(&log->anchor, details);
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
	for (struct pending *p = group; p; p = p->next)
		place(log, p, &out);
	return commit(log, &out);
}

static void answer_group(struct pending *group, int r)
{
	while (group) {
		struct pending *next = group->next;

		if (group->done)
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
	log->queued_bytes -= size;
	return n > 0 ? group : NULL;
}

static bool checkpoint_is_due(const struct il_audit *log)
{
	return log->n_since_checkpoint >= log->checkpoint_every ||
	       (log->n_since_checkpoint > 0 &&
		       clock_monotonic_ms(log->clock) - log->unsealed_ms >= CHECKPOINT_MS);
}

static bool has_work(const struct il_audit *log)
{
	if (log->is_busy)
		return false;
	return log->first || log->closing || (log->error == 0 && checkpoint_is_due(log));
}

/* Under the mutex: until there is work, the end, or time for a checkpoint. */
static void wait_for_work(struct il_audit *log)
{
	while (!has_work(log)) {
		struct timespec until;

		if (log->is_busy || log->n_since_checkpoint == 0 || log->error != 0) {
			log->is_asleep = true;
			/* cannot fail with a valid pair */
			(void)pthread_cond_wait(&log->wake, &log->mutex);
			log->is_asleep = false;
			continue;
		}
		(void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail with this clock */
		until.tv_sec += CHECKPOINT_MS / 1000;
		(void)pthread_cond_timedwait(&log->wake, &log->mutex, &until);
	}
}

/* Under the mutex: what the thread alone touches is free for whoever takes it next. */
static void end_turn(struct il_audit *log, int r)
{
	log->is_busy = false;
	if (log->error == 0)
		log->error = r;
}

static void *log_thread(void *arg)
{
	struct il_audit *log = arg;
	bool closing = false;

	(void)pthread_mutex_lock(&log->mutex);
	while (!closing) {
		struct pending *group;
		int r;

		wait_for_work(log);
		group = take_group(log);
		closing = log->closing && !log->first;
		log->is_busy = true;
		r = log->error;
		(void)pthread_mutex_unlock(&log->mutex);
		if (r == 0)
			r = write_group(log, group);
		answer_group(group, r);
		if (r == 0 && !closing && checkpoint_is_due(log))
			r = log_checkpoint(log);
		(void)pthread_mutex_lock(&log->mutex);
		end_turn(log, r);
	}
	(void)pthread_mutex_unlock(&log->mutex);
	return NULL;
}

int log_start(struct il_audit *log)
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
	if (r == 0 && (log->closing || log->n_queued >= QUEUE_MAX ||
			      log->queued_bytes >= QUEUE_BYTES_MAX))
		r = log->closing ? -ESHUTDOWN : -EAGAIN;
	if (r == 0) {
		*log->last = p;
		log->last = &p->next;
		log->n_queued++;
		log->queued_bytes += pending_size(p);
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

/* When nobody is at it, the caller writes for itself: two switches of threads less. */
static int write_here(struct il_audit *log, const struct il_audit_entry *entry,
	struct il_audit_receipt *ret_receipt)
{
	struct pending *p;
	int r = parts_for(log, entry, &p);

	if (r == 0) {
		r = write_group(log, p);
		if (r == 0 && ret_receipt)
			*ret_receipt = p->receipt;
		log->write_error = r;
		pending_free(p);
	}
	return r;
}

static bool take_turn(struct il_audit *log)
{
	bool taken;

	(void)pthread_mutex_lock(&log->mutex);
	taken = !log->first && !log->is_busy && !log->closing && log->error == 0;
	if (taken)
		log->is_busy = true;
	(void)pthread_mutex_unlock(&log->mutex);
	return taken;
}

static void give_turn(struct il_audit *log)
{
	(void)pthread_mutex_lock(&log->mutex);
	end_turn(log, log->write_error);
	if (log->is_asleep || has_work(log))
		(void)pthread_cond_signal(&log->wake);
	(void)pthread_mutex_unlock(&log->mutex);
}

int il_audit_append_wait(struct il_audit *log, const struct il_audit_entry *entry,
	struct il_audit_receipt *ret_receipt)
{
	struct waiter w = { .mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };
	int r;

	if (!entry->event || il_audit_event_id(entry->event) == 0)
		return -EINVAL;
	if (take_turn(log)) {
		r = write_here(log, entry, ret_receipt);
		give_turn(log);
		return r;
	}
	r = il_audit_append(log, entry, on_waited, &w);
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
