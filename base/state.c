#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/hash.h"

#define SLUG_MAX 24

/* $variable if it is absolute, else $HOME/fallback. */
static int xdg_dir(const char *variable, const char *fallback, char **ret_path)
{
	const char *set = getenv(variable);
	const char *home = getenv("HOME");
	int n;

	if (set && set[0] == '/')
		n = asprintf(ret_path, "%s/interlock", set);
	else if (home && home[0] == '/')
		n = asprintf(ret_path, "%s/%s/interlock", home, fallback);
	else
		return -ENOENT;
	return n < 0 ? -ENOMEM : 0;
}

int state_config_dir(char **ret_path)
{
	return xdg_dir("XDG_CONFIG_HOME", ".config", ret_path);
}

int state_id(const char *workspace, char **ret_id)
{
	const char *name = strrchr(workspace, '/');
	uint8_t hash[SHA256_SIZE];
	char digits[17];
	char slug[SLUG_MAX + 1];
	size_t n = 0;

	for (name = name ? name + 1 : workspace; *name && n < SLUG_MAX; name++) {
		char c = *name;

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			slug[n++] = c;
		else if (n > 0 && slug[n - 1] != '-')
			slug[n++] = '-';
	}
	slug[n] = '\0';
	sha256_bytes(workspace, strlen(workspace), hash);
	hex_encode(hash, 8, digits);
	return asprintf(ret_id, "%s-%s", n > 0 ? slug : "workspace", digits) < 0 ? -ENOMEM : 0;
}

static int state_dir_in(const char *base, const char *workspace, char **ret_path)
{
	auto_free char *id = NULL;
	int r = state_id(workspace, &id);

	if (r != 0)
		return r;
	return asprintf(ret_path, "%s/%s", base, id) < 0 ? -ENOMEM : 0;
}

int state_dir(const char *workspace, char **ret_path)
{
	auto_free char *base = NULL;
	int r = xdg_dir("XDG_STATE_HOME", ".local/state", &base);

	return r != 0 ? r : state_dir_in(base, workspace, ret_path);
}

/* A directory that is ours alone. */
static int open_private_dir(const char *path, int *ret_fd)
{
	auto_close int fd = -1;
	struct stat st;
	int r = make_dirs(path, 0700);

	if (r != 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	if ((st.st_mode & 077) != 0 && fchmod(fd, 0700) < 0)
		return -errno;
	*ret_fd = take_fd(fd);
	return 0;
}

int state_dir_open(const char *workspace, char **ret_path, int *ret_fd)
{
	auto_free char *path = NULL;
	int r = state_dir(workspace, &path);

	if (r == 0)
		r = open_private_dir(path, ret_fd);
	if (r == 0)
		*ret_path = take_ptr(path);
	return r;
}

int state_socket_path(const char *workspace, const char *name, char **ret_path)
{
	const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path);
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	auto_free char *dir = NULL;
	auto_free char *path = NULL;
	auto_free char *base = NULL;
	auto_close int fd = -1;
	int r = state_dir(workspace, &dir);

	if (r != 0)
		return r;
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	if (strlen(path) < most) {
		*ret_path = take_ptr(path);
		return 0;
	}
	if (!runtime || runtime[0] != '/')
		return -ENAMETOOLONG;
	free(take_ptr(path));
	free(take_ptr(dir));
	if (asprintf(&base, "%s/interlock", runtime) < 0)
		return -ENOMEM;
	r = state_dir_in(base, workspace, &dir);
	if (r == 0)
		r = open_private_dir(dir, &fd);
	if (r != 0)
		return r;
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	if (strlen(path) >= most)
		return -ENAMETOOLONG;
	*ret_path = take_ptr(path);
	return 0;
}

/* True if this directory is where a workspace begins. */
static bool is_workspace(const char *dir)
{
	static const char *const marks[] = { ".git", "interlock.yaml" };
	auto_free char *state = NULL;

	for (size_t i = 0; i < N_ELEMENTS(marks); i++) {
		auto_free char *mark = NULL;

		if (asprintf(&mark, "%s/%s", dir, marks[i]) >= 0 && access(mark, F_OK) == 0)
			return true;
	}
	return state_dir(dir, &state) == 0 && access(state, F_OK) == 0;
}

int state_find_workspace(const char *start, char **ret_workspace)
{
	auto_free char *dir = realpath(start, NULL);

	if (!dir)
		return -errno;
	for (;;) {
		char *slash;

		if (is_workspace(dir)) {
			*ret_workspace = take_ptr(dir);
			return 0;
		}
		slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			return -ENOENT;
		*slash = '\0';
	}
}
