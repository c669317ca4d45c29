#include "audit/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"

#define PATIENCE_MS 2000
#define STEP_MS     5

int anchor_init(struct anchor *a, const char *const *command, bool to_syslog)
{
	size_t n = 0;

	a->to_syslog = to_syslog;
	if (!command || !command[0])
		return 0;
	while (command[n])
		n++;
	a->command = calloc(n + 1, sizeof(*a->command));
	for (size_t i = 0; a->command && i < n; i++) {
		a->command[i] = strdup(command[i]);
		if (!a->command[i])
			return -ENOMEM;
	}
	return a->command ? 0 : -ENOMEM;
}

/* A file in memory at its start, so that the command can never block us by not reading. */
static int line_fd(const char *line)
{
	auto_close int fd = memfd_create("checkpoint", MFD_CLOEXEC);

	if (fd < 0 || write_all(fd, line, strlen(line)) != 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return take_fd(fd);
}

static void start_command(struct anchor *a, const char *line)
{
	static char *const no_environment[] = { NULL };
	auto_close int input = line_fd(line);
	posix_spawn_file_actions_t actions;
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
		r = posix_spawn(
			&a->child, a->command[0], &actions, NULL, a->command, no_environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		a->child = 0;
}

static bool is_free(struct anchor *a)
{
	if (a->child != 0 && waitpid(a->child, NULL, WNOHANG) != 0)
		a->child = 0; /* ended, or its status went to someone else */
	return a->child == 0;
}

void anchor_send(struct anchor *a, const struct value *checkpoint)
{
	auto_buf struct buf line = BUF_INIT(ANCHOR_LINE_MAX - 1);

	if (!a->command && !a->to_syslog)
		return;
	value_to_canonical_json(&line, checkpoint);
	if (buf_error(&line) != 0)
		return;
	if (a->to_syslog)
		syslog(LOG_AUTHPRIV | LOG_NOTICE, "interlock audit checkpoint %s",
			buf_get_text(&line));
	buf_byte(&line, '\n');
	if (!a->command || buf_error(&line) != 0)
		return;
	if (is_free(a)) {
		a->waiting[0] = '\0';
		start_command(a, buf_get_text(&line));
	} else {
		(void)snprintf(a->waiting, sizeof(a->waiting), "%s", buf_get_text(&line));
	}
}

static void end_command(struct anchor *a)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };

	for (int waited = 0; !is_free(a) && waited < PATIENCE_MS; waited += STEP_MS)
		(void)nanosleep(&step, NULL); /* woken early is fine */
	if (is_free(a))
		return;
	(void)kill(a->child, SIGKILL);
	while (waitpid(a->child, NULL, 0) < 0 && errno == EINTR)
		;
	a->child = 0;
}

void anchor_done(struct anchor *a)
{
	end_command(a);
	if (a->command && a->waiting[0] != '\0') {
		start_command(a, a->waiting);
		end_command(a);
	}
	for (size_t i = 0; a->command && a->command[i]; i++)
		free(a->command[i]);
	free(a->command);
	*a = (struct anchor){ 0 };
}
