#include "chronicle/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/be.h"
#include "base/cleanup.h"
#include "chronicle/capture.h"
#include "chronicle/large.h"
#include "chronicle/names.h"
#include "chronicle/xattrs.h"

#define FD_PATH_SIZE 64
#define SECOND_NS    INT64_C(1000000000)

int set_mtime(int dir_fd, const char *name, int64_t mtime_ns)
{
	int64_t seconds = mtime_ns / SECOND_NS, rest = mtime_ns % SECOND_NS;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

	if (rest < 0) {
		rest += SECOND_NS;
		seconds--;
	}
	times[1] = (struct timespec){ .tv_sec = seconds, .tv_nsec = rest };
	return utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* fchmodat() follows links; an O_PATH descriptor of the object itself does not. */
static int set_mode(int dir_fd, const char *name, uint32_t mode)
{
	auto_close int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[FD_PATH_SIZE];

	if (fd < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode & 07777) < 0 ? -errno : 0;
}

int restore_attributes(int dir_fd, const char *name, const struct entry *e)
{
	int soft = 0, r = 0;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	/* The owner first: a change of it clears set-user-ID bits and capabilities. */
	if ((st.st_uid != e->uid || st.st_gid != e->gid) &&
		fchownat(dir_fd, name, e->uid, e->gid, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != EPERM)
			return -errno;
		soft = RESTORE_E_OWNER;
		/* The group at least, if it is one of ours. */
		if (fchownat(dir_fd, name, (uid_t)-1, e->gid, AT_SYMLINK_NOFOLLOW) < 0 &&
			errno != EPERM)
			return -errno;
	}
	if (e->kind != ENTRY_LINK)
		r = set_mode(dir_fd, name, e->mode);
	if (r != 0)
		return r;
	r = xattrs_set(dir_fd, name, e->xattrs);
	if (r == -EPERM || r == -EACCES) {
		soft = RESTORE_E_OWNER;
		r = 0;
	}
	if (r == 0)
		r = set_mtime(dir_fd, name, e->mtime_ns);
	return r != 0 ? r : soft;
}

/* Data from the store to where they belong; the rest of the file stays a hole. */
static int write_extents(int from, uint64_t at, int to, const struct entry *e, struct sha256 *h)
{
	int r = 0;

	if (ftruncate(to, (off_t)e->size) < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < e->extents.n; i += EXTENT_SIZE) {
		uint64_t n = be_load64(e->extents.bytes + i + 8);

		r = copy_range(from, at, to, be_load64(e->extents.bytes + i), n, h);
		at += n;
	}
	return r;
}

static int write_content(struct store *s, int to, const struct entry *e)
{
	auto_close int from = -1;
	uint64_t at = 0, n = 0;
	uint8_t hash[SHA256_SIZE];
	struct sha256 h;
	int r = store_open_blob(s, e->hash, &from, &at, &n);

	if (r != 0)
		return r > 0 ? RESTORE_E_BROKEN : r;
	sha256_init(&h);
	if (e->extents.n > 0)
		r = write_extents(from, at, to, e, &h);
	else if (n != e->size)
		r = RESTORE_E_BROKEN;
	else if (at == 0 && ioctl(to, FICLONE, from) == 0)
		r = copy_range(to, 0, -1, 0, n, &h); /* read once, to check it */
	else
		r = copy_range(from, at, to, 0, n, &h);
	sha256_final(&h, hash);
	if (r == -ESTALE || (r == 0 && memcmp(hash, e->hash, SHA256_SIZE) != 0))
		r = RESTORE_E_BROKEN;
	return r;
}

static int new_file(struct store *s, int dir_fd, const char *name, const struct entry *e)
{
	auto_close int fd =
		openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = write_content(s, fd, e);
	return r != 0 ? r : restore_attributes(dir_fd, name, e);
}

int restore_new(struct store *s, int dir_fd, const char *name, const struct entry *e)
{
	char target[ENTRY_TARGET_MAX + 1];
	int r = 0;

	switch (e->kind) {
	case ENTRY_FILE:
		return new_file(s, dir_fd, name, e);
	case ENTRY_LINK:
		memcpy(target, e->target.bytes, e->target.n);
		target[e->target.n] = '\0';
		r = symlinkat(target, dir_fd, name) < 0 ? -errno : 0;
		break;
	case ENTRY_NODE:
		if (S_ISSOCK(e->mode))
			return RESTORE_E_CANNOT;
		if (mknodat(dir_fd, name, e->mode & S_IFMT, e->device) < 0)
			return errno == EPERM ? RESTORE_E_CANNOT : -errno;
		break;
	case ENTRY_DIR:
		/* Ours until all in it is back; its attributes come last. */
		return mkdirat(dir_fd, name, 0700) < 0 ? -errno : 0;
	case ENTRY_ABSENT:
	case ENTRY_LEFT_OUT:
	case ENTRY_N_:
		return RESTORE_E_CANNOT;
	}
	return r != 0 ? r : restore_attributes(dir_fd, name, e);
}

static int remove_tree(int dir_fd, const char *name, unsigned depth)
{
	auto_close int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP(names_done) struct names names = { 0 };
	int r;

	if (fd < 0)
		return -errno;
	r = depth > CAPTURE_DEPTH_MAX ? -ELOOP : names_read(fd, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		if (unlinkat(fd, names.list[i], 0) == 0)
			continue;
		r = errno == EISDIR || errno == EPERM ? remove_tree(fd, names.list[i], depth + 1)
						      : -errno;
	}
	if (r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

int restore_remove(int dir_fd, const char *name, bool whole)
{
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
		return 0;
	return errno == ENOTEMPTY && whole ? remove_tree(dir_fd, name, 0) : -errno;
}
