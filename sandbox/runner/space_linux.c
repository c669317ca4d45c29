#include "sandbox/runner/space.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"

/* A source is opened before the new root hides it, and moved there afterwards. */
struct source {
	int tree; /* a detached copy of the mount; -1: not there */
	bool directory;
	char link[PATH_MAX]; /* a symbolic link is made again instead; "" when it is none */
};

static int write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write_all(fd, text, strlen(text));
}

static int map_ids(uid_t uid, gid_t gid)
{
	char map[64];
	int r;

	(void)snprintf(map, sizeof(map), "%u %u 1\n", (unsigned)uid, (unsigned)uid);
	r = write_file("/proc/self/uid_map", map);
	if (r == 0)
		r = write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1\n", (unsigned)gid, (unsigned)gid);
	return r != 0 ? r : write_file("/proc/self/gid_map", map);
}

static int loopback_up(void)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo" };

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return -errno;
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

int space_unshare(const struct job *job, const char **reterr_step)
{
	int spaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
		     CLONE_NEWCGROUP;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r;

#ifndef MUTATION_NET_NAMESPACE
	spaces |= job->own_network ? CLONE_NEWNET : 0;
#endif
	*reterr_step = "namespaces";
	if (unshare(spaces) < 0)
		return -errno;
	*reterr_step = "map of user ids";
	r = map_ids(uid, gid);
	if (r != 0)
		return r;
	*reterr_step = "host name";
	if (sethostname("interlock", 9) < 0)
		return -errno;
	*reterr_step = "loopback";
	return job->own_network ? loopback_up() : 0;
}

static int open_source(const struct job_bind *bind, struct source *ret_source)
{
	struct source s = { .tree = -1 };
	struct stat st;
	ssize_t n;

	if (lstat(bind->path, &st) < 0) {
		if (!bind->optional || errno == EMFILE)
			return -errno;
		*ret_source = s;
		return 0;
	}
	if (S_ISLNK(st.st_mode)) {
		n = readlink(bind->path, s.link, sizeof(s.link) - 1);
		*ret_source = s;
		return n < 0 ? -errno : 0;
	}
	s.directory = S_ISDIR(st.st_mode);
	if (bind->kind == JOB_BIND_HIDE) {
		s.tree = -1;
		*ret_source = s;
		return 0;
	}
	s.tree = (int)syscall(SYS_open_tree, AT_FDCWD, bind->path,
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_RECURSIVE);
	if (s.tree < 0 && !bind->optional)
		return -errno;
	*ret_source = s;
	return 0;
}

static int set_attributes(int tree, enum job_bind_kind kind)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID };

	if (kind != JOB_BIND_WRITABLE)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
#ifdef MUTATION_READONLY_BINDS
	attr.attr_set = MOUNT_ATTR_NOSUID;
#endif
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
		    sizeof(attr)) < 0)
		return -errno;
	return 0;
}

/* An empty file or directory to mount on, beneath the new root, which is the working directory. */
static int make_target(const char *target, bool directory)
{
	char copy[PATH_MAX];
	char *slash;
	struct stat st;
	int fd, r;

	if (lstat(target, &st) == 0)
		return 0;
	if ((size_t)snprintf(copy, sizeof(copy), "./%s", target) >= sizeof(copy))
		return -ENAMETOOLONG;
	slash = directory ? NULL : strrchr(copy, '/');
	if (slash)
		*slash = '\0';
	r = make_dirs(copy, 0755);
	if (r != 0 || directory)
		return r;
	fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);
	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

static int hide(const char *target, bool directory)
{
	if (directory)
		return mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY,
			       "mode=0555,size=4k") < 0
			       ? -errno
			       : 0;
	if (mount("dev/null", target, NULL, MS_BIND, NULL) < 0)
		return -errno;
	return 0;
}

static int place_source(const struct job_bind *bind, const struct source *s)
{
	const char *target = bind->path + 1;
	int r;

	if (s->link[0]) {
		r = make_target(target, false);
		if (r != 0)
			return r;
		(void)unlink(target); /* what make_target() left there */
		return symlink(s->link, target) < 0 && errno != EEXIST ? -errno : 0;
	}
	if (s->tree < 0 && bind->kind != JOB_BIND_HIDE)
		return 0;
	if (target[0] == '\0')
		return -EINVAL; /* the root itself is never given */
	r = make_target(target, s->directory);
	if (r != 0)
		return bind->optional ? 0 : r;
	if (bind->kind == JOB_BIND_HIDE)
		return hide(target, s->directory);
	r = set_attributes(s->tree, bind->kind);
	if (r == 0 &&
		syscall(SYS_move_mount, s->tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	return r;
}

static int mount_at(const char *type, const char *target, unsigned long flags, const char *options)
{
	int r = make_target(target, true);

	if (r == 0 && mount(type, target, type, flags, options) < 0)
		r = -errno;
	return r;
}

/* What a program expects of any system, private to this command. */
static int mount_private(void)
{
	static const struct {
		const char *link, *to;
	} links[] = { { "dev/fd", "/proc/self/fd" }, { "dev/stdin", "/proc/self/fd/0" },
		{ "dev/stdout", "/proc/self/fd/1" }, { "dev/stderr", "/proc/self/fd/2" },
		{ "dev/ptmx", "pts/ptmx" } };
	int r = mount_at("proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);

	if (r == 0)
		r = mount_at("tmpfs", "tmp", MS_NOSUID | MS_NODEV, "mode=1777");
	if (r == 0)
		r = mount_at("tmpfs", "var/tmp", MS_NOSUID | MS_NODEV, "mode=1777");
	if (r == 0)
		r = mount_at("tmpfs", "dev/shm", MS_NOSUID | MS_NODEV, "mode=1777");
	if (r == 0)
		r = mount_at("devpts", "dev/pts", MS_NOSUID | MS_NOEXEC,
			"newinstance,ptmxmode=0666,mode=620");
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(links); i++) {
		if (symlink(links[i].to, links[i].link) < 0 && errno != EEXIST)
			r = -errno;
	}
	return r;
}

static int enter_root(void)
{
	const char *hooks[] = { "/tmp", "/dev", "/proc" };

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < N_ELEMENTS(hooks); i++) {
		if (mount("tmpfs", hooks[i], "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") ==
			0)
			return chdir(hooks[i]) < 0 ? -errno : 0;
	}
	return -errno;
}

static int leave_old_root(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return -errno;
	/* The old root lies over the new one now; taking it away leaves only what was bound. */
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)) < 0)
		return -errno;
	return 0;
}

int space_build(const struct job *job, const char **reterr_step)
{
	auto_free struct source *sources = calloc(job->n_binds + 1, sizeof(*sources));
	int r = sources ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < job->n_binds; i++) {
		*reterr_step = job->binds[i].path;
		r = open_source(&job->binds[i], &sources[i]);
	}
	if (r != 0)
		return r;
	*reterr_step = "new root";
	r = enter_root();
	if (r == 0) {
		*reterr_step = "private /proc, /dev and /tmp";
		r = mount_private();
	}
	for (size_t i = 0; r == 0 && i < job->n_binds; i++) {
		*reterr_step = job->binds[i].path;
		r = place_source(&job->binds[i], &sources[i]);
		if (sources[i].tree >= 0)
			(void)close(sources[i].tree);
	}
	if (r != 0)
		return r;
	*reterr_step = "pivot_root";
	return leave_old_root();
}
