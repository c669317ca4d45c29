#include "engine/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"

#define XATTR_LIST_MAX  65536
#define XATTR_VALUE_MAX 65536

static int open_old(struct replacement *w)
{
	struct stat st;

	if (fstatat(w->dirfd, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	w->old_fd = openat(
		w->dirfd, w->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return w->old_fd < 0 ? -errno : 0;
}

int replacement_start(struct replacement *w, int dirfd, const char *name)
{
	uint8_t random[8];
	char hex[17];
	int r;

	*w = (struct replacement){ .dirfd = dirfd, .name = name, .old_fd = -1, .fd = -1 };
	r = open_old(w);
	if (r != 0)
		return r;
	randombytes_buf(random, sizeof(random));
	hex_encode(random, sizeof(random), hex);
	(void)snprintf(w->temporary, sizeof(w->temporary), ".interlock-%s.tmp", hex);
	/* The umask decides about a new file; an old one's mode is brought over at the end. */
	w->fd = openat(dirfd, w->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		w->old_fd >= 0 ? 0600 : 0666);
	if (w->fd < 0) {
		w->temporary[0] = '\0';
		return -errno;
	}
	return 0;
}

static int copy_xattrs(int from, int to)
{
	auto_free char *names = malloc(XATTR_LIST_MAX);
	auto_free char *value = malloc(XATTR_VALUE_MAX);
	ssize_t n;

	if (!names || !value)
		return -ENOMEM;
	n = flistxattr(from, names, XATTR_LIST_MAX);
	if (n < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (const char *name = names; name < names + n; name += strlen(name) + 1) {
		ssize_t size = fgetxattr(from, name, value, XATTR_VALUE_MAX);

		if (size < 0)
			return -errno;
		/* What only root may set comes by itself or cannot be had by us. */
		if (fsetxattr(to, name, value, (size_t)size, 0) < 0 &&
			strncmp(name, "user.", 5) == 0)
			return -errno;
	}
	return 0;
}

static int keep_attributes(const struct replacement *w)
{
	struct stat st;
	int r;

	if (w->old_fd < 0)
		return 0;
	if (fstat(w->old_fd, &st) < 0)
		return -errno;
	r = copy_xattrs(w->old_fd, w->fd);
	if (r != 0)
		return r;
	/* A file of somebody else that we may write: its owner cannot be kept, so it is not
	 * replaced. */
	if ((st.st_uid != geteuid() || st.st_gid != getegid()) &&
		fchown(w->fd, st.st_uid, st.st_gid) < 0)
		return -errno;
	return fchmod(w->fd, st.st_mode & 07777) < 0 ? -errno : 0;
}

int replacement_commit(struct replacement *w, bool must_be_new)
{
	unsigned flags = must_be_new || w->old_fd < 0 ? RENAME_NOREPLACE : 0;
	int r = keep_attributes(w);

	if (r != 0)
		return r;
	if (fsync(w->fd) < 0)
		return -errno;
	if (renameat2(w->dirfd, w->temporary, w->dirfd, w->name, flags) < 0)
		return -errno;
	w->temporary[0] = '\0';
	return fsync(w->dirfd) < 0 ? -errno : 0;
}

void replacement_done(struct replacement *w)
{
	if (w->temporary[0])
		(void)unlinkat(
			w->dirfd, w->temporary, 0); /* the failure that led here is reported */
	w->temporary[0] = '\0';
	cleanup_close(&w->fd);
	cleanup_close(&w->old_fd);
}
