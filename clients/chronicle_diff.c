/*
 * interlock chronicle diff: the contents come from the store, the comparison from diff(1),
 * which reads both through inherited descriptors.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit.h"
#include "clients/chronicle_options.h"

#define NAME_SIZE    4200
#define BINARY_PROBE 8000
#define OLD_FD       10
#define NEW_FD       11

/* One side in memory without a name; nothing in it when the object is not there. */
static int fetch(struct chronicle_command *c, const char *path, enum il_side side, int *ret_fd)
{
	int fd = memfd_create("side", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = il_chronicle_cat(c->c, c->id, path, side, fd);
	if (r == -ENOENT || r == -EISDIR)
		r = 0;
	if (r != 0) {
		(void)close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static bool is_binary(int fd)
{
	char probe[BINARY_PROBE];
	ssize_t n = pread(fd, probe, sizeof(probe), 0);

	return n > 0 && memchr(probe, 0, (size_t)n) != NULL;
}

/* diff reads each side by the number of its descriptor, 10 and 11. */
static int run_diff(int old_fd, int new_fd, const char *path)
{
	char old_label[NAME_SIZE], new_label[NAME_SIZE];
	const char *color = isatty(STDOUT_FILENO) ? "--color=always" : "--color=never";
	const char *argv[] = { "diff", "-u", color, "--label", old_label, "--label", new_label,
		"--", "/dev/fd/10", "/dev/fd/11", NULL };
	posix_spawn_file_actions_t actions;
	int status = 0, r;
	pid_t pid = 0;

	(void)snprintf(old_label, sizeof(old_label), "before/%.4000s", path);
	(void)snprintf(new_label, sizeof(new_label), "after/%.4000s", path);
	(void)fflush(stdout);
	r = -posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return r;
	r = -posix_spawn_file_actions_adddup2(&actions, old_fd, OLD_FD);
	if (r == 0)
		r = -posix_spawn_file_actions_adddup2(&actions, new_fd, NEW_FD);
	if (r == 0)
		r = -posix_spawnp(
			&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r == 0 && waitpid(pid, &status, 0) < 0)
		r = -errno;
	return r != 0 ? r : WIFEXITED(status) && WEXITSTATUS(status) < 2 ? 0 : -EIO;
}

static int diff_one(void *ctx, const struct il_change *change)
{
	struct chronicle_command *c = ctx;
	auto_close int old_fd = -1, new_fd = -1;
	size_t n = c->n_paths > 0 ? strlen(c->paths[0]) : 0;
	int r;

	if (n > 0 && (strncmp(change->path, c->paths[0], n) != 0 ||
			     (change->path[n] != '\0' && change->path[n] != '/')))
		return 0;
	printf("%s: ", chronicle_change_name(change->kind));
	chronicle_print_text(change->path[0] ? change->path : ".");
	putchar('\n');
	if (change->kind == IL_CHANGE_ATTRIBUTES)
		return 0;
	r = fetch(c, change->path, IL_SIDE_BEFORE, &old_fd);
	if (r == 0)
		r = fetch(c, change->path, IL_SIDE_AFTER, &new_fd);
	if (r == IL_CHRONICLE_E_ERASED) {
		puts("  its content was forgotten");
		return 0;
	}
	if (r != 0)
		return r;
	if (!is_binary(old_fd) && !is_binary(new_fd))
		return run_diff(old_fd, new_fd, change->path);
	printf("  binary, %llu bytes → %llu bytes\n", (unsigned long long)change->size_before,
		(unsigned long long)change->size_after);
	return 0;
}

int chronicle_diff(struct chronicle_command *c)
{
	char id[IL_SNAPSHOT_ID_SIZE];
	int r = chronicle_find(c, c->id, id);

	if (r != 0)
		return r;
	c->id = id;
	return chronicle_result("diff", il_chronicle_changes(c->c, id, diff_one, c), NULL);
}
