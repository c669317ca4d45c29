#include "chronicle/large.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/be.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "chronicle/store_files.h"

#define PIECE_SIZE   ((size_t)256 << 10)
#define STRETCH_SIZE ((uint64_t)8 << 20)

static int write_at(int fd, const uint8_t *bytes, size_t n, uint64_t at)
{
	while (n > 0) {
		ssize_t written = pwrite(fd, bytes, n, (off_t)at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		at += (uint64_t)written;
		n -= (size_t)written;
	}
	return 0;
}

int copy_range(int from, uint64_t from_at, int to, uint64_t to_at, uint64_t n, struct sha256 *h)
{
	auto_free uint8_t *piece = malloc(PIECE_SIZE);
	int r = 0;

	if (!piece)
		return -ENOMEM;
	while (r == 0 && n > 0) {
		ssize_t got = pread(from, piece, n < PIECE_SIZE ? n : PIECE_SIZE, (off_t)from_at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ESTALE;
		if (h)
			sha256_update(h, piece, (size_t)got);
		if (to >= 0)
			r = write_at(to, piece, (size_t)got, to_at);
		from_at += (uint64_t)got;
		to_at += (uint64_t)got;
		n -= (uint64_t)got;
	}
	return r;
}

/* In stretches whose way to the disk begins at once, so that hashing and writing overlap. */
static int copy_whole(int from, int to, uint64_t size, struct sha256 *h)
{
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < size; at += STRETCH_SIZE) {
		uint64_t n = size - at < STRETCH_SIZE ? size - at : STRETCH_SIZE;

		r = copy_range(from, at, to, at, n, h);
		/* A hint: fdatasync() follows in any case. */
		(void)sync_file_range(to, (off_t)at, (off_t)n, SYNC_FILE_RANGE_WRITE);
	}
	return r;
}

static int fill(int fd, int to, uint64_t size, struct slice extents, uint8_t *ret_hash)
{
	struct sha256 h;
	uint64_t at = 0;
	int r = 0;

	sha256_init(&h);
	if (extents.n == 0 && ioctl(to, FICLONE, fd) == 0) {
		struct stat st;

		if (fstat(to, &st) < 0)
			return -errno;
		r = (uint64_t)st.st_size == size ? copy_range(to, 0, -1, 0, size, &h) : -ESTALE;
	} else if (extents.n == 0) {
		r = copy_whole(fd, to, size, &h);
	}
	for (size_t i = 0; r == 0 && i < extents.n; i += EXTENT_SIZE) {
		uint64_t n = be_load64(extents.bytes + i + 8);

		r = copy_range(fd, be_load64(extents.bytes + i), to, at, n, &h);
		at += n;
	}
	sha256_final(&h, ret_hash);
	return r;
}

static int publish(struct store *s, int fd, const char *temporary, const uint8_t *hash)
{
	struct blob blob = { .segment = BLOB_LARGE, .type = FRAME_DATA };
	char name[LARGE_NAME_SIZE];
	struct stat st;

	if (fdatasync(fd) < 0 || fstat(fd, &st) < 0)
		return -errno;
	hex_encode(hash, SHA256_SIZE, name);
	if (renameat(s->large_fd, temporary, s->large_fd, name) < 0)
		return -errno;
	s->large_dirty = true;
	s->large_bytes += (uint64_t)st.st_blocks * 512;
	memcpy(blob.hash, hash, SHA256_SIZE);
	blob.length = (uint64_t)st.st_size;
	return blobs_put(&s->blobs, &blob);
}

int large_put(struct store *s, int fd, uint64_t size, struct slice extents,
	uint8_t ret_hash[static SHA256_SIZE])
{
	static const char temporary[] = "new";
	auto_close int to = -1;
	uint8_t hash[SHA256_SIZE];
	int r;

	if (s->read_only)
		return -EROFS;
	/* One writer at a time; what an earlier one left when it died is of no use. */
	to = openat(
		s->large_fd, temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return -errno;
	r = fill(fd, to, size, extents, hash);
	if (r == 0 && !store_has(s, hash))
		r = publish(s, to, temporary, hash);
	(void)unlinkat(s->large_fd, temporary, 0); /* gone already when it was published */
	if (r == 0)
		memcpy(ret_hash, hash, SHA256_SIZE);
	return r;
}
