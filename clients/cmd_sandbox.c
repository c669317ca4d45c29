/*
 * interlock sandbox probe [--json]
 *
 * A freshly confined process of the agent profile tries what it must not be able to do; one line a
 * guarantee.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "base/files.h"
#include "clients/commands.h"
#include "sandbox/sandbox.h"

#define REPORT_MAX ((size_t)64 * 1024)

static const char *const proof_names[] = {
	[IL_PROOF_NONE] = "not on this kernel",
	[IL_PROOF_BROKEN] = "BROKEN",
	[IL_PROOF_ENVIRONMENT] = "impossible here anyway",
	[IL_PROOF_PROVED] = "proved",
};
_Static_assert(N_ELEMENTS(proof_names) == IL_PROOF_N_, "name every proof");

/* In the child: confined for good, so it only writes its report and ends. */
static int confined_child(int report_fd)
{
	const int keep[] = { report_fd };
	struct il_sandbox_config config = {
		.profile = IL_PROFILE_AGENT, .keep_fds = keep, .n_keep_fds = 1
	};
	struct il_sandbox_plan *plan = NULL;
	struct il_sandbox_twin *twin = NULL;
	struct il_sandbox_step_error error = { 0 };
	struct diag diag = { 0 };
	char *report = NULL;

	if (il_sandbox_plan_config(&config, &plan, &diag) != 0 ||
		il_sandbox_twin_start(plan, &twin) != 0)
		return EXIT_STATUS_FAILED;
	if (il_sandbox_apply_self(plan, &error) != 0) {
		(void)fprintf(stderr, "interlock: cannot confine: %s\n", error.text);
		return EXIT_STATUS_UNCONFINED;
	}
	if (il_sandbox_verify(plan, twin, &report) != 0 ||
		write_all(report_fd, report, strlen(report)) != 0)
		return EXIT_STATUS_FAILED;
	return EXIT_STATUS_OK;
}

static int run_probe(struct buf *report)
{
	int fds[2], status = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	(void)fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)close(fds[0]);
		_exit(confined_child(fds[1]));
	}
	(void)close(fds[1]);
	for (;;) {
		uint8_t *at = buf_reserve(report, 4096);
		ssize_t n = at ? read(fds[0], at, 4096) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_grew(report, (size_t)n);
	}
	(void)close(fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? buf_error(report) : -ECANCELED;
}

static void show(const struct il_sandbox_judgement *j, const struct il_sandbox_status *s)
{
	printf("%s: %s, Landlock ABI %u: %s\n", il_sandbox_state_name(j->state), s->mode,
		s->version, j->summary);
	for (int g = 0; g <= IL_GUARANTEE_PRIVILEGES; g++)
		printf("  %-18s %s\n", il_guarantee_name((enum il_guarantee)g),
			proof_names[j->proof[g]]);
	if (s->reason[0])
		printf("%s\n", s->reason);
	if (j->proof[IL_GUARANTEE_USER_NAMESPACE] == IL_PROOF_ENVIRONMENT)
		puts("user namespaces are refused here to everybody (a chroot, AppArmor's "
		     "restriction, or a limit of 0): commands run in tier B");
}

int cmd_sandbox(int argc, char **argv)
{
	auto_buf struct buf report = BUF_INIT(REPORT_MAX);
	struct il_sandbox_judgement j;
	struct il_sandbox_status status;
	struct diag diag = { 0 };
	bool json = argc == 3 && strcmp(argv[2], "--json") == 0;

	if (argc < 2 || strcmp(argv[1], "probe") != 0 || argc > 3 || (argc == 3 && !json)) {
		(void)fputs("usage: interlock sandbox probe [--json]\n",
			argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
		return argc == 2 && strcmp(argv[1], "--help") == 0 ? EXIT_STATUS_OK
								   : EXIT_STATUS_USAGE;
	}
	if (il_sandbox_probe(&status) != 0 || run_probe(&report) != 0) {
		(void)fprintf(stderr, "interlock: no process can be confined here: %s\n",
			status.reason[0] ? status.reason : "see above");
		return EXIT_STATUS_UNCONFINED;
	}
	if (il_sandbox_report_judge(
		    buf_get_text(&report), report.size, IL_PROFILE_AGENT, &j, &diag) != 0) {
		(void)fprintf(stderr, "interlock: the report cannot be read: %s\n", diag.text);
		return EXIT_STATUS_FAILED;
	}
	if (json)
		puts(buf_get_text(&report));
	else
		show(&j, &status);
	return j.state == IL_SANDBOXED ? EXIT_STATUS_OK : EXIT_STATUS_UNCONFINED;
}
