#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/try.h"

/* A descriptor that came is closed; the errno otherwise. */
static int outcome_of_fd(long fd)
{
	if (fd < 0)
		return errno;
	(void)close((int)fd); /* only its coming mattered */
	return 0;
}

static int try_child(void)
{
	/* As fork(), but nothing of libc's runs in the child. */
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(0);
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

/* There is no such program: a process that may execute learns that, another is refused before. */
static int try_exec(void)
{
	static char *const nothing[] = { NULL };

	(void)execve("/interlock-no-such-program", nothing, nothing);
	return errno == ENOENT ? 0 : errno;
}

/* Process 0 is nobody: who may trace learns that, another is refused before. */
static int try_ptrace(void)
{
	(void)ptrace(PTRACE_ATTACH, 0, NULL, NULL);
	return errno == ESRCH ? 0 : errno;
}

static int try_one(enum probe probe)
{
	switch (probe) {
	case PROBE_FILE_READ:
		return outcome_of_fd(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
	case PROBE_LISTING:
		return outcome_of_fd(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	case PROBE_FILE_WRITE:
		return outcome_of_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
	case PROBE_UNIX_SOCKET:
		return outcome_of_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	case PROBE_INET_SOCKET:
		return outcome_of_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	case PROBE_CHILD:
		return try_child();
	case PROBE_EXEC:
		return try_exec();
	case PROBE_PTRACE:
		return try_ptrace();
	case PROBE_N_:
		break;
	}
	return 0;
}

void try_before(struct probe_result results[PROBE_N_])
{
	for (unsigned i = 0; i < PROBE_N_; i++)
		results[i].control = try_one((enum probe)i) == 0;
}

void try_after(struct probe_result results[PROBE_N_])
{
	for (unsigned i = 0; i < PROBE_N_; i++)
		results[i].error = try_one((enum probe)i);
}
