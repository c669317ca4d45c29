/*
 * interlock stop [NAME|DIR]
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/exit.h"
#include "clients/commands.h"
#include "clients/workspace.h"
#include "manager/lock.h"

#define STOP_PATIENCE_MS 10000

/*
 * A descriptor of the process that holds the lock: looked up, pinned, and looked up again, so that
 * a pid used anew in between is never signalled.
 */
static int pin_holder(int state_fd, int *ret_pidfd, pid_t *ret_pid)
{
	auto_close int fd = -1;
	pid_t pid, again;
	int r = lock_holder(state_fd, "manager.lock", &pid);

	if (r != 0)
		return r;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	r = lock_holder(state_fd, "manager.lock", &again);
	if (r != 0)
		return r;
	if (again != pid)
		return -EAGAIN;
	*ret_pidfd = take_fd(fd);
	*ret_pid = pid;
	return 0;
}

static int end_process(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) < 0)
		return errno == ESRCH ? 0 : -errno;
	if (poll(&p, 1, STOP_PATIENCE_MS) > 0)
		return 0;
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return -errno;
	return poll(&p, 1, STOP_PATIENCE_MS) > 0 ? 0 : -ETIMEDOUT;
}

int cmd_stop(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_close int pidfd = -1;
	pid_t pid = 0;
	int r;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		(void)fputs("usage: interlock stop [NAME|DIR]\n",
			argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
		return argc == 2 && strcmp(argv[1], "--help") == 0 ? EXIT_STATUS_OK
								   : EXIT_STATUS_USAGE;
	}
	if (workspace_open(argc == 2 ? argv[1] : NULL, &w) != 0)
		return EXIT_STATUS_FAILED;
	r = pin_holder(w.state_fd, &pidfd, &pid);
	if (r == -ESRCH) {
		(void)fprintf(stderr, "interlock: %s is not running\n", w.path);
		return EXIT_STATUS_FAILED;
	}
	if (r == 0)
		r = end_process(pidfd);
	if (r != 0) {
		(void)fprintf(stderr, "interlock: cannot stop %s: %s\n", w.path, strerror(-r));
		return EXIT_STATUS_FAILED;
	}
	printf("stopped %s (pid %ld)\n", w.path, (long)pid);
	return EXIT_STATUS_OK;
}
