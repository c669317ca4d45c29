#include "audit/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/num.h"

#define SEGMENT_SUFFIX ".jsonl"
#define SEGMENT_DIGITS 8

void segment_name(uint32_t number, char ret_name[static SEGMENT_NAME_SIZE])
{
	(void)snprintf(ret_name, SEGMENT_NAME_SIZE, "%08u" SEGMENT_SUFFIX, number % 100000000u);
}

static bool number_of(const char *name, uint32_t *ret_number)
{
	char digits[SEGMENT_DIGITS + 1] = "";

	if (strlen(name) != SEGMENT_DIGITS + strlen(SEGMENT_SUFFIX) ||
		strcmp(name + SEGMENT_DIGITS, SEGMENT_SUFFIX) != 0)
		return false;
	memcpy(digits, name, SEGMENT_DIGITS);
	return num_parse_u32(digits, 1, 99999999, ret_number) == 0;
}

static int compare_numbers(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

int segment_list(int dir_fd, uint32_t **ret_numbers, size_t *ret_n)
{
	auto_free uint32_t *numbers = NULL;
	auto_closedir DIR *dir = NULL;
	size_t n = 0, capacity = 0;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		cleanup_close(&fd);
		return -errno;
	}
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		uint32_t number;

		if (!number_of(entry->d_name, &number))
			continue;
		if (n == capacity) {
			uint32_t *grown = realloc(numbers,
				(capacity = capacity ? 2 * capacity : 16) * sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			numbers = grown;
		}
		numbers[n++] = number;
	}
	if (n > 0)
		qsort(numbers, n, sizeof(*numbers), compare_numbers);
	*ret_numbers = take_ptr(numbers);
	*ret_n = n;
	return 0;
}

int segment_open(int dir_fd, uint32_t number, int *ret_fd)
{
	char name[SEGMENT_NAME_SIZE];
	auto_close int fd = -1;

	segment_name(number, name);
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fsync(fd) < 0 || fsync(dir_fd) < 0)
		return -errno;
	*ret_fd = take_fd(fd);
	return 0;
}

int segment_read_at(int fd, void *bytes, size_t n, uint64_t offset, size_t *ret_n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t part = pread(fd, (char *)bytes + got, n - got, (off_t)(offset + got));

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			return -errno;
		if (part == 0)
			break;
		got += (size_t)part;
	}
	*ret_n = got;
	return 0;
}
