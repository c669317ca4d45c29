#include "audit/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/files.h"

#define LINE_MAX_SIZE       ((size_t)4096)
#define COMMAND_PATIENCE_MS 2000

/* A file in memory at its start, so that the command can never block us by not reading. */
static int line_fd(const struct buf *line)
{
	auto_close int fd = memfd_create("checkpoint", MFD_CLOEXEC);

	if (fd < 0 || write_all(fd, line->data, line->size) != 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return take_fd(fd);
}

static void end_command(pid_t pid)
{
	auto_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (pidfd < 0 || poll(&p, 1, COMMAND_PATIENCE_MS) <= 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void run_command(char *const *command, const struct buf *line)
{
	static char *const no_environment[] = { NULL };
	auto_close int input = line_fd(line);
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	if (input < 0 || posix_spawn_file_actions_init(&actions) != 0)
		return;
	r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(
			&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(
			&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn(&pid, command[0], &actions, NULL, command, no_environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r == 0)
		end_command(pid);
}

void anchor_send(char *const *command, bool to_syslog, const struct value *checkpoint)
{
	auto_buf struct buf line = BUF_INIT(LINE_MAX_SIZE);

	if (!command && !to_syslog)
		return;
	value_to_canonical_json(&line, checkpoint);
	if (buf_error(&line) != 0)
		return;
	if (to_syslog)
		syslog(LOG_AUTHPRIV | LOG_NOTICE, "interlock audit checkpoint %s",
			buf_get_text(&line));
	buf_byte(&line, '\n');
	if (command && buf_error(&line) == 0)
		run_command(command, &line);
}
