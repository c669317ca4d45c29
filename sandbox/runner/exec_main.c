/*
 * interlock-exec: start one command under exactly its job.
 *
 *	read the job → namespaces → fork → confine → execve
 *	the parent stays: reaper, limits, and the end of everything with its own parent
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "sandbox/apply.h"
#include "sandbox/hygiene.h"
#include "sandbox/runner/job.h"
#include "sandbox/runner/outlet.h"
#include "sandbox/runner/remove.h"
#include "sandbox/runner/space.h"
#include "sandbox/runner/supervise.h"
#include "sandbox/runner/tree.h"

struct exec {
	struct job job;
	struct il_sandbox_plan *plan;
	sigset_t signals_before;
	mode_t mask;
};

static _Noreturn void fail(int error, const char *step)
{
	report_write(JOB_FD_REPORT, REPORT_FAILED, error < 0 ? -error : error, step);
	_exit(EXIT_STATUS_UNCONFINED);
}

static void read_job(struct exec *e)
{
	struct stat st;
	void *bytes;
	int r;

	if (fstat(JOB_FD_JOB, &st) < 0 || st.st_size <= 0 || (size_t)st.st_size > JOB_SIZE)
		fail(EBADMSG, "job");
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, JOB_FD_JOB, 0);
	if (bytes == MAP_FAILED)
		fail(errno, "job");
	r = job_decode(bytes, (size_t)st.st_size, &e->job);
	if (r == 0)
		r = plan_decode(e->job.plan, e->job.n_plan, &e->plan);
	if (r != 0)
		fail(r, "job");
	(void)close(JOB_FD_JOB);
}

/* The parent may be gone already; then its signal was never asked for in time. */
static void die_with_parent(int signal, int parent)
{
	if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) < 0)
		fail(errno, "parent-death signal");
	if (parent > 0 && getppid() != parent)
		_exit(EXIT_STATUS_FAILED);
}

static void limit(int resource, uint64_t value)
{
	struct rlimit l = { value, value };

	if (value > 0 && setrlimit((__rlimit_resource_t)resource, &l) < 0)
		fail(errno, "resource limit");
}

static int open_program(const struct job *job)
{
	int fd = open(job->program, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(errno, "program");
	if (st.st_dev != job->device || st.st_ino != job->inode)
		fail(ESTALE, "program: it was exchanged since it was looked at");
	return fd;
}

static void confine(struct exec *e)
{
	struct il_sandbox_step_error error = { 0 };

	for (int step = 0; step < APPLY_N_; step++) {
		int r = apply_one(e->plan, (enum apply_step)step, &error);

		if (r != 0)
			fail(r, error.text);
		if (step == APPLY_LIMITS)
			(void)umask(e->mask); /* files that a command makes are the user's */
	}
}

static _Noreturn void run_command(struct exec *e)
{
	const struct job *job = &e->job;
	int program = open_program(job);

	die_with_parent(SIGKILL, 0);
	if (setsid() < 0)
		fail(errno, "session");
	if (chdir(job->cwd) < 0)
		fail(errno, "working directory");
	limit(RLIMIT_FSIZE, job->limits.file_size_bytes);
	if (plan_keep_fd(e->plan, program) != 0 || plan_keep_fd(e->plan, JOB_FD_REPORT) != 0)
		fail(ENOMEM, "descriptors");
	if (fcntl(JOB_FD_REPORT, F_SETFD, FD_CLOEXEC) < 0)
		fail(errno, "descriptors");
	confine(e);
	if (sigprocmask(SIG_SETMASK, &e->signals_before, NULL) < 0)
		fail(errno, "signals");
	report_write(JOB_FD_REPORT, REPORT_STARTED, 0, NULL);
	if (job->script)
		(void)execve(job->program, job->argv, job->envp);
	else
		(void)syscall(SYS_execveat, program, "", job->argv, job->envp, AT_EMPTY_PATH);
	fail(errno, "execve");
}

/* Starts the command and stays with it; in tier C this is process 1 of the namespace. */
static int stay(struct exec *e)
{
	pid_t command;

	if (hygiene_not_dumpable() != 0)
		fail(EPERM, "not dumpable");
	command = fork();
	if (command < 0)
		fail(errno, "fork");
	if (command == 0)
		run_command(e);
	/* A runner that was killed reads no reports; the tree is to be ended all the same. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* The pipes are the command's: with ours open, nobody would see their end. */
	(void)close(0);
	(void)close(1);
	(void)close(2);
	if (e->job.namespaces && (hygiene_capabilities() != 0 || hygiene_no_new_privs() != 0))
		fail(EPERM, "capabilities");
	/* The way out is a process of the namespace too, but none of the command's. */
	e->job.limits.processes += e->job.egress[0] && e->job.limits.processes > 0;
	return supervise(command, &e->job.limits, JOB_FD_REPORT);
}

static _Noreturn void first_process(struct exec *e, int alive)
{
	struct pollfd p = { .fd = alive };
	const char *step = "";
	int r;

	die_with_parent(SIGKILL, 0);
	if (poll(&p, 1, 0) != 0) /* the parent went before the signal was asked for */
		_exit(EXIT_STATUS_FAILED);
	if (e->job.egress[0]) {
		step = "egress";
		r = outlet_start(e->job.egress, &e->signals_before);
		if (r != 0)
			fail(r, step);
	}
	r = space_build(&e->job, &step);
	if (r != 0)
		fail(r, step);
	_exit(stay(e) == 0 ? EXIT_STATUS_OK : EXIT_STATUS_FAILED);
}

/* Outside the namespace: waits for its first process and ends it when told to. */
static int wait_outside(pid_t first)
{
	sigset_t set;
	int signal;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGUSR1);
	for (;;) {
		if (sigwait(&set, &signal) != 0)
			return EXIT_STATUS_FAILED;
		if (signal == SIGUSR1)
			(void)kill(first, SIGUSR1);
		else if (signal == SIGTERM)
			(void)kill(first, SIGKILL);
		if (waitpid(first, NULL, WNOHANG) == first)
			return EXIT_STATUS_OK;
	}
}

static int run_inside(struct exec *e)
{
	const char *step = "";
	int alive[2];
	int r = space_unshare(&e->job, &step);
	pid_t first;

	if (r != 0)
		fail(r, step);
	/* Entering a user namespace clears the parent-death signal. */
	die_with_parent(SIGTERM, e->job.parent);
	if (pipe2(alive, O_CLOEXEC) < 0)
		fail(errno, "pipe");
	first = fork();
	if (first < 0)
		fail(errno, "fork");
	if (first == 0) {
		(void)close(alive[1]);
		first_process(e, alive[0]);
	}
	(void)close(0);
	(void)close(1);
	(void)close(2);
	(void)close(alive[0]);
	(void)close(JOB_FD_REPORT);
	if (e->job.egress[0])
		(void)close(JOB_FD_BROKER);
	return wait_outside(first);
}

int main(void)
{
	struct exec e = { 0 };
	int status;

	e.mask = umask(0);
	(void)umask(022); /* of the places made for the command; its own comes back later */
	read_job(&e);
	/* Blocked first: the end of the runner must find us in supervise(), not end us here. */
	if (supervise_block(&e.signals_before) != 0)
		fail(errno, "signals");
	if (getppid() != e.job.parent && e.job.private_dir[0])
		remove_tree(e.job.private_dir);
	die_with_parent(SIGTERM, e.job.parent);
	if (e.job.namespaces)
		return run_inside(&e);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		fail(errno, "subreaper");
	status = stay(&e) == 0 ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
	/* The runner does so too, unless it was killed. */
	if (e.job.private_dir[0])
		remove_tree(e.job.private_dir);
	return status;
}
