#include "chronicle/xattrs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/be.h"
#include "base/cleanup.h"

#define VALUE_MAX     ((size_t)64 << 10)
#define FD_PATH_SIZE  300
#define HEADER_SIZE   6
#define LIST_ATTEMPTS 3

/* There is no getxattrat() on most kernels; the descriptor's own path serves. */
static void fd_path(int dir_fd, const char *name, char ret_path[static FD_PATH_SIZE])
{
	(void)snprintf(ret_path, FD_PATH_SIZE, "/proc/self/fd/%d/%s", dir_fd, name);
}

/* A double-NUL-free list of names; n is its size. */
static int list_names(const char *path, char **ret_names, size_t *ret_n)
{
	auto_free char *names = NULL;

	for (int attempt = 0; attempt < LIST_ATTEMPTS; attempt++) {
		ssize_t n = llistxattr(path, NULL, 0);

		if (n == 0 || (n < 0 && errno == ENOTSUP)) {
			*ret_n = 0;
			return 0;
		}
		if (n < 0)
			return -errno;
		free(names);
		names = malloc((size_t)n);
		if (!names)
			return -ENOMEM;
		n = llistxattr(path, names, (size_t)n);
		if (n >= 0) {
			*ret_n = (size_t)n;
			*ret_names = take_ptr(names);
			return 0;
		}
		if (errno != ERANGE)
			return -errno;
	}
	return -EAGAIN;
}

static int compare_names(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static int sort_names(char *names, size_t n, const char ***ret_sorted, size_t *ret_count)
{
	const char **sorted;
	size_t count = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		count += names[i] == '\0';
	sorted = calloc(count + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		sorted[i] = names + at;
		at += strlen(names + at) + 1;
	}
	qsort(sorted, count, sizeof(*sorted), compare_names);
	*ret_sorted = sorted;
	*ret_count = count;
	return 0;
}

static int pack_one(const char *path, const char *name, struct buf *b)
{
	size_t n_name = strlen(name);
	uint8_t header[HEADER_SIZE];
	ssize_t n = lgetxattr(path, name, NULL, 0);
	size_t start = b->size;
	uint8_t *room;

	if (n < 0)
		return errno == ENODATA ? 0 : -errno;
	buf_bytes(b, header, sizeof(header));
	buf_bytes(b, name, n_name);
	room = buf_reserve(b, (size_t)n + 1);
	if (!room)
		return buf_error(b);
	if (n > 0) {
		n = lgetxattr(path, name, room, (size_t)n);
		if (n < 0)
			return -errno;
	}
	buf_grew(b, (size_t)n);
	be_store16(b->data + start, (uint16_t)n_name);
	be_store32(b->data + start + 2, (uint32_t)n);
	return 0;
}

int xattrs_get(int dir_fd, const char *name, struct buf *ret_packed)
{
	auto_free char *names = NULL;
	auto_free const char **sorted = NULL;
	char path[FD_PATH_SIZE];
	size_t n = 0, count = 0;
	int r;

	fd_path(dir_fd, name, path);
	r = list_names(path, &names, &n);
	if (r != 0 || n == 0)
		return r;
	r = sort_names(names, n, &sorted, &count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = pack_one(path, sorted[i], ret_packed);
	return r != 0 ? r : buf_error(ret_packed);
}

/* The next attribute of a packed list; false at its end or where it is damaged. */
static bool next(struct slice *rest, struct slice *ret_name, struct slice *ret_value)
{
	size_t n_name, n_value;

	if (rest->n < HEADER_SIZE)
		return false;
	n_name = be_load16(rest->bytes);
	n_value = be_load32(rest->bytes + 2);
	if (n_name == 0 || n_name > ENTRY_NAME_MAX || n_value > VALUE_MAX ||
		n_name + n_value > rest->n - HEADER_SIZE)
		return false;
	*ret_name = (struct slice){ rest->bytes + HEADER_SIZE, n_name };
	*ret_value = (struct slice){ rest->bytes + HEADER_SIZE + n_name, n_value };
	rest->bytes += HEADER_SIZE + n_name + n_value;
	rest->n -= HEADER_SIZE + n_name + n_value;
	return true;
}

static bool find(struct slice packed, struct slice name, struct slice *ret_value)
{
	struct slice found;

	while (next(&packed, &found, ret_value)) {
		if (slice_equal(found, name))
			return true;
	}
	return false;
}

int xattrs_set(int dir_fd, const char *name, struct slice packed)
{
	auto_buf struct buf present = BUF_INIT(ENTRY_XATTRS_MAX);
	struct slice now, rest, key, value, other;
	char path[FD_PATH_SIZE];
	char text[ENTRY_NAME_MAX + 1];
	int r = xattrs_get(dir_fd, name, &present);

	if (r != 0)
		return r;
	fd_path(dir_fd, name, path);
	now = rest = (struct slice){ present.data, present.size };
	while (next(&rest, &key, &value)) {
		if (find(packed, key, &other))
			continue;
		memcpy(text, key.bytes, key.n);
		text[key.n] = '\0';
		if (lremovexattr(path, text) < 0 && errno != ENODATA)
			r = -errno;
	}
	rest = packed;
	while (next(&rest, &key, &value)) {
		if (find(now, key, &other) && slice_equal(other, value))
			continue;
		memcpy(text, key.bytes, key.n);
		text[key.n] = '\0';
		if (lsetxattr(path, text, value.n > 0 ? (const void *)value.bytes : "", value.n,
			    0) < 0)
			r = -errno;
	}
	return r;
}
