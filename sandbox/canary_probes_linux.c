#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/canary.h"

#define MPTCP_PROTOCOL 262

static int try_open(const char *path, int flags)
{
	auto_close int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : 0;
}

static int try_read(const struct canary_targets *t)
{
	return try_open(t->secret, O_RDONLY);
}

static int try_write(const struct canary_targets *t)
{
	return try_open(t->victim, O_WRONLY);
}

static int try_create(const struct canary_targets *t)
{
	int r = try_open(t->fresh, O_WRONLY | O_CREAT | O_EXCL);

	if (r == 0)
		(void)unlink(t->fresh); /* so that the next try can make it again */
	return r;
}

static int try_rename(const struct canary_targets *t)
{
	if (rename(t->victim, t->renamed) < 0)
		return errno;
	(void)rename(t->renamed, t->victim); /* back, for the probes behind */
	return 0;
}

static int try_link(const struct canary_targets *t)
{
	if (link(t->victim, t->linked) < 0)
		return errno;
	(void)unlink(t->linked); /* so that the next try can make it again */
	return 0;
}

static int try_chmod(const struct canary_targets *t)
{
	return chmod(t->victim, 0600) < 0 ? errno : 0;
}

static int try_truncate(const struct canary_targets *t)
{
	return truncate(t->victim, 1) < 0 ? errno : 0;
}

static int try_list(const struct canary_targets *t)
{
	return try_open(t->dir, O_RDONLY | O_DIRECTORY);
}

static int connect_to(int fd, const void *address, size_t size)
{
	return connect(fd, address, (socklen_t)size) < 0 ? errno : 0;
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int try_tcp_connect(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = loopback(t->tcp_port);

	return fd < 0 ? errno : connect_to(fd, &to, sizeof(to));
}

static int try_tcp_bind(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = loopback(0);

	(void)t;
	return fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? errno : 0;
}

static int try_udp(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = loopback(t->udp_port);

	if (fd < 0)
		return errno;
	return sendto(fd, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}

static int try_mptcp(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, MPTCP_PROTOCOL);
	struct sockaddr_in to = loopback(t->tcp_port);

	return fd < 0 ? errno : connect_to(fd, &to, sizeof(to));
}

static int try_fastopen(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = loopback(t->tcp_port);

	if (fd < 0)
		return errno;
	return sendto(fd, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&to, sizeof(to)) < 0
		       ? errno
		       : 0;
}

static int try_unix_path(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (fd < 0)
		return errno;
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", t->socket_path);
	return connect_to(fd, &to, sizeof(to));
}

static int try_abstract(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(t->abstract);

	if (fd < 0)
		return errno;
	memcpy(to.sun_path + 1, t->abstract, n);
	return connect_to(fd, &to, offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static int try_fork(const struct canary_targets *t)
{
	pid_t pid = fork();

	(void)t;
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid(pid, NULL, 0); /* ours; it has ended or is about to */
	return 0;
}

/* In a child, since a success would replace this process; without children there is nothing to
 * execute in. */
static int spawn_program(const char *path, char *const *argv)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		static char *const no_environment[] = { NULL };

		(void)execve(path, argv, no_environment);
		_exit(errno & 0x7f);
	}
	if (pid < 0)
		return errno;
	if (waitpid(pid, &status, 0) < 0)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EACCES;
}

static int try_exec(const struct canary_targets *t)
{
	static char name[] = "true";
	char *const argv[] = { name, NULL };

	(void)t;
	return spawn_program("/bin/true", argv);
}

static int try_signal(const struct canary_targets *t)
{
	return kill(t->twin, 0) < 0 ? errno : 0;
}

static int try_ptrace(const struct canary_targets *t)
{
	if (ptrace(PTRACE_SEIZE, t->twin, NULL, NULL) < 0)
		return errno;
	(void)ptrace(
		PTRACE_DETACH, t->twin, NULL, NULL); /* a running tracee refuses; it goes with us */
	return 0;
}

static int try_environ(const struct canary_targets *t)
{
	return try_open(t->environ_path, O_RDONLY);
}

static int try_io_uring(const struct canary_targets *t)
{
	uint8_t params[256] = { 0 };
	long fd = syscall(SYS_io_uring_setup, 1, params);

	(void)t;
	if (fd < 0)
		return errno;
	(void)close((int)fd);
	return 0;
}

/* In a child of the control, since it cannot be undone. */
static int try_user_namespace(const struct canary_targets *t)
{
	pid_t pid = fork();
	int status = 0;

	(void)t;
	if (pid < 0) /* no children here: ask directly */
		return syscall(SYS_unshare, CLONE_NEWUSER) < 0 ? errno : 0;
	if (pid == 0)
		_exit(syscall(SYS_unshare, CLONE_NEWUSER) < 0 ? errno & 0x7f : 0);
	if (waitpid(pid, &status, 0) < 0)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static int try_inherited_fd(const struct canary_targets *t)
{
	char c;

	return pread(t->inherited_fd, &c, 1, 0) < 0 ? errno : 0;
}

static int try_variable(const struct canary_targets *t)
{
	(void)t;
	return getenv(CANARY_VARIABLE) ? 0 : ENOENT;
}

/* Asks a device, which reading and writing do not need. */
static int try_device(const struct canary_targets *t)
{
	auto_close int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	unsigned number;

	(void)t;
	return fd < 0 || ioctl(fd, TIOCGPTN, &number) < 0 ? errno : 0;
}

/* A call that no list names must not reach the kernel's own answer. */
static int try_bpf(const struct canary_targets *t)
{
	(void)t;
	/* Unknown command: EINVAL (or EPERM) from the kernel itself means that the call got through
	 * to it. */
	if (syscall(SYS_bpf, 0x7fff, NULL, 0) >= 0)
		return 0;
	return errno == EINVAL || errno == E2BIG || errno == EFAULT ? 0 : errno;
}

static int try_personality(const struct canary_targets *t)
{
	(void)t;
	return syscall(SYS_personality,
		       0x0800000 /* ADDR_COMPAT_LAYOUT and the like: not on the list */) < 0
		       ? errno
		       : 0;
}

static int try_privileges(const struct canary_targets *t)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	(void)t;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 0;
	if (syscall(SYS_capget, &header, caps) < 0)
		return errno;
	return caps[0].effective || caps[1].effective || caps[0].permitted || caps[1].permitted
		       ? 0
		       : EPERM;
}

#define P(profile) (1u << IL_PROFILE_##profile)
#define NO_SOCKETS (P(AGENT) | P(FETCH) | P(EGRESS) | P(FILES) | P(WEB))
#define NO_FILES   (P(AGENT) | P(FETCH) | P(EGRESS) | P(WEB))
#define EVERYWHERE (NO_SOCKETS | P(COMMAND) | P(CUSTOM))

const struct canary_probe canary_probes[] = {
	{ "file_read", IL_GUARANTEE_FILE_READ, try_read, EVERYWHERE, false },
	{ "file_write", IL_GUARANTEE_FILE_WRITE, try_write, EVERYWHERE, false },
	{ "file_create", IL_GUARANTEE_FILE_WRITE, try_create, EVERYWHERE, false },
	{ "file_rename", IL_GUARANTEE_FILE_WRITE, try_rename, EVERYWHERE, false },
	{ "file_link", IL_GUARANTEE_FILE_WRITE, try_link, EVERYWHERE, false },
	{ "file_chmod", IL_GUARANTEE_FILE_WRITE, try_chmod, NO_FILES, false },
	{ "file_truncate", IL_GUARANTEE_TRUNCATE, try_truncate, EVERYWHERE, false },
	{ "listing", IL_GUARANTEE_LISTING, try_list, EVERYWHERE, false },
	{ "device_ioctl", IL_GUARANTEE_DEVICE_IOCTL, try_device, NO_SOCKETS, false },
	{ "tcp_connect", IL_GUARANTEE_TCP_CONNECT, try_tcp_connect, EVERYWHERE, false },
	{ "tcp_bind", IL_GUARANTEE_TCP_BIND, try_tcp_bind, EVERYWHERE, false },
	{ "udp", IL_GUARANTEE_UDP, try_udp, EVERYWHERE, false },
	{ "mptcp", IL_GUARANTEE_MPTCP, try_mptcp, EVERYWHERE, false },
	{ "fastopen", IL_GUARANTEE_FASTOPEN, try_fastopen, EVERYWHERE, false },
	{ "unix_path_socket", IL_GUARANTEE_UNIX_PATH_SOCKET, try_unix_path, EVERYWHERE, false },
	{ "abstract_socket", IL_GUARANTEE_ABSTRACT_SOCKET, try_abstract, EVERYWHERE, false },
	{ "fork", IL_GUARANTEE_EXEC, try_fork, NO_SOCKETS, false },
	{ "process_spawn", IL_GUARANTEE_EXEC, try_exec, NO_SOCKETS, false },
	{ "signal", IL_GUARANTEE_SIGNAL, try_signal, EVERYWHERE, false },
	{ "ptrace", IL_GUARANTEE_PTRACE, try_ptrace, EVERYWHERE, false },
	{ "proc_environ", IL_GUARANTEE_PROC_ENVIRON, try_environ, EVERYWHERE, false },
	{ "io_uring", IL_GUARANTEE_IO_URING, try_io_uring, EVERYWHERE, false },
	{ "user_namespace", IL_GUARANTEE_USER_NAMESPACE, try_user_namespace, EVERYWHERE, false },
	{ "inherited_fd", IL_GUARANTEE_INHERITED_FD, try_inherited_fd, EVERYWHERE, true },
	{ "environment", IL_GUARANTEE_ENVIRONMENT, try_variable, NO_SOCKETS, true },
	{ "bpf", IL_GUARANTEE_SYSCALLS, try_bpf, EVERYWHERE, false },
	{ "personality", IL_GUARANTEE_SYSCALLS, try_personality, NO_SOCKETS, false },
	{ "privileges", IL_GUARANTEE_PRIVILEGES, try_privileges, EVERYWHERE, true },
	{ NULL, IL_GUARANTEE_N_, NULL, 0, false },
};
