#include "chronicle/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void names_done(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names->list);
	*names = (struct names){ 0 };
}

static int compare(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static int add(struct names *names, size_t *capacity, const char *name)
{
	if (names->n == *capacity) {
		size_t more = *capacity > 0 ? *capacity * 2 : 32;
		char **grown = realloc(names->list, more * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		names->list = grown;
		*capacity = more;
	}
	names->list[names->n] = strdup(name);
	if (!names->list[names->n])
		return -ENOMEM;
	names->n++;
	return 0;
}

int names_read(int dir_fd, struct names *ret_names)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	auto_closedir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *d;
	size_t capacity = 0;
	int r = 0;

	if (!dir)
		return -errno;
	for (errno = 0; r == 0 && (d = readdir(dir)); errno = 0) {
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			r = add(ret_names, &capacity, d->d_name);
	}
	if (r == 0 && errno != 0)
		r = -errno;
	if (r == 0 && ret_names->n > 0)
		qsort(ret_names->list, ret_names->n, sizeof(*ret_names->list), compare);
	return r;
}

void path_cut(struct buf *path, size_t n)
{
	if (path->data && n <= path->size) {
		path->size = n;
		path->data[n] = '\0';
	}
}
