#include "chronicle/store_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/be.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/num.h"

#define SEGMENT_NAME_SIZE 16
#define SEGMENTS_MAX      100000
#define WINDOW_SIZE       ((size_t)64 << 10)

static void segment_name(uint32_t number, char ret_name[static SEGMENT_NAME_SIZE])
{
	(void)snprintf(ret_name, SEGMENT_NAME_SIZE, "%08u", (unsigned)number);
}

int segment_create(int segments_fd, uint32_t number, int *ret_fd)
{
	char name[SEGMENT_NAME_SIZE];
	int fd;

	segment_name(number, name);
	fd = openat(segments_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int segment_remove(int segments_fd, uint32_t number)
{
	char name[SEGMENT_NAME_SIZE];

	segment_name(number, name);
	return unlinkat(segments_fd, name, 0) < 0 ? -errno : 0;
}

int large_open(int large_fd, const uint8_t hash[static SHA256_SIZE], int *ret_fd)
{
	char name[LARGE_NAME_SIZE];
	int fd;

	hex_encode(hash, SHA256_SIZE, name);
	fd = openat(large_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int frames_add(struct store *s, const struct store_frame *f)
{
	if (s->n_frames == s->capacity_frames) {
		size_t capacity = s->capacity_frames > 0 ? s->capacity_frames * 2 : 64;
		struct store_frame *grown = realloc(s->frames, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->frames = grown;
		s->capacity_frames = capacity;
	}
	s->frames[s->n_frames++] = *f;
	return 0;
}

static bool header_read(const uint8_t *h, struct store_frame *ret_frame)
{
	if (memcmp(h, "ILF1", 4) != 0 || h[4] == FRAME_NONE || h[4] >= FRAME_N_ || h[5] != 0 ||
		h[6] != 0 || h[7] != 0)
		return false;
	ret_frame->type = h[4];
	ret_frame->length = be_load64(h + 8);
	memcpy(ret_frame->hash, h + 16, SHA256_SIZE);
	return ret_frame->type < FRAME_RECORD || ret_frame->length <= RECORD_SIZE_MAX;
}

int segment_scan(int fd, uint32_t number, uint64_t size, frame_fn fn, void *ctx, uint64_t *ret_good)
{
	uint8_t window[WINDOW_SIZE];
	uint64_t at = 0, window_at = 0;
	size_t n_window = 0;

	*ret_good = 0;
	while (size - at >= FRAME_HEADER_SIZE) {
		struct store_frame f = { .segment = number };
		int r;

		if (at < window_at || at + FRAME_HEADER_SIZE > window_at + n_window) {
			ssize_t n = pread(fd, window, sizeof(window), (off_t)at);

			if (n < 0)
				return -errno;
			window_at = at;
			n_window = (size_t)n;
			if (n_window < FRAME_HEADER_SIZE)
				break;
		}
		if (!header_read(window + (at - window_at), &f) ||
			f.length > size - at - FRAME_HEADER_SIZE)
			break;
		f.offset = at + FRAME_HEADER_SIZE;
		r = fn(ctx, &f);
		if (r != 0)
			return r;
		at = f.offset + f.length;
		*ret_good = at;
	}
	return 0;
}

void store_damage(struct store *s, const char *format, ...)
{
	va_list args;

	if (s->damage[0] != '\0')
		return; /* the first one found is told */
	va_start(args, format);
	(void)vsnprintf(s->damage, sizeof(s->damage), format, args);
	va_end(args);
}

static int on_frame(void *ctx, const struct store_frame *f)
{
	struct store *s = ctx;
	struct blob blob = {
		.segment = f->segment, .type = f->type, .offset = f->offset, .length = f->length
	};

	if (f->type >= FRAME_RECORD)
		return frames_add(s, f);
	memcpy(blob.hash, f->hash, SHA256_SIZE);
	return blobs_put(&s->blobs, &blob);
}

/* Segments by number, with all their frames. */
static int load_segment(struct store *s, uint32_t number, bool is_last)
{
	struct store_segment *grown =
		realloc(s->segments, (s->n_segments + 1) * sizeof(*s->segments));
	char name[SEGMENT_NAME_SIZE];
	uint64_t good = 0;
	struct stat st;
	int fd, r;

	if (!grown)
		return -ENOMEM;
	s->segments = grown;
	segment_name(number, name);
	fd = openat(s->segments_fd, name,
		(s->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	s->segments[s->n_segments++] = (struct store_segment){ .number = number, .fd = fd };
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		store_damage(s, "segment %u is no file", (unsigned)number);
		return 0;
	}
	r = segment_scan(fd, number, (uint64_t)st.st_size, on_frame, s, &good);
	if (r != 0)
		return r;
	s->segments[s->n_segments - 1].size = good;
	if (good == (uint64_t)st.st_size)
		return 0;
	if (!is_last) {
		store_damage(s, "segment %u is damaged at byte %llu", (unsigned)number,
			(unsigned long long)good);
		return 0;
	}
	s->torn_bytes = (uint64_t)st.st_size - good;
	return 0;
}

static int compare_numbers(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return a < b ? -1 : a > b;
}

static int list_segments(struct store *s, uint32_t **ret_numbers, size_t *ret_n)
{
	int fd = openat(s->segments_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	auto_free uint32_t *numbers = NULL;
	const struct dirent *d;
	size_t n = 0;

	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		uint32_t *grown;
		const char *name = d->d_name;

		while (name[0] == '0' && name[1] != '\0')
			name++;
		if (d->d_name[0] == '.' || n == SEGMENTS_MAX)
			continue;
		grown = realloc(numbers, (n + 1) * sizeof(*numbers));
		if (!grown)
			return -ENOMEM;
		numbers = grown;
		if (num_parse_u32(name, 1, UINT32_MAX - 2, &numbers[n]) != 0)
			store_damage(s, "segments/ holds a foreign file");
		else
			n++;
	}
	if (n > 0)
		qsort(numbers, n, sizeof(*numbers), compare_numbers);
	*ret_n = n;
	*ret_numbers = take_ptr(numbers);
	return 0;
}

static int load_large(struct store *s)
{
	int fd = openat(s->large_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *d;

	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		struct blob blob = { .segment = BLOB_LARGE, .type = FRAME_DATA };
		struct stat st;
		int r;

		if (hex_decode(d->d_name, blob.hash, SHA256_SIZE) != 0 ||
			fstatat(s->large_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue; /* a temporary of a capture that died: prune removes it */
		blob.length = (uint64_t)st.st_size;
		s->large_bytes += (uint64_t)st.st_blocks * 512;
		r = blobs_put(&s->blobs, &blob);
		if (r != 0)
			return r;
	}
	return 0;
}

int store_load(struct store *s)
{
	auto_free uint32_t *numbers = NULL;
	size_t n = 0;
	int r = list_segments(s, &numbers, &n);

	s->torn_bytes = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = load_segment(s, numbers[i], i + 1 == n);
	if (r == 0)
		r = load_large(s);
	if (r != 0)
		return r;
	s->committed_segments = s->n_segments;
	s->committed_frames = s->n_frames;
	s->committed_size = n > 0 ? s->segments[n - 1].size : 0;
	return 0;
}

static int open_dir(int dir_fd, const char *name, bool make, int *ret_fd)
{
	if (make && mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	*ret_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? -errno : 0;
}

/* The key is made once; whoever may read it may sign, so it must be ours alone. */
static int load_key(struct store *s)
{
	auto_free char *text = NULL;
	uint8_t public[crypto_sign_PUBLICKEYBYTES];
	size_t n = 0;
	int r = file_read(s->dir_fd, "key", sizeof(s->key), &text, &n);

	_Static_assert(sizeof(s->key) == crypto_sign_SECRETKEYBYTES, "the key fits");
	if (r == -ENOENT && !s->read_only) {
		if (crypto_sign_keypair(public, s->key) != 0)
			return -EIO;
		return file_write_atomic(s->dir_fd, "key", s->key, sizeof(s->key), 0600);
	}
	if (r == 0 && n != sizeof(s->key))
		r = -EBADMSG;
	if (r == 0)
		memcpy(s->key, text, sizeof(s->key));
	if (text)
		explicit_bzero(text, n);
	return r;
}

int store_open_files(struct store *s, const char *dir, struct diag *reterr_diag)
{
	bool make = !s->read_only;
	struct stat st;
	int r = 0;

	if (sodium_init() < 0)
		return -EIO;
	if (make)
		r = make_dirs(dir, 0700);
	if (r != 0)
		return r;
	s->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0 || fstat(s->dir_fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return diag_set(reterr_diag, -EPERM, 0, 0,
			"The store \"%s\" must belong to its user and be closed to others.", dir);
	if (make) {
		s->lock_fd =
			openat(s->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (s->lock_fd < 0)
			return -errno;
		if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK
				       ? diag_set(reterr_diag, STORE_E_LOCKED, 0, 0,
						 "Another process writes to \"%s\".", dir)
				       : -errno;
	}
	r = open_dir(s->dir_fd, "segments", make, &s->segments_fd);
	if (r == 0)
		r = open_dir(s->dir_fd, "large", make, &s->large_fd);
	if (r == 0)
		r = load_key(s);
	if (r != 0)
		return r;
	s->head_fd = openat(s->dir_fd, "head",
		(make ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW, 0600);
	return s->head_fd < 0 ? -errno : 0;
}
