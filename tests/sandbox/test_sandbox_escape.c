/*
 * Escapes: each deed is done outside first, where it must work, and then inside, where it must not.
 * Rows differ in system call or kernel path, not in operand. tests/sandbox/mutate.sh takes each
 * protection out of the product and expects this program to fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/canary.h"
#include "sandbox/plan.h"
#include "sandbox/sandbox.h"

#define OUTCOME_BROKEN_SETUP 200

/* How the confined side is set up. */
enum setup {
	AS_AGENT,
	AS_COMMAND,      /* system directories readable, nothing else */
	AS_COMMAND_PORT, /* may connect to one TCP port, which is not the listener's */
	AS_COMMAND_UNIX, /* may use Unix sockets */
	AS_N_
};

static const char *const setup_names[] = { [AS_AGENT] = "agent",
	[AS_COMMAND] = "command",
	[AS_COMMAND_PORT] = "command+port",
	[AS_COMMAND_UNIX] = "command+unix" };

struct escape {
	const char *name;
	enum setup setup;
	canary_try_fn try;
};

static int done_or_errno(long r)
{
	return r < 0 ? errno : 0;
}

static int close_or_errno(long fd)
{
	if (fd < 0)
		return errno;
	(void)close((int)fd);
	return 0;
}

/* ---- files by other calls ---- */

static int by_open_call(const struct canary_targets *t)
{
#ifdef SYS_open
	return close_or_errno(syscall(SYS_open, t->secret, O_RDONLY, 0));
#else
	return close_or_errno(openat(AT_FDCWD, t->secret, O_RDONLY));
#endif
}

static int by_openat2(const struct canary_targets *t)
{
	uint64_t how[3] = { O_RDONLY, 0, 0 };

	return close_or_errno(syscall(SYS_openat2, AT_FDCWD, t->secret, how, sizeof(how)));
}

static int by_o_path_and_proc(const struct canary_targets *t)
{
	auto_close int fd = open(t->secret, O_PATH | O_CLOEXEC);
	char link[64];

	if (fd < 0)
		return errno;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return close_or_errno(open(link, O_RDONLY));
}

static int by_symlink(const struct canary_targets *t)
{
	char link[128];
	int r;

	(void)snprintf(link, sizeof(link), "%s/link", t->dir);
	if (symlink(t->secret, link) < 0)
		return errno;
	r = close_or_errno(open(link, O_RDONLY));
	(void)unlink(link);
	return r;
}

static int by_proc_root(const struct canary_targets *t)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/self/root%s", t->secret);
	return close_or_errno(open(path, O_RDONLY));
}

static int by_proc_cwd(const struct canary_targets *t)
{
	return chdir(t->dir) < 0 ? errno : close_or_errno(open("/proc/self/cwd/secret", O_RDONLY));
}

static int by_append(const struct canary_targets *t)
{
	return close_or_errno(open(t->victim, O_WRONLY | O_APPEND));
}

static int by_o_trunc(const struct canary_targets *t)
{
	return close_or_errno(open(t->victim, O_WRONLY | O_TRUNC));
}

static int by_o_tmpfile(const struct canary_targets *t)
{
	return close_or_errno(open(t->dir, O_WRONLY | O_TMPFILE, 0600));
}

static int by_mkdir(const struct canary_targets *t)
{
	int r = done_or_errno(mkdir(t->fresh, 0700));

	(void)rmdir(t->fresh);
	return r;
}

static int by_mknod_fifo(const struct canary_targets *t)
{
	int r = done_or_errno(mknod(t->fresh, S_IFIFO | 0600, 0));

	(void)unlink(t->fresh);
	return r;
}

static int by_symlink_create(const struct canary_targets *t)
{
	int r = done_or_errno(symlink("/x", t->fresh));

	(void)unlink(t->fresh);
	return r;
}

static int by_unlink(const struct canary_targets *t)
{
	auto_close int fd = -1;

	if (unlink(t->victim) < 0)
		return errno;
	fd = open(t->victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* back, for the rows behind */
	return 0;
}

static int by_renameat2_exchange(const struct canary_targets *t)
{
	return done_or_errno(
		       syscall(SYS_renameat2, AT_FDCWD, t->victim, AT_FDCWD, t->secret, 2u)) == 0
		       ? done_or_errno(syscall(
				 SYS_renameat2, AT_FDCWD, t->victim, AT_FDCWD, t->secret, 2u))
		       : errno;
}

static int by_linkat(const struct canary_targets *t)
{
	int r = done_or_errno(linkat(AT_FDCWD, t->secret, AT_FDCWD, t->linked, 0));

	(void)unlink(t->linked);
	return r;
}

static int by_mmap_shared(const struct canary_targets *t)
{
	auto_close int fd = open(t->victim, O_RDWR | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int by_getdents(const struct canary_targets *t)
{
	auto_close int fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char entries[1024];

	return fd < 0 ? errno
		      : done_or_errno(syscall(SYS_getdents64, fd, entries, sizeof(entries)));
}

static int by_bind_unix_node(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int r;

	if (fd < 0)
		return errno;
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", t->fresh);
	r = done_or_errno(bind(fd, (const struct sockaddr *)&at, sizeof(at)));
	(void)unlink(t->fresh);
	return r;
}

static int by_handle(const struct canary_targets *t)
{
	struct {
		struct file_handle h;
		char bytes[128];
	} handle = { .h = { .handle_bytes = 128 } };
	int mount_id;
	auto_close int mount_fd = -1;

	if (name_to_handle_at(AT_FDCWD, t->secret, &handle.h, &mount_id, 0) < 0)
		return errno;
	mount_fd = open("/", O_RDONLY | O_CLOEXEC);
	return close_or_errno(open_by_handle_at(mount_fd, &handle.h, O_RDONLY));
}

/* ---- programs ---- */

static int run_in_child(
	void (*exec)(const struct canary_targets *t), const struct canary_targets *t)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return errno;
	if (pid == 0) {
		exec(t);
		_exit(errno & 0x7f);
	}
	if (waitpid(pid, &status, 0) < 0)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EACCES;
}

/* A program that was put where no grant allows execution. */
static int by_exec_outside(const struct canary_targets *t)
{
	char path[128];
	static char name[] = "program";
	char *const argv[] = { name, NULL };
	pid_t pid;
	int status = 0;

	(void)snprintf(path, sizeof(path), "%s/program", t->dir);
	pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		(void)execv(path, argv);
		_exit(errno & 0x7f);
	}
	return waitpid(pid, &status, 0) < 0 ? errno
	       : WIFEXITED(status)          ? WEXITSTATUS(status)
					    : EACCES;
}

static void exec_memfd(const struct canary_targets *t)
{
	int in = open("/bin/true", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("true", 0);
	static char name[] = "true";
	char *const argv[] = { name, NULL };
	static char *const no_environment[] = { NULL };
	char piece[4096];
	ssize_t n;

	(void)t;
	while (in >= 0 && (n = read(in, piece, sizeof(piece))) > 0) {
		if (write(fd, piece, (size_t)n) != n)
			return;
	}
	(void)syscall(SYS_execveat, fd, "", argv, no_environment, AT_EMPTY_PATH);
}

static int by_memfd_exec(const struct canary_targets *t)
{
	return run_in_child(exec_memfd, t);
}

static int by_clone(const struct canary_targets *t)
{
	long pid;

	(void)t;
	pid = syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int by_clone3(const struct canary_targets *t)
{
	uint64_t args[11] = { 0 };
	long pid;

	(void)t;
	args[4] = SIGCHLD;
	pid = syscall(SYS_clone3, args, sizeof(args));
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

/* ---- network ---- */

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int connect_by(int family, int type, int protocol, uint16_t port)
{
	auto_close int fd = socket(family, type | SOCK_CLOEXEC, protocol);
	struct sockaddr_in to = loopback(port);

	return fd < 0 ? errno
		      : done_or_errno(connect(fd, (const struct sockaddr *)&to, sizeof(to)));
}

static int by_tcp(const struct canary_targets *t)
{
	return connect_by(AF_INET, SOCK_STREAM, 0, t->tcp_port);
}

static int by_tcp_mapped_v6(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(t->tcp_port) };

	to.sin6_addr.s6_addr[10] = to.sin6_addr.s6_addr[11] = 0xff;
	to.sin6_addr.s6_addr[12] = 127;
	to.sin6_addr.s6_addr[15] = 1;
	return fd < 0 ? errno
		      : done_or_errno(connect(fd, (const struct sockaddr *)&to, sizeof(to)));
}

static int by_udp_connect(const struct canary_targets *t)
{
	return connect_by(AF_INET, SOCK_DGRAM, 0, t->udp_port);
}

static int by_sendmsg_udp(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = loopback(t->udp_port);
	char byte = 'x';
	struct iovec piece = { &byte, 1 };
	struct msghdr m = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &piece, .msg_iovlen = 1
	};

	return fd < 0 ? errno : done_or_errno(sendmsg(fd, &m, 0));
}

static int by_fastopen_sendmsg(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = loopback(t->tcp_port);
	char byte = 'x';
	struct iovec piece = { &byte, 1 };
	struct msghdr m = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &piece, .msg_iovlen = 1
	};

	return fd < 0 ? errno : done_or_errno(sendmsg(fd, &m, MSG_FASTOPEN));
}

static int by_fastopen_sendto(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = loopback(t->tcp_port);

	return fd < 0 ? errno
		      : done_or_errno(sendto(fd, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&to,
				sizeof(to)));
}

static int by_mptcp(const struct canary_targets *t)
{
	return connect_by(AF_INET, SOCK_STREAM, 262, t->tcp_port);
}

static int by_bind_any(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = { .sin_family = AF_INET };

	(void)t;
	return fd < 0 ? errno : done_or_errno(bind(fd, (const struct sockaddr *)&at, sizeof(at)));
}

static int by_netlink(const struct canary_targets *t)
{
	(void)t;
	return close_or_errno(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int by_unix_datagram(const struct canary_targets *t)
{
	(void)t;
	return close_or_errno(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int by_unix_path(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", t->socket_path);
	return fd < 0 ? errno
		      : done_or_errno(connect(fd, (const struct sockaddr *)&to, sizeof(to)));
}

static int by_abstract(const struct canary_targets *t)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(t->abstract);

	memcpy(to.sun_path + 1, t->abstract, n);
	return fd < 0 ? errno
		      : done_or_errno(connect(fd, (const struct sockaddr *)&to,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)));
}

/* ---- other processes ---- */

static int by_kill(const struct canary_targets *t)
{
	return done_or_errno(kill(t->twin, 0));
}

static int by_tkill(const struct canary_targets *t)
{
	return done_or_errno(syscall(SYS_tkill, t->twin, 0));
}

static int by_pidfd_signal(const struct canary_targets *t)
{
	auto_close int fd = (int)syscall(SYS_pidfd_open, t->twin, 0);

	return fd < 0 ? errno : done_or_errno(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
}

static int by_process_vm_readv(const struct canary_targets *t)
{
	char c;
	static char there;
	struct iovec mine = { &c, 1 }, theirs = { &there, 1 };

	return done_or_errno(process_vm_readv(t->twin, &mine, 1, &theirs, 1, 0));
}

static int by_proc_mem(const struct canary_targets *t)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)t->twin);
	return close_or_errno(open(path, O_RDONLY));
}

static int by_proc_environ(const struct canary_targets *t)
{
	return close_or_errno(open(t->environ_path, O_RDONLY));
}

static int by_proc_fd(const struct canary_targets *t)
{
	char path[64], target[256];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)t->twin);
	return done_or_errno(readlink(path, target, sizeof(target)));
}

static int by_kcmp(const struct canary_targets *t)
{
	return done_or_errno(syscall(SYS_kcmp, getpid(), t->twin, 2 /* KCMP_FILES */, 0, 0));
}

/* ---- kernel surface ---- */

static int by_unshare_user(const struct canary_targets *t)
{
	(void)t;
	return done_or_errno(syscall(SYS_unshare, CLONE_NEWUSER));
}

static int by_unshare_mount(const struct canary_targets *t)
{
	(void)t;
	return done_or_errno(syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS));
}

static int by_clone_newuser(const struct canary_targets *t)
{
	long pid;

	(void)t;
	pid = syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L);
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int by_io_uring(const struct canary_targets *t)
{
	uint8_t params[256] = { 0 };

	(void)t;
	return close_or_errno(syscall(SYS_io_uring_setup, 1, params));
}

static int by_keyctl(const struct canary_targets *t)
{
	(void)t;
	return done_or_errno(syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -3, 0));
}

static int by_add_key(const struct canary_targets *t)
{
	(void)t;
	return done_or_errno(syscall(SYS_add_key, "user", "interlock-escape", "x", 1, -3));
}

static int by_userfaultfd(const struct canary_targets *t)
{
	(void)t;
	return close_or_errno(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */));
}

static int by_exec_memory(const struct canary_targets *t)
{
	void *p = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)t;
	return p == MAP_FAILED ? errno : munmap(p, 4096) < 0 ? errno : 0;
}

static int by_mprotect_exec(const struct canary_targets *t)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)t;
	return p == MAP_FAILED ? errno : done_or_errno(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int by_dumpable(const struct canary_targets *t)
{
	(void)t;
	return done_or_errno(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)) == 0 &&
			       prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1
		       ? 0
		       : EPERM;
}

static int by_inherited_read(const struct canary_targets *t)
{
	char c;

	return done_or_errno(pread(t->inherited_fd, &c, 1, 0));
}

static int by_inherited_dup(const struct canary_targets *t)
{
	return close_or_errno(fcntl(t->inherited_fd, F_DUPFD, 100));
}

static int by_getenv(const struct canary_targets *t)
{
	(void)t;
	return getenv(CANARY_VARIABLE) ? 0 : ENOENT;
}

static int by_environ_array(const struct canary_targets *t)
{
	(void)t;
	for (char **v = environ; v && *v; v++) {
		if (strncmp(*v, CANARY_VARIABLE "=", sizeof(CANARY_VARIABLE)) == 0)
			return 0;
	}
	return ENOENT;
}

static const struct escape escapes[] = {
	{ "read by open", AS_AGENT, by_open_call },
	{ "read by openat2", AS_AGENT, by_openat2 },
	{ "read by O_PATH and /proc/self/fd", AS_COMMAND, by_o_path_and_proc },
	{ "read through a symbolic link", AS_COMMAND, by_symlink },
	{ "read through /proc/self/root", AS_COMMAND, by_proc_root },
	{ "read through /proc/self/cwd", AS_COMMAND, by_proc_cwd },
	{ "read by handle", AS_COMMAND, by_handle },
	{ "list by getdents", AS_AGENT, by_getdents },
	{ "list by getdents, as a command", AS_COMMAND, by_getdents },
	{ "write by O_APPEND", AS_COMMAND, by_append },
	{ "write by a shared mapping", AS_COMMAND, by_mmap_shared },
	{ "truncate by O_TRUNC", AS_COMMAND, by_o_trunc },
	{ "create by O_TMPFILE", AS_COMMAND, by_o_tmpfile },
	{ "create by mkdir", AS_COMMAND, by_mkdir },
	{ "create by mknod", AS_COMMAND, by_mknod_fifo },
	{ "create by symlink", AS_COMMAND, by_symlink_create },
	{ "create by binding a socket", AS_COMMAND_UNIX, by_bind_unix_node },
	{ "delete by unlink", AS_COMMAND, by_unlink },
	{ "exchange by renameat2", AS_COMMAND, by_renameat2_exchange },
	{ "link by linkat", AS_COMMAND, by_linkat },
	{ "start a program from elsewhere", AS_COMMAND, by_exec_outside },
	{ "start a program from memory", AS_AGENT, by_memfd_exec },
	{ "a child by clone", AS_AGENT, by_clone },
	{ "a child by clone3", AS_AGENT, by_clone3 },
	{ "clone3 as a command", AS_COMMAND, by_clone3 },
	{ "TCP", AS_AGENT, by_tcp },
	{ "TCP as a command", AS_COMMAND, by_tcp },
	{ "TCP to another port than granted", AS_COMMAND_PORT, by_tcp },
	{ "TCP by a mapped address", AS_COMMAND_PORT, by_tcp_mapped_v6 },
	{ "TCP opened by sendto", AS_COMMAND_PORT, by_fastopen_sendto },
	{ "TCP opened by sendmsg", AS_COMMAND_PORT, by_fastopen_sendmsg },
	{ "MPTCP", AS_COMMAND_PORT, by_mptcp },
	{ "MPTCP as an agent", AS_AGENT, by_mptcp },
	{ "bind any TCP port", AS_COMMAND_PORT, by_bind_any },
	{ "bind as an agent", AS_AGENT, by_bind_any },
	{ "UDP by connect", AS_COMMAND_PORT, by_udp_connect },
	{ "UDP by sendmsg", AS_COMMAND, by_sendmsg_udp },
	{ "netlink", AS_COMMAND, by_netlink },
	{ "Unix datagrams", AS_AGENT, by_unix_datagram },
	{ "a Unix path socket", AS_COMMAND, by_unix_path },
	{ "a Unix path socket as an agent", AS_AGENT, by_unix_path },
	{ "an abstract socket", AS_COMMAND_UNIX, by_abstract },
	{ "an abstract socket as an agent", AS_AGENT, by_abstract },
	{ "signal by kill", AS_COMMAND, by_kill },
	{ "signal by tkill", AS_COMMAND, by_tkill },
	{ "signal by a process descriptor", AS_COMMAND, by_pidfd_signal },
	{ "memory by process_vm_readv", AS_COMMAND, by_process_vm_readv },
	{ "memory by /proc", AS_COMMAND, by_proc_mem },
	{ "environment by /proc", AS_COMMAND, by_proc_environ },
	{ "descriptors by /proc", AS_COMMAND, by_proc_fd },
	{ "kcmp", AS_COMMAND, by_kcmp },
	{ "user namespace by unshare", AS_COMMAND, by_unshare_user },
	{ "mount namespace by unshare", AS_COMMAND, by_unshare_mount },
	{ "user namespace by clone", AS_COMMAND, by_clone_newuser },
	{ "io_uring", AS_COMMAND, by_io_uring },
	{ "io_uring as an agent", AS_AGENT, by_io_uring },
	{ "keyrings", AS_COMMAND, by_keyctl },
	{ "a new key", AS_AGENT, by_add_key },
	{ "userfaultfd", AS_COMMAND, by_userfaultfd },
	{ "executable memory", AS_AGENT, by_exec_memory },
	{ "memory made executable", AS_AGENT, by_mprotect_exec },
	{ "dumpable again", AS_AGENT, by_dumpable },
	{ "read an inherited descriptor", AS_AGENT, by_inherited_read },
	{ "copy an inherited descriptor", AS_COMMAND, by_inherited_dup },
	{ "a secret by getenv", AS_AGENT, by_getenv },
	{ "a secret in the environment", AS_COMMAND, by_environ_array },
};

static int make_plan(enum setup setup, struct il_sandbox_plan **ret_plan)
{
	struct il_sandbox_target port = { .port = 1 };
	struct il_sandbox_config c = { .profile = setup == AS_AGENT ? IL_PROFILE_AGENT
								    : IL_PROFILE_COMMAND,
		.may_spawn = setup != AS_AGENT };
	struct diag diag = { 0 };

	if (setup == AS_COMMAND_PORT) {
		c.connect = &port;
		c.n_connect = 1;
	}
	c.may_use_unix_sockets = setup == AS_COMMAND_UNIX;
	return il_sandbox_plan_config(&c, ret_plan, &diag);
}

/* The errno of one try in a child: unconfined, or confined by the plan. */
static int try_in_child(
	const struct escape *e, const struct canary_targets *t, const struct il_sandbox_plan *plan)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return OUTCOME_BROKEN_SETUP;
	if (pid == 0) {
		struct il_sandbox_step_error error = { 0 };

		if (plan && il_sandbox_apply_self(plan, &error) != 0) {
			(void)fprintf(stderr, "%s\n", error.text);
			_exit(OUTCOME_BROKEN_SETUP);
		}
		_exit(e->try(t) & 0x7f);
	}
	if (waitpid(pid, &status, 0) < 0)
		return OUTCOME_BROKEN_SETUP;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM; /* killed by the filter */
}

static int put(const char *path, const char *from, mode_t mode)
{
	auto_close int in = open(from, O_RDONLY | O_CLOEXEC);
	auto_close int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ssize_t n = 1;

	while (in >= 0 && out >= 0 && n > 0)
		n = sendfile(out, in, NULL, 1 << 20);
	return in < 0 || out < 0 || n < 0 ? -1 : 0;
}

static int make_targets(struct canary_targets *t)
{
	struct sockaddr_in at = loopback(0);
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(at);
	char program[128];
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int path = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/interlock-escape-XXXXXX");
	if (!mkdtemp(t->dir))
		return -1;
	(void)snprintf(t->secret, sizeof(t->secret), "%s/secret", t->dir);
	(void)snprintf(t->victim, sizeof(t->victim), "%s/victim", t->dir);
	(void)snprintf(t->fresh, sizeof(t->fresh), "%s/fresh", t->dir);
	(void)snprintf(t->linked, sizeof(t->linked), "%s/linked", t->dir);
	(void)snprintf(t->socket_path, sizeof(t->socket_path), "%s/socket", t->dir);
	(void)snprintf(t->abstract, sizeof(t->abstract), "interlock-escape-%d", (int)getpid());
	(void)snprintf(t->environ_path, sizeof(t->environ_path), "/proc/%d/environ", (int)getpid());
	(void)snprintf(program, sizeof(program), "%s/program", t->dir);
	t->twin = getpid();
	if (put(t->secret, "/bin/true", 0600) != 0 || put(t->victim, "/bin/true", 0600) != 0 ||
		put(program, "/bin/true", 0700) != 0)
		return -1;
	if (bind(tcp, (const struct sockaddr *)&at, size) < 0 || listen(tcp, 64) < 0 ||
		getsockname(tcp, (struct sockaddr *)&at, &size) < 0)
		return -1;
	t->tcp_port = ntohs(at.sin_port);
	at = loopback(0);
	if (bind(udp, (const struct sockaddr *)&at, size) < 0 ||
		getsockname(udp, (struct sockaddr *)&at, &size) < 0)
		return -1;
	t->udp_port = ntohs(at.sin_port);
	memcpy(local.sun_path, t->socket_path, strlen(t->socket_path) + 1);
	if (bind(path, (const struct sockaddr *)&local, sizeof(local)) < 0 || listen(path, 64) < 0)
		return -1;
	memset(local.sun_path, 0, sizeof(local.sun_path));
	memcpy(local.sun_path + 1, t->abstract, strlen(t->abstract));
	if (bind(abstract, (const struct sockaddr *)&local,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(t->abstract))) <
			0 ||
		listen(abstract, 64) < 0)
		return -1;
	t->inherited_fd = open(t->secret, O_RDONLY | O_CLOEXEC);
	return t->inherited_fd < 0 || setenv(CANARY_VARIABLE, "1", 1) < 0 ? -1 : 0;
}

static void drop_targets(const struct canary_targets *t)
{
	auto_free char *command = NULL;

	if (asprintf(&command, "rm -rf '%s'", t->dir) > 0)
		(void)!system(command);
}

int main(void)
{
	struct il_sandbox_plan *plans[AS_N_] = { NULL };
	struct canary_targets t;
	unsigned n_stopped = 0, n_escaped = 0, n_skipped = 0;

	memset(&t, 0, sizeof(t));
	for (int s = 0; s < AS_N_; s++) {
		if (make_plan((enum setup)s, &plans[s]) != 0)
			return 1;
	}
	if (make_targets(&t) != 0) {
		perror("targets");
		return 1;
	}
	for (size_t i = 0; i < N_ELEMENTS(escapes); i++) {
		const struct escape *e = &escapes[i];
		int control = try_in_child(e, &t, NULL);
		int r = control == 0 ? try_in_child(e, &t, plans[e->setup]) : 0;

		if (control != 0) {
			n_skipped++;
			printf("skipped  %-13s %s: impossible here anyway (%s)\n",
				setup_names[e->setup], e->name, strerror(control));
		} else if (r == 0 || r == OUTCOME_BROKEN_SETUP) {
			n_escaped++;
			printf("ESCAPED  %-13s %s\n", setup_names[e->setup], e->name);
		} else {
			n_stopped++;
			printf("stopped  %-13s %s (%s)\n", setup_names[e->setup], e->name,
				strerrorname_np(r));
		}
	}
	drop_targets(&t);
	for (int s = 0; s < AS_N_; s++)
		(void)il_sandbox_plan_free(plans[s]);
	printf("%u stopped, %u escaped, %u skipped\n", n_stopped, n_escaped, n_skipped);
	return n_escaped == 0 && n_stopped > 0 ? 0 : 1;
}
