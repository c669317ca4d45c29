/*
 * The real manager over stand-in engines: shell scripts that speak the stdout
 * protocol and then do what the case is about.
 */
#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "base/files.h"
#include "manager/lock.h"
#include "manager/manager.h"

#define READY_LINES "echo PORT:unix:/nowhere/engine.sock; echo WEB_DISABLED\n"

struct place {
	char dir[64];
	char engine[128];
	int state_fd;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	strcpy(p->dir, "/tmp/interlock-manager-XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	(void)snprintf(p->engine, sizeof(p->engine), "%s/engine", p->dir);
	p->state_fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return p->state_fd < 0 ? -1 : 0;
}

static int drop_place(void **state)
{
	static const char *const names[] = { "engine", "manager.lock", "engine.pid", "count",
		"log" };
	struct place *p = *state;

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		(void)unlinkat(p->state_fd, names[i], 0); /* not every test makes each */
	(void)close(p->state_fd);
	(void)rmdir(p->dir);
	free(p);
	return 0;
}

static void write_engine(const struct place *p, const char *body)
{
	auto_free char *script = NULL;

	assert_true(asprintf(&script, "#!/bin/sh\ncd %s\necho x >>count\n%s", p->dir, body) > 0);
	assert_int_equal(file_write_atomic(p->state_fd, "engine", script, strlen(script), 0755), 0);
}

static pid_t start_manager(const struct place *p, int ready_fd)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct manager_options o = { .workspace = p->dir,
			.engine = p->engine,
			.state_fd = p->state_fd,
			.state_path = p->dir,
			.ready_fd = ready_fd };

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!freopen("/dev/null", "w", stderr);
		_exit(manager_run(&o));
	}
	return pid;
}

/* How often the engine was started. */
static size_t starts(const struct place *p)
{
	auto_free char *text = NULL;
	size_t n = 0;

	return file_read(p->state_fd, "count", 10000, &text, &n) == 0 ? n / 2 : 0;
}

static int exit_of(pid_t pid)
{
	int status = 0;

	assert_true(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(fd, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
}

static void an_engine_that_ends_well_ends_the_manager(void **state)
{
	struct place *p = *state;

	write_engine(p, READY_LINES "exit 0\n");
	assert_int_equal(exit_of(start_manager(p, -1)), EXIT_STATUS_OK);
	assert_int_equal(starts(p), 1);
}

static void ten_restarts_are_not_counted_as_crashes(void **state)
{
	struct place *p = *state;

	write_engine(p, READY_LINES "[ $(wc -l <count) -gt 10 ] && exit 0\nexit 75\n");
	assert_int_equal(exit_of(start_manager(p, -1)), EXIT_STATUS_OK);
	assert_int_equal(starts(p), 11);
}

static void five_crashes_end_with_the_reason(void **state)
{
	struct place *p = *state;
	int ready[2];
	char line[256];
	pid_t pid;

	write_engine(p, "exit 3\n");
	assert_int_equal(pipe(ready), 0);
	pid = start_manager(p, ready[1]);
	(void)close(ready[1]);
	read_line(ready[0], line, sizeof(line));
	(void)close(ready[0]);
	assert_int_equal(exit_of(pid), EXIT_STATUS_FAILED);
	assert_int_equal(starts(p), 5);
	assert_memory_equal(line, "FAILED the engine died", strlen("FAILED the engine died"));
}

static void sigterm_reaches_the_engine_and_leaves_no_pid_file(void **state)
{
	struct place *p = *state;
	int ready[2];
	char line[256];
	pid_t pid, holder = 0;

	write_engine(p, "trap 'echo stopped >>log; exit 0' TERM\n" READY_LINES
			"while :; do sleep 0.05; done\n");
	assert_int_equal(pipe(ready), 0);
	pid = start_manager(p, ready[1]);
	(void)close(ready[1]);
	read_line(ready[0], line, sizeof(line));
	(void)close(ready[0]);
	assert_string_equal(line, "READY unix:/nowhere/engine.sock WEB_DISABLED");
	assert_int_equal(faccessat(p->state_fd, "engine.pid", F_OK, 0), 0);
	assert_int_equal(lock_holder(p->state_fd, "manager.lock", &holder), 0);
	assert_int_equal(holder, pid);
	assert_int_equal(
		exit_of(start_manager(p, -1)), EXIT_STATUS_FAILED); /* a second one is refused */
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(exit_of(pid), EXIT_STATUS_OK);
	assert_int_equal(faccessat(p->state_fd, "log", F_OK, 0), 0);
	assert_int_equal(faccessat(p->state_fd, "engine.pid", F_OK, 0), -1);
	assert_int_equal(lock_holder(p->state_fd, "manager.lock", &holder), -ESRCH);
}

static void wrong_start_lines_are_a_crash(void **state)
{
	struct place *p = *state;

	write_engine(p,
		"[ $(wc -l <count) -gt 1 ] && { " READY_LINES "exit 0; }\necho hello; sleep 60\n");
	assert_int_equal(exit_of(start_manager(p, -1)), EXIT_STATUS_OK);
	assert_int_equal(starts(p), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			an_engine_that_ends_well_ends_the_manager, make_place, drop_place),
		cmocka_unit_test_setup_teardown(
			ten_restarts_are_not_counted_as_crashes, make_place, drop_place),
		cmocka_unit_test_setup_teardown(
			five_crashes_end_with_the_reason, make_place, drop_place),
		cmocka_unit_test_setup_teardown(
			sigterm_reaches_the_engine_and_leaves_no_pid_file, make_place, drop_place),
		cmocka_unit_test_setup_teardown(
			wrong_start_lines_are_a_crash, make_place, drop_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
