#include "sandbox/runner/outlet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "net/broker.h"
#include "sandbox/runner/job.h"

static int listen_here(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
		.sin_port = htons(BROKER_PROXY_PORT),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0 ||
		listen(fd, 128) < 0)
		return -errno;
	return take_fd(fd);
}

static _Noreturn void become(const char *program, const sigset_t *signals, const int fds[3])
{
	char *argv[] = { (char *)(uintptr_t) "interlock-egress", NULL }, *envp[] = { NULL };
	int high[3];

	/* Out of the way of 3, 4, 5 first, so that none overwrites another. */
	for (int i = 0; i < 3; i++)
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 64);
	for (int i = 0; i < 3; i++) {
		if (high[i] < 0 || dup2(high[i], 3 + i) < 0)
			_exit(EXIT_STATUS_FAILED);
	}
	for (int i = 0; i < 3; i++) /* the pipes are the command's */
		(void)close(i);
	if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2 ||
		sigprocmask(SIG_SETMASK, signals, NULL) < 0)
		_exit(EXIT_STATUS_FAILED);
	(void)execve(program, argv, envp);
	_exit(EXIT_STATUS_FAILED);
}

int outlet_start(const char *program, const sigset_t *signals)
{
	auto_close int listener = listen_here();
	int ready[2];
	char byte;
	ssize_t n;
	pid_t pid;

	if (listener < 0)
		return listener;
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become(program, signals, (const int[]){ listener, JOB_FD_BROKER, ready[1] });
	(void)close(ready[1]);
	(void)close(JOB_FD_BROKER);
	n = pid > 0 ? read(ready[0], &byte, 1) : -1;
	(void)close(ready[0]);
	return n == 1 ? 0 : -ECHILD;
}
