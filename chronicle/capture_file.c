#include "chronicle/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/be.h"
#include "base/cleanup.h"
#include "chronicle/large.h"
#include "chronicle/xattrs.h"

#define FILE_BYTES_DEFAULT ((uint64_t)1 << 30)
#define ATTEMPTS           3
#define BLOCK              512

static int open_file(int dir_fd, const char *name)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = openat(dir_fd, name, flags | O_NOATIME);

	/* Only the owner may leave the access time alone. */
	return fd < 0 && errno == EPERM ? openat(dir_fd, name, flags) : fd;
}

static bool is_sparse(const struct stat *st)
{
	return (uint64_t)st->st_blocks * BLOCK < (uint64_t)st->st_size;
}

static void add_extent(struct buf *b, uint64_t at, uint64_t n)
{
	uint8_t bytes[EXTENT_SIZE];

	be_store64(bytes, at);
	be_store64(bytes + 8, n);
	buf_bytes(b, bytes, sizeof(bytes));
}

/* Where the data are; nothing when the file is one piece. All hole: one extent of length 0. */
static int find_extents(int fd, uint64_t size, struct buf *b)
{
	uint64_t at = 0;

	buf_clear(b);
	while (at < size) {
		off_t start = lseek(fd, (off_t)at, SEEK_DATA);
		off_t end;

		if (start < 0 && errno == ENXIO)
			break;
		end = start < 0 ? -1 : lseek(fd, start, SEEK_HOLE);
		if (end < 0) {
			buf_clear(b);
			return errno == EINVAL ? 0 : -errno; /* a file system without holes */
		}
		if ((uint64_t)start >= size)
			break;
		if ((uint64_t)end > size)
			end = (off_t)size;
		if (start == 0 && (uint64_t)end == size) {
			buf_clear(b);
			return 0;
		}
		add_extent(b, (uint64_t)start, (uint64_t)(end - start));
		at = (uint64_t)end;
	}
	if (b->size == 0 && size > 0)
		add_extent(b, 0, 0);
	return buf_error(b);
}

static int read_piece(int fd, struct buf *b, uint64_t at, uint64_t n)
{
	while (n > 0) {
		uint8_t *room = buf_reserve(b, n);
		ssize_t got;

		if (!room)
			return buf_error(b);
		got = pread(fd, room, n, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ESTALE;
		buf_grew(b, (size_t)got);
		at += (uint64_t)got;
		n -= (uint64_t)got;
	}
	return 0;
}

static uint64_t data_size(uint64_t size, struct slice extents)
{
	uint64_t sum = 0;

	if (extents.n == 0)
		return size;
	for (size_t i = 0; i < extents.n; i += EXTENT_SIZE)
		sum += be_load64(extents.bytes + i + 8);
	return sum;
}

static int store_content(struct capture *c, int fd, struct entry *e)
{
	int r = 0;

	if (data_size(e->size, e->extents) >= LARGE_SIZE)
		return large_put(c->store, fd, e->size, e->extents, e->hash);
	buf_clear(&c->content);
	if (e->extents.n == 0)
		r = read_piece(fd, &c->content, 0, e->size);
	for (size_t i = 0; r == 0 && i < e->extents.n; i += EXTENT_SIZE)
		r = read_piece(fd, &c->content, be_load64(e->extents.bytes + i),
			be_load64(e->extents.bytes + i + 8));
	if (r != 0)
		return r;
	return store_put(c->store, FRAME_DATA,
		c->content.size > 0 ? (const void *)c->content.data : "", c->content.size, e->hash);
}

static bool same_times(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       timespec_ns(&a->st_mtim) == timespec_ns(&b->st_mtim) &&
	       timespec_ns(&a->st_ctim) == timespec_ns(&b->st_ctim);
}

static void describe(struct entry *e, const struct stat *st)
{
	e->mode = st->st_mode;
	e->uid = st->st_uid;
	e->gid = st->st_gid;
	e->mtime_ns = timespec_ns(&st->st_mtim);
	e->size = (uint64_t)st->st_size;
	e->link_dev = st->st_nlink > 1 ? st->st_dev : 0;
	e->link_ino = st->st_nlink > 1 ? st->st_ino : 0;
}

/* One reading; -ESTALE when the file changed meanwhile. */
static int read_once(struct capture *c, int dir_fd, const char *name, struct entry *e)
{
	int64_t now = clock_wall_ns(c->clock);
	auto_close int fd = open_file(dir_fd, name);
	struct stat before, after;
	int r = 0;

	if (fd < 0 || fstat(fd, &before) < 0)
		return errno == ELOOP || errno == ENXIO ? -ESTALE : -errno;
	if (!S_ISREG(before.st_mode))
		return -ESTALE;
	describe(e, &before);
	buf_clear(&c->extents);
	if (is_sparse(&before))
		r = find_extents(fd, e->size, &c->extents);
	e->extents = (struct slice){ c->extents.data, c->extents.size };
	if (r == 0)
		r = store_content(c, fd, e);
	buf_clear(&c->xattrs);
	if (r == 0)
		r = xattrs_get(dir_fd, name, &c->xattrs);
	e->xattrs = (struct slice){ c->xattrs.data, c->xattrs.size };
	if (r != 0)
		return r;
	if (fstat(fd, &after) < 0)
		return -errno;
	if (!same_times(&before, &after))
		return -ESTALE;
	return index_put(c->index, &before, e->hash, c->xattrs.size > 0, now);
}

int capture_file(
	struct capture *c, int dir_fd, const char *name, const struct stat *st, struct entry *e)
{
	uint64_t limit =
		c->options->file_bytes_max > 0 ? c->options->file_bytes_max : FILE_BYTES_DEFAULT;
	const struct index_slot *known = index_get(c->index, st);
	int r = -ESTALE;

	if (known && !is_sparse(st) && store_has(c->store, known->hash)) {
		describe(e, st);
		memcpy(e->hash, known->hash, SHA256_SIZE);
		buf_clear(&c->xattrs);
		if (known->has_xattrs)
			r = xattrs_get(dir_fd, name, &c->xattrs);
		else
			r = 0;
		e->xattrs = (struct slice){ c->xattrs.data, c->xattrs.size };
		return r;
	}
	if ((uint64_t)st->st_size > limit && (uint64_t)st->st_blocks * BLOCK > limit)
		return LEFT_OUT_TOO_LARGE;
	for (int attempt = 0; r == -ESTALE && attempt < ATTEMPTS; attempt++)
		r = read_once(c, dir_fd, name, e);
	return r == -ESTALE ? LEFT_OUT_UNSTABLE : r;
}
