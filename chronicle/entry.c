#include "chronicle/entry.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/be.h"

#define ENTRY_FIELDS 14

bool slice_equal(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.bytes, b.bytes, a.n) == 0);
}

int slice_compare(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n > 0 ? memcmp(a.bytes, b.bytes, n) : 0;

	if (order != 0)
		return order;
	return a.n < b.n ? -1 : a.n > b.n;
}

static void write_slice(struct buf *b, struct slice s)
{
	mp_write_bin(b, s.n > 0 ? (const void *)s.bytes : "", s.n);
}

void entry_write(struct buf *b, const struct entry *e)
{
	bool hashed = e->kind == ENTRY_FILE || e->kind == ENTRY_DIR;

	mp_write_array(b, ENTRY_FIELDS);
	mp_write_uint(b, (uint64_t)e->kind);
	mp_write_uint(b, (uint64_t)e->left_out);
	write_slice(b, e->name);
	mp_write_uint(b, e->mode);
	mp_write_uint(b, e->uid);
	mp_write_uint(b, e->gid);
	mp_write_int(b, e->mtime_ns);
	mp_write_int(b, (int64_t)e->size);
	mp_write_bin(b, e->hash, hashed ? SHA256_SIZE : 0);
	write_slice(b, e->target);
	mp_write_int(b, (int64_t)e->device);
	mp_write_int(b, (int64_t)e->link_dev);
	mp_write_int(b, (int64_t)e->link_ino);
	mp_write_array(b, 2);
	write_slice(b, e->extents);
	write_slice(b, e->xattrs);
}

static int read_slice(struct mp_reader *r, size_t max, struct slice *ret_slice)
{
	return mp_read_bin(r, max, &ret_slice->bytes, &ret_slice->n);
}

static int read_u32(struct mp_reader *r, uint32_t *ret_value)
{
	uint64_t value = 0;
	int result = mp_read_uint(r, UINT32_MAX, &value);

	*ret_value = (uint32_t)value;
	return result;
}

static int read_u64(struct mp_reader *r, uint64_t *ret_value)
{
	int64_t value = 0;
	int result = mp_read_int(r, &value);

	*ret_value = (uint64_t)value;
	return result;
}

/* One component of a path, which cannot lead anywhere else. */
static bool is_name(struct slice name)
{
	if (name.n == 0 || memchr(name.bytes, '/', name.n) || memchr(name.bytes, '\0', name.n))
		return false;
	if (name.bytes[0] != '.')
		return true;
	return !(name.n == 1 || (name.n == 2 && name.bytes[1] == '.'));
}

/* Ascending, apart, within the file. */
static bool are_extents(struct slice extents, uint64_t size)
{
	uint64_t at = 0;

	if (extents.n % EXTENT_SIZE != 0)
		return false;
	for (size_t i = 0; i < extents.n; i += EXTENT_SIZE) {
		uint64_t offset = be_load64(extents.bytes + i);
		uint64_t length = be_load64(extents.bytes + i + 8);

		if (offset < at || length > size || offset > size - length)
			return false;
		at = offset + length;
	}
	return true;
}

static bool is_consistent(const struct entry *e, struct slice hash, bool named)
{
	static const uint32_t types[ENTRY_N_] = {
		[ENTRY_FILE] = S_IFREG,
		[ENTRY_DIR] = S_IFDIR,
		[ENTRY_LINK] = S_IFLNK,
	};
	bool hashed = e->kind == ENTRY_FILE || e->kind == ENTRY_DIR;

	if (named ? !is_name(e->name) : e->name.n != 0)
		return false;
	if (hash.n != (hashed ? SHA256_SIZE : 0) || e->size > INT64_MAX)
		return false;
	if (types[e->kind] != 0 && (e->mode & S_IFMT) != types[e->kind])
		return false;
	if (e->kind == ENTRY_NODE && !S_ISCHR(e->mode) && !S_ISBLK(e->mode) && !S_ISFIFO(e->mode) &&
		!S_ISSOCK(e->mode))
		return false;
	if ((e->kind == ENTRY_LINK) != (e->target.n > 0) ||
		(e->target.n > 0 && memchr(e->target.bytes, '\0', e->target.n)))
		return false;
	if ((e->kind == ENTRY_LEFT_OUT) != (e->left_out != LEFT_OUT_NOT))
		return false;
	return are_extents(e->extents, e->size) && (e->kind == ENTRY_FILE || e->extents.n == 0);
}

int entry_read(struct mp_reader *r, bool named, struct entry *ret_entry)
{
	struct entry e = { 0 };
	struct slice hash = { 0 };
	uint64_t kind = 0, left_out = 0;
	uint32_t n = 0;
	int64_t mtime = 0;

	if (mp_read_array(r, ENTRY_FIELDS, &n) != 0 || n != ENTRY_FIELDS ||
		mp_read_uint(r, ENTRY_N_ - 1, &kind) != 0 ||
		mp_read_uint(r, LEFT_OUT_N_ - 1, &left_out) != 0 ||
		read_slice(r, ENTRY_NAME_MAX, &e.name) != 0 || read_u32(r, &e.mode) != 0 ||
		read_u32(r, &e.uid) != 0 || read_u32(r, &e.gid) != 0 ||
		mp_read_int(r, &mtime) != 0 || read_u64(r, &e.size) != 0 ||
		read_slice(r, SHA256_SIZE, &hash) != 0 ||
		read_slice(r, ENTRY_TARGET_MAX, &e.target) != 0 || read_u64(r, &e.device) != 0 ||
		read_u64(r, &e.link_dev) != 0 || read_u64(r, &e.link_ino) != 0 ||
		mp_read_array(r, 2, &n) != 0 || n != 2 ||
		read_slice(r, ENTRY_EXTENTS_MAX, &e.extents) != 0 ||
		read_slice(r, ENTRY_XATTRS_MAX, &e.xattrs) != 0)
		return -EBADMSG;
	e.kind = (enum entry_kind)kind;
	e.left_out = (enum left_out)left_out;
	e.mtime_ns = mtime;
	if (!is_consistent(&e, hash, named))
		return -EBADMSG;
	if (hash.n > 0)
		memcpy(e.hash, hash.bytes, SHA256_SIZE);
	*ret_entry = e;
	return 0;
}

void tree_begin(struct buf *b, uint32_t n)
{
	mp_write_array(b, n);
}

int tree_read(const uint8_t *bytes, size_t n, entry_fn fn, void *ctx)
{
	struct mp_reader r;
	struct slice last = { 0 };
	uint32_t count = 0;

	mp_reader_init(&r, bytes, n);
	if (mp_read_array(&r, TREE_ENTRIES_MAX, &count) != 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++) {
		struct entry e;
		int result = entry_read(&r, true, &e);

		if (result == 0 && (e.kind == ENTRY_ABSENT || slice_compare(last, e.name) >= 0))
			result = -EBADMSG;
		if (result == 0 && fn)
			result = fn(ctx, &e);
		if (result != 0)
			return result;
		last = e.name;
	}
	return mp_reader_end(&r);
}

bool entry_same_content(const struct entry *a, const struct entry *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case ENTRY_FILE:
		return a->size == b->size && memcmp(a->hash, b->hash, SHA256_SIZE) == 0 &&
		       slice_equal(a->extents, b->extents);
	case ENTRY_LINK:
		return slice_equal(a->target, b->target);
	case ENTRY_NODE:
		return (a->mode & S_IFMT) == (b->mode & S_IFMT) && a->device == b->device;
	case ENTRY_LEFT_OUT:
	case ENTRY_ABSENT:
	case ENTRY_DIR:
	case ENTRY_N_:
		break;
	}
	return true;
}

bool entry_same_attributes(const struct entry *a, const struct entry *b)
{
	if (a->kind == ENTRY_ABSENT || a->kind == ENTRY_LEFT_OUT)
		return true;
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       (a->kind == ENTRY_DIR || a->mtime_ns == b->mtime_ns) &&
	       slice_equal(a->xattrs, b->xattrs);
}

bool entry_equal(const struct entry *a, const struct entry *b)
{
	return entry_same_content(a, b) && entry_same_attributes(a, b) &&
	       (a->kind != ENTRY_DIR || a->mtime_ns == b->mtime_ns) && a->link_dev == b->link_dev &&
	       a->link_ino == b->link_ino;
}

const char *left_out_name(enum left_out reason)
{
	static const char *const names[LEFT_OUT_N_] = {
		[LEFT_OUT_NOT] = "kept",
		[LEFT_OUT_EXCLUDED] = "excluded by the configuration",
		[LEFT_OUT_TOO_LARGE] = "larger than the limit",
		[LEFT_OUT_UNREADABLE] = "not readable",
		[LEFT_OUT_TOO_DEEP] = "nested too deep",
		[LEFT_OUT_STORE] = "the store itself",
		[LEFT_OUT_UNSTABLE] = "changing while it is read",
	};

	return names[reason];
}
