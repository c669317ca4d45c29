#include "chronicle/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/files.h"

#define SLOTS_MAX   ((size_t)8 << 20)
#define SLOT_BYTES  (5 * 8 + SHA256_SIZE + 1)
#define INDEX_BYTES ((size_t)1 << 30)
/*
 * The kernel stamps with the time of its last tick (10 ms at 100 Hz); whole
 * seconds tell of a file system that stores no more (2 s on FAT).
 */
#define TICK_NS   ((int64_t)20 * 1000 * 1000)
#define COARSE_NS ((int64_t)2 * 1000 * 1000 * 1000)

static const uint8_t magic[8] = { 'I', 'L', 'X', '1' };

void index_done(struct index *x)
{
	free(x->slots);
	*x = (struct index){ 0 };
}

static struct index_slot *find(
	struct index_slot *slots, size_t capacity, uint64_t dev, uint64_t ino)
{
	uint64_t h = (ino ^ (dev << 40)) * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t at = (size_t)(h >> 20);; at++) {
		struct index_slot *slot = &slots[at & (capacity - 1)];

		if (slot->ino == 0 || (slot->ino == ino && slot->dev == dev))
			return slot;
	}
}

static int grow(struct index *x)
{
	size_t capacity = x->capacity > 0 ? x->capacity * 2 : 4096;
	struct index_slot *slots;

	if (capacity > SLOTS_MAX)
		return -ENOSPC;
	slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < x->capacity; i++) {
		if (x->slots[i].ino != 0)
			*find(slots, capacity, x->slots[i].dev, x->slots[i].ino) = x->slots[i];
	}
	free(x->slots);
	x->slots = slots;
	x->capacity = capacity;
	return 0;
}

static int put(struct index *x, const struct index_slot *value)
{
	struct index_slot *slot;

	if (x->n * 4 >= x->capacity * 3) {
		int r = grow(x);

		if (r != 0)
			return r == -ENOSPC ? 0 : r; /* full: the rest is read each time */
	}
	slot = find(x->slots, x->capacity, value->dev, value->ino);
	if (slot->ino == 0)
		x->n++;
	*slot = *value;
	return 0;
}

const struct index_slot *index_get(struct index *x, const struct stat *st)
{
	struct index_slot *slot;

	if (x->capacity == 0)
		return NULL;
	slot = find(x->slots, x->capacity, st->st_dev, st->st_ino);
	if (slot->ino == 0 || slot->size != (uint64_t)st->st_size ||
		slot->mtime_ns != timespec_ns(&st->st_mtim) ||
		slot->ctime_ns != timespec_ns(&st->st_ctim))
		return NULL;
	slot->seen = 1;
	return slot;
}

bool is_racy(const struct stat *st, int64_t read_at_ns)
{
#ifdef MUTATION_CHRONICLE_RACY
	(void)st;
	(void)read_at_ns;
	return false;
#else
	int64_t grain = st->st_ctim.tv_nsec == 0 ? COARSE_NS : TICK_NS;

	return timespec_ns(&st->st_ctim) > read_at_ns - grain;
#endif
}

int index_put(struct index *x, const struct stat *st, const uint8_t *hash, bool has_xattrs,
	int64_t read_at_ns)
{
	struct index_slot slot = {
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = timespec_ns(&st->st_mtim),
		.ctime_ns = timespec_ns(&st->st_ctim),
		.has_xattrs = has_xattrs,
		.seen = 1,
	};

	if (is_racy(st, read_at_ns) || st->st_ino == 0)
		return 0;
	if (hash)
		memcpy(slot.hash, hash, SHA256_SIZE);
	x->dirty = true;
	return put(x, &slot);
}

static void slot_read(const uint8_t *b, struct index_slot *ret_slot)
{
	*ret_slot = (struct index_slot){
		.dev = be_load64(b),
		.ino = be_load64(b + 8),
		.size = be_load64(b + 16),
		.mtime_ns = (int64_t)be_load64(b + 24),
		.ctime_ns = (int64_t)be_load64(b + 32),
		.has_xattrs = b[40 + SHA256_SIZE],
	};
	memcpy(ret_slot->hash, b + 40, SHA256_SIZE);
}

int index_load(struct index *x, int dir_fd)
{
	auto_free char *text = NULL;
	uint8_t hash[SHA256_SIZE];
	const uint8_t *bytes;
	size_t n = 0;
	int r = file_read(dir_fd, "index", INDEX_BYTES, &text, &n);

	if (r == -ENOENT || r == -EFBIG || r == -EINVAL)
		return 0;
	if (r != 0)
		return r;
	bytes = (const uint8_t *)text;
	if (n < sizeof(magic) + SHA256_SIZE || memcmp(bytes, magic, sizeof(magic)) != 0 ||
		(n - sizeof(magic) - SHA256_SIZE) % SLOT_BYTES != 0)
		return 0;
	sha256_bytes(bytes, n - SHA256_SIZE, hash);
	if (memcmp(hash, bytes + n - SHA256_SIZE, SHA256_SIZE) != 0)
		return 0;
	for (size_t at = sizeof(magic); r == 0 && at < n - SHA256_SIZE; at += SLOT_BYTES) {
		struct index_slot slot;

		slot_read(bytes + at, &slot);
		if (slot.ino != 0)
			r = put(x, &slot);
	}
	return r;
}

/* Unsynced but atomic: the hash at its end tells a torn one. */
int index_save(struct index *x, int dir_fd)
{
	auto_buf struct buf b = BUF_INIT(INDEX_BYTES);
	auto_close int fd = -1;
	uint8_t hash[SHA256_SIZE];
	int r;

	if (!x->dirty)
		return 0;
	buf_bytes(&b, magic, sizeof(magic));
	for (size_t i = 0; i < x->capacity; i++) {
		const struct index_slot *s = &x->slots[i];
		uint8_t bytes[SLOT_BYTES];

		if (s->ino == 0 || (!s->seen && x->n > SLOTS_MAX / 4))
			continue;
		be_store64(bytes, s->dev);
		be_store64(bytes + 8, s->ino);
		be_store64(bytes + 16, s->size);
		be_store64(bytes + 24, (uint64_t)s->mtime_ns);
		be_store64(bytes + 32, (uint64_t)s->ctime_ns);
		memcpy(bytes + 40, s->hash, SHA256_SIZE);
		bytes[40 + SHA256_SIZE] = s->has_xattrs;
		buf_bytes(&b, bytes, sizeof(bytes));
	}
	sha256_bytes(b.data, b.size, hash);
	buf_bytes(&b, hash, sizeof(hash));
	r = buf_error(&b);
	if (r != 0)
		return r;
	fd = openat(
		dir_fd, "index.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, b.data, b.size);
	if (r == 0 && renameat(dir_fd, "index.new", dir_fd, "index") < 0)
		r = -errno;
	x->dirty = r != 0;
	return r;
}
