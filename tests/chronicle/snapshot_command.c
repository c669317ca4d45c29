/*
 * For the shell tests: snapshot_command STORE ROOT [--exclude NAME] COMMAND... keeps all of ROOT,
 * runs the command in it, and records what it changed. Prints the id.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chronicle/chronicle.h"

static int run(const char *root, char **argv)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		/* What the command says must not look like our answer. */
		if (chdir(root) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
			(void)execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	bool excludes = argc > 5 && strcmp(argv[3], "--exclude") == 0;
	const char *exclude = excludes ? argv[4] : "";
	struct il_chronicle_options options = {
		.dir = argv[1], .exclude = &exclude, .n_exclude = excludes ? 1 : 0
	};
	struct il_snapshot_info info = {
		.session = "shell", .action_type = "execute", .summary = argv[3]
	};
	struct il_chronicle_place place = { .recursive = true, .path = "", .root = argv[2] };
	struct il_chronicle *c = NULL;
	char id[IL_SNAPSHOT_ID_SIZE];
	struct diag diag = { 0 };
	int r;

	if (argc < 4)
		return 64;
	place.dir_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = il_chronicle_open(&options, &c, &diag);
	if (r == 0)
		r = il_chronicle_begin(c, &info, &place, 1, id, NULL, &diag);
	if (r == 0) {
		bool done = run(argv[2], argv + (excludes ? 5 : 3)) == 0;

		r = il_chronicle_seal(
			c, id, done ? IL_OUTCOME_DONE : IL_OUTCOME_FAILED, NULL, NULL);
	}
	if (r != 0)
		(void)fprintf(stderr, "%d: %s\n", r, diag.text);
	else
		puts(id);
	il_chronicle_close(c);
	return r == 0 ? 0 : 1;
}
