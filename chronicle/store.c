#include "chronicle/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/be.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "chronicle/store_files.h"

#define PENDING_MAX   ((size_t)512 << 20)
#define PENDING_FLUSH ((size_t)1 << 20)

bool store_has(const struct store *s, const uint8_t hash[static SHA256_SIZE])
{
	return blobs_get(&s->blobs, hash) != NULL;
}

static struct store_segment *last_segment(struct store *s)
{
	return s->n_segments > 0 ? &s->segments[s->n_segments - 1] : NULL;
}

int store_flush(struct store *s)
{
	struct store_segment *last = last_segment(s);
	size_t done = 0;

	if (!last)
		return 0; /* what is pending is always of a segment */
	while (done < s->pending.size) {
		ssize_t n = pwrite(last->fd, s->pending.data + done, s->pending.size - done,
			(off_t)(last->size + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	last->size += done;
	buf_clear(&s->pending);
	return 0;
}

int store_begin_segment(struct store *s)
{
	struct store_segment *last = last_segment(s);
	uint32_t number = last ? last->number + 1 : 1;
	struct store_segment *grown;
	int r = store_flush(s);
	int fd;

	/* What the commit syncs is the last segment alone. */
	if (r == 0 && last && fdatasync(last->fd) < 0)
		r = -errno;
	if (r != 0)
		return r;
	grown = realloc(s->segments, (s->n_segments + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->segments = grown;
	r = segment_create(s->segments_fd, number, &fd);
	if (r != 0)
		return r;
	s->segments[s->n_segments++] = (struct store_segment){ .number = number, .fd = fd };
	return 0;
}

/* Appends one frame; *ret_at is where its bytes begin. */
static int append_frame(struct store *s, struct store_frame *f, const void *bytes)
{
	struct store_segment *last = last_segment(s);
	uint8_t header[FRAME_HEADER_SIZE] = { 'I', 'L', 'F', '1' };
	int r = 0;

	if (s->read_only)
		return -EROFS;
	if (!last || last->size + s->pending.size >= SEGMENT_SIZE)
		r = store_begin_segment(s);
	else if (s->pending.size >= PENDING_FLUSH)
		r = store_flush(s);
	if (r != 0)
		return r;
	last = last_segment(s);
	header[4] = f->type;
	be_store64(header + 8, f->length);
	memcpy(header + 16, f->hash, SHA256_SIZE);
	f->segment = last->number;
	f->offset = last->size + s->pending.size + FRAME_HEADER_SIZE;
	buf_bytes(&s->pending, header, sizeof(header));
	buf_bytes(&s->pending, bytes, f->length);
	return buf_error(&s->pending);
}

int store_put(struct store *s, enum frame_type type, const void *bytes, size_t n,
	uint8_t ret_hash[static SHA256_SIZE])
{
	struct store_frame f = { .type = (uint8_t)type, .length = n };
	struct blob blob = { .type = (uint8_t)type, .length = n };
	int r;

	sha256_bytes(bytes, n, f.hash);
	if (!store_has(s, f.hash)) {
		r = append_frame(s, &f, bytes);
		if (r != 0)
			return r;
		memcpy(blob.hash, f.hash, SHA256_SIZE);
		blob.segment = f.segment;
		blob.offset = f.offset;
		r = blobs_put(&s->blobs, &blob);
		if (r != 0)
			return r;
	}
	memcpy(ret_hash, f.hash, SHA256_SIZE);
	return 0;
}

int store_append(struct store *s, enum frame_type type, const void *bytes, size_t n,
	uint8_t ret_hash[static SHA256_SIZE])
{
	struct store_frame f = { .type = (uint8_t)type, .length = n };
	int r;

	if (n > RECORD_SIZE_MAX)
		return -E2BIG;
	sha256_bytes(bytes, n, f.hash);
	r = append_frame(s, &f, bytes);
	if (r == 0)
		r = frames_add(s, &f);
	if (r != 0)
		return r;
	memcpy(ret_hash, f.hash, SHA256_SIZE);
	return 0;
}

int store_commit(struct store *s)
{
	struct store_segment *last = last_segment(s);
	int r = store_flush(s);

	if (r != 0 || !last)
		return r;
	if (s->large_dirty && fsync(s->large_fd) < 0)
		return -errno;
	if (fdatasync(last->fd) < 0)
		return -errno;
	/* The names of new segments; a segment that exists needs its data alone. */
	if (s->n_segments > s->committed_segments && fsync(s->segments_fd) < 0)
		return -errno;
	s->large_dirty = false;
	s->committed_size = last->size;
	s->committed_segments = s->n_segments;
	s->committed_frames = s->n_frames;
	return 0;
}

int store_abort(struct store *s)
{
	struct store_segment *last = last_segment(s);
	bool was_empty = s->committed_segments == 0;
	int r = 0;

	if (s->n_segments == s->committed_segments && s->pending.size == 0 &&
		(!last || last->size == s->committed_size))
		return 0; /* nothing was added */

	buf_clear(&s->pending);
	for (size_t i = s->n_segments; i > s->committed_segments; i--)
		r = r != 0 ? r : segment_remove(s->segments_fd, s->segments[i - 1].number);
	if (!was_empty &&
		ftruncate(s->segments[s->committed_segments - 1].fd, (off_t)s->committed_size) < 0)
		r = -errno;
	/* The table of blobs names what is gone: read it anew. */
	store_unload(s);
	return r != 0 ? r : store_load(s);
}

static int read_exactly(int fd, uint8_t *bytes, size_t n, uint64_t offset)
{
	while (n > 0) {
		ssize_t got = pread(fd, bytes, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return STORE_E_BROKEN;
		bytes += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static int segment_fd(const struct store *s, uint32_t number)
{
	for (size_t i = 0; i < s->n_segments; i++) {
		if (s->segments[i].number == number)
			return s->segments[i].fd;
	}
	return -1;
}

int store_open_blob(struct store *s, const uint8_t hash[static SHA256_SIZE], int *ret_fd,
	uint64_t *ret_offset, uint64_t *ret_length)
{
	const struct blob *blob = blobs_get(&s->blobs, hash);
	int r = store_flush(s);
	int fd;

	if (r != 0)
		return r;
	if (!blob)
		return STORE_E_ABSENT;
	if (blob->segment == BLOB_LARGE)
		r = large_open(s->large_fd, hash, &fd);
	else if ((fd = fcntl(segment_fd(s, blob->segment), F_DUPFD_CLOEXEC, 3)) < 0)
		r = -errno;
	if (r != 0)
		return r == -ENOENT ? STORE_E_ABSENT : r;
	*ret_fd = fd;
	*ret_offset = blob->offset;
	*ret_length = blob->length;
	return 0;
}

static int get_range(
	int fd, uint64_t offset, uint64_t length, const uint8_t *hash, uint8_t **ret_bytes)
{
	auto_free uint8_t *bytes = malloc(length > 0 ? length : 1);
	uint8_t found[SHA256_SIZE];
	int r;

	if (!bytes)
		return -ENOMEM;
	r = read_exactly(fd, bytes, length, offset);
	if (r != 0)
		return r;
	sha256_bytes(bytes, length, found);
#ifndef MUTATION_CHRONICLE_HASH
	if (memcmp(found, hash, SHA256_SIZE) != 0)
		return STORE_E_BROKEN;
#endif
	*ret_bytes = take_ptr(bytes);
	return 0;
}

int store_get(struct store *s, const uint8_t hash[static SHA256_SIZE], size_t limit,
	uint8_t **ret_bytes, size_t *ret_n)
{
	auto_close int fd = -1;
	uint64_t offset = 0, length = 0;
	int r = store_open_blob(s, hash, &fd, &offset, &length);

	if (r != 0)
		return r;
	if (length > limit)
		return -EFBIG;
	r = get_range(fd, offset, length, hash, ret_bytes);
	if (r == 0)
		*ret_n = length;
	return r;
}

int store_get_frame(
	struct store *s, const struct store_frame *f, uint8_t **ret_bytes, size_t *ret_n)
{
	int r = store_flush(s);

	if (r == 0)
		r = get_range(segment_fd(s, f->segment), f->offset, f->length, f->hash, ret_bytes);
	if (r == 0)
		*ret_n = f->length;
	return r;
}

int store_copy_frame(struct store *s, const struct store_frame *f)
{
	struct blob blob = { .type = f->type, .length = f->length };
	auto_free uint8_t *bytes = NULL;
	struct store_frame copy = *f;
	size_t n = 0;
	int r = store_get_frame(s, f, &bytes, &n);

	if (r == 0)
		r = append_frame(s, &copy, bytes);
	if (r != 0 || f->type >= FRAME_RECORD)
		return r;
	memcpy(blob.hash, f->hash, SHA256_SIZE);
	blob.segment = copy.segment;
	blob.offset = copy.offset;
	blob.marked = true;
	return blobs_put(&s->blobs, &blob);
}

uint64_t store_bytes(const struct store *s)
{
	uint64_t sum = s->large_bytes + s->pending.size;

	for (size_t i = 0; i < s->n_segments; i++)
		sum += s->segments[i].size;
	return sum;
}

void store_unload(struct store *s)
{
	for (size_t i = 0; i < s->n_segments; i++)
		(void)close(s->segments[i].fd); /* synced, or not to be kept */
	free(s->segments);
	free(s->frames);
	blobs_done(&s->blobs);
	buf_clear(&s->pending);
	s->segments = NULL;
	s->frames = NULL;
	s->n_segments = s->n_frames = s->capacity_frames = 0;
	s->large_bytes = 0;
	s->damage[0] = '\0';
}

void store_close(struct store *s)
{
	int *const fds[] = { &s->dir_fd, &s->lock_fd, &s->segments_fd, &s->large_fd, &s->head_fd };

	store_unload(s);
	buf_done(&s->pending);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		cleanup_close(fds[i]);
	explicit_bzero(s->key, sizeof(s->key));
	free(s);
}

static int open_all(struct store *s, const char *dir, struct diag *reterr_diag)
{
	int r = store_open_files(s, dir, reterr_diag);

	if (r == 0)
		r = store_load(s);
	if (r < 0 && reterr_diag && reterr_diag->text[0] == '\0')
		(void)diag_set(reterr_diag, r, 0, 0, "Cannot open the store \"%s\": %s.", dir,
			strerror(-r));
	return r;
}

int store_open(const char *dir, bool read_only, struct store **ret_store, struct diag *reterr_diag)
{
	struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->dir_fd = s->lock_fd = s->segments_fd = s->large_fd = s->head_fd = -1;
	s->read_only = read_only;
	s->pending = BUF_INIT(PENDING_MAX);
	if (reterr_diag)
		*reterr_diag = (struct diag){ 0 };
	r = open_all(s, dir, reterr_diag);
	if (r != 0) {
		store_close(s);
		return r;
	}
	*ret_store = s;
	return 0;
}
