#include "sandbox/runner/supervise.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "sandbox/runner/tree.h"

static uint64_t microseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

void report_write(int fd, enum report_kind kind, int code, const char *text)
{
	struct report r = { .kind = kind, .code = code };
	struct rusage use;

	if (getrusage(RUSAGE_CHILDREN, &use) == 0) {
		r.cpu_user_us = microseconds(&use.ru_utime);
		r.cpu_system_us = microseconds(&use.ru_stime);
		r.memory_peak_bytes = (uint64_t)use.ru_maxrss * 1024;
	}
	(void)snprintf(r.text, sizeof(r.text), "%s", text ? text : "");
	if (write_all(fd, &r, sizeof(r)) != 0)
		return; /* the runner is gone, and soon so are we */
}

int supervise_block(sigset_t *ret_before)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGUSR1);
	return sigprocmask(SIG_BLOCK, &set, ret_before) < 0 ? -errno : 0;
}

static const char *broken_limit(const struct grant_limits *limits)
{
	struct tree_use use;

#ifdef MUTATION_TREE_LIMITS
	return NULL;
#endif
	/* Not being able to look is over the limit: nobody can say that it holds. */
	if (tree_measure(&use) != 0)
		return "the tree of processes could not be measured";
	if (limits->processes > 0 && use.n_processes > limits->processes)
		return "processes";
	if (limits->memory_bytes > 0 && use.memory_bytes > limits->memory_bytes)
		return "memory";
	if (limits->cpu_ms > 0 && use.cpu_ms > limits->cpu_ms)
		return "cpu";
	return NULL;
}

/* True when the command itself is over. Orphans of the tree are reaped on the way. */
static bool reap(pid_t command, int *ret_status)
{
	bool over = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == command && (WIFEXITED(status) || WIFSIGNALED(status))) {
			*ret_status = status;
			over = true;
		}
	}
	return over || (pid < 0 && errno == ECHILD);
}

static bool told_to_end(int signals, pid_t command)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			(void)kill(-command, SIGTERM); /* its group; may be over already */
		end = end || info.ssi_signo == SIGTERM;
	}
	return end;
}

int supervise(pid_t command, const struct grant_limits *limits, int report)
{
	bool limited = limits->cpu_ms > 0 || limits->memory_bytes > 0 || limits->processes > 0;
	auto_close int signals = -1;
	int status = SIGKILL;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGUSR1);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return -errno;
	while (!reap(command, &status)) {
		struct pollfd p = { .fd = signals, .events = POLLIN };
		const char *limit = NULL;
		int n = poll(&p, 1, limited ? SUPERVISE_TICK_MS : -1);

		if (n == 0)
			limit = broken_limit(limits);
		if (limit)
			report_write(report, REPORT_LIMIT, 0, limit);
		if (limit || (n > 0 && told_to_end(signals, command)))
			break;
	}
	tree_kill();
	report_write(report, REPORT_EXIT, status, NULL);
	return 0;
}
