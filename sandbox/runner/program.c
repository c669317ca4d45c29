#include "sandbox/runner/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Whole names; digits, dots and dashes after them are a version: python3.11, lua5.4, ruby3.1. */
static const char *const interpreters[] = { "ash", "awk", "bash", "bun", "busybox", "csh", "dash",
	"deno", "expect", "fish", "gawk", "jshell", "julia", "ksh", "lua", "luajit", "mawk", "mksh",
	"node", "nodejs", "osascript", "perl", "php", "powershell", "pwsh", "pypy", "python", "R",
	"Rscript", "rbash", "ruby", "sh", "tclsh", "tcsh", "toybox", "wish", "zsh" };

bool program_is_interpreter(const char *real_path)
{
	const char *slash = strrchr(real_path, '/');
	const char *name = slash ? slash + 1 : real_path;

	for (size_t i = 0; i < N_ELEMENTS(interpreters); i++) {
		size_t n = strlen(interpreters[i]);

		if (strncmp(name, interpreters[i], n) == 0 &&
			strspn(name + n, "0123456789.-") == strlen(name + n))
			return true;
	}
	return false;
}

static int take(const char *path, struct program *ret_program)
{
	struct program p = { 0 };
	auto_close int fd = -1;
	uint8_t hash[SHA256_SIZE];
	struct stat st;
	char start[2] = "";
	int r;

	if (!realpath(path, p.path))
		return -errno;
	fd = open(p.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, p.path, X_OK, AT_EACCESS) < 0)
		return -EACCES;
	if (pread(fd, start, sizeof(start), 0) == 2)
		p.script = start[0] == '#' && start[1] == '!';
	r = sha256_fd(fd, hash);
	if (r != 0)
		return r;
	hex_encode(hash, sizeof(hash), p.hash);
	p.device = st.st_dev;
	p.inode = st.st_ino;
	*ret_program = p;
	return 0;
}

int program_find(
	const char *name, const char *path_list, const char *cwd, struct program *ret_program)
{
	char path[PATH_MAX];
	int found = -ENOENT;

	if (name[0] == '\0')
		return -ENOENT;
	if (strchr(name, '/')) {
		int n = snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : cwd,
			name[0] == '/' ? "" : "/", name);

		return n < 0 || (size_t)n >= sizeof(path) ? -ENAMETOOLONG : take(path, ret_program);
	}
	for (const char *dir = path_list; dir;
		dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
		size_t n = strcspn(dir, ":"), n_name = strlen(name);
		int r;

		/* A relative entry would be the command's directory, which others may write to. */
		if (dir[0] != '/' || n + n_name + 2 > sizeof(path))
			continue;
		memcpy(path, dir, n);
		path[n] = '/';
		memcpy(path + n + 1, name, n_name + 1);
		r = take(path, ret_program);
		if (r == 0)
			return 0;
		if (r == -EACCES)
			found = r;
	}
	return found;
}
