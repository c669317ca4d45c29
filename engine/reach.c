#include "engine/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/engine.h"

static int open_how(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve };
	long fd;

	do
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

/* The longest root of the grant that path lies beneath; the rest is relative to it. */
static const char *find_root(const struct grant *g, const char *path, const char **ret_rest)
{
	const char *best = NULL;

	for (size_t i = 0; i < g->n_roots; i++) {
		const char *root = g->roots[i];
		size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

		if (strncmp(path, root, n) != 0 || (path[n] != '\0' && path[n] != '/'))
			continue;
		if (best && strlen(best) > n)
			continue;
		best = root;
		*ret_rest = path[n] == '/' ? path + n + 1 : path + n;
	}
	return best;
}

static int open_root(
	struct proposal *p, const char *path, uint32_t rights, const char **ret_rest, int *ret_fd)
{
	const struct grant *g = &p->verdict.grant;
	const char *root = find_root(g, path, ret_rest);
	struct stat st;
	int fd;

	if (!root || (grant_rights_on(g, path) & rights) != rights)
		return -EACCES;
	fd = open_how(AT_FDCWD, root, O_PATH | O_DIRECTORY, 0,
		RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return fd;
	/* The workspace itself may not have been replaced since the start. */
	if (strcmp(root, p->engine->workspace) == 0 &&
		(fstat(fd, &st) < 0 || st.st_dev != p->engine->workspace_device ||
			st.st_ino != p->engine->workspace_inode)) {
		(void)close(fd); /* nothing was written */
		return -ESTALE;
	}
	*ret_fd = fd;
	return 0;
}

static int check_judged(struct proposal *p, const char *path, int fd)
{
	const struct il_fact *fact = proposal_fact(p, path);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EINVAL; /* a device, FIFO or socket does things when opened or read */
	if (fact && fact->known && fact->type != IL_FILE_ABSENT &&
		(fact->device != st.st_dev || fact->inode != st.st_ino))
		return -ESTALE;
	return 0;
}

int reach_open(struct proposal *p, const char *path, uint32_t rights, int flags, int *ret_fd)
{
	auto_close int root = -1;
	auto_close int look = -1;
	auto_close int fd = -1;
	const char *rest;
	int r = open_root(p, path, rights, &rest, &root);

	if (r != 0)
		return r;
	if (*rest == '\0')
		rest = ".";
	/* First a look that opens nothing: opening a FIFO or device is already an act. */
	look = open_how(root, rest, O_PATH, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (look < 0)
		return look;
	r = check_judged(p, path, look);
	if (r != 0)
		return r;
	fd = open_how(root, rest, (uint64_t)flags | O_NOCTTY | O_NONBLOCK, 0,
		RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return fd;
	r = check_judged(p, path, fd);
	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}

/* Walks component by component, making what is missing when asked; follows no link. */
static int walk(int root, const char *rest, const char *end, bool make, int *ret_fd)
{
	auto_close int at = open_how(root, ".", O_PATH | O_DIRECTORY, 0, RESOLVE_BENEATH);

	if (at < 0)
		return at;
	while (rest < end) {
		const char *slash = memchr(rest, '/', (size_t)(end - rest));
		size_t n = (size_t)((slash ? slash : end) - rest);
		char name[256];
		int next;

		if (n == 0 || n >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, rest, n);
		name[n] = '\0';
		if (make && mkdirat(at, name, 0777) < 0 && errno != EEXIST)
			return -errno;
		next = open_how(
			at, name, O_PATH | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
		if (next < 0)
			return next;
		(void)close(at); /* only O_PATH */
		at = next;
		rest += n + (slash ? 1 : 0);
	}
	*ret_fd = take_fd(at);
	return 0;
}

static int parent(struct proposal *p, const char *path, uint32_t rights, bool make, int *ret_dirfd,
	const char **ret_name)
{
	auto_close int root = -1;
	auto_close int look = -1;
	const char *rest, *slash, *name;
	int r = open_root(p, path, rights, &rest, &root);

	if (r != 0)
		return r;
	if (*rest == '\0')
		return -EBUSY; /* the root itself is not ours to replace */
	slash = strrchr(rest, '/');
	name = slash ? slash + 1 : rest;
	r = walk(root, rest, slash ? slash : rest, make, &look);
	if (r != 0)
		return r;
	*ret_dirfd = open_how(look, ".", O_RDONLY | O_DIRECTORY, 0, RESOLVE_BENEATH);
	if (*ret_dirfd < 0)
		return *ret_dirfd;
	*ret_name = name;
	return 0;
}

int reach_parent(struct proposal *p, const char *path, uint32_t rights, int *ret_dirfd,
	const char **ret_name)
{
	return parent(p, path, rights, false, ret_dirfd, ret_name);
}

int reach_parent_make(struct proposal *p, const char *path, uint32_t rights, int *ret_dirfd,
	const char **ret_name)
{
	return parent(p, path, rights, true, ret_dirfd, ret_name);
}
