#include "manager/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/errors.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/state.h"

#define WORKSPACE_FILE "workspace"
#define TRUST_FILE     "trust"
#define PROJECT_FILE   "interlock.yaml"
#define PATH_LIMIT     4096

int registry_add(int state_fd, const char *workspace)
{
	return file_write_atomic(state_fd, WORKSPACE_FILE, workspace, strlen(workspace), 0600);
}

/* The directory that holds all state directories. */
static int states_dir(char **ret_path)
{
	char *slash;
	int r = state_dir("/", ret_path);

	if (r != 0)
		return r;
	slash = strrchr(*ret_path, '/');
	*slash = '\0';
	return 0;
}

int registry_each(registry_fn fn, void *ctx)
{
	auto_free char *path = NULL;
	auto_closedir DIR *dir = NULL;
	int r = states_dir(&path);

	if (r != 0)
		return r;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		auto_free char *file = NULL;
		auto_free char *workspace = NULL;
		size_t n;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&file, "%s/" WORKSPACE_FILE, entry->d_name) < 0)
			return -ENOMEM;
		if (file_read(dirfd(dir), file, PATH_LIMIT, &workspace, &n) != 0 ||
			workspace[0] != '/')
			continue; /* no state directory of ours */
		r = fn(ctx, entry->d_name, workspace);
		if (r != 0)
			return r;
	}
	return 0;
}

struct search {
	const char *name; /* NULL: any */
	char *workspace;  /* owned */
	unsigned n_found;
};

static int search_one(void *ctx, const char *id, const char *workspace)
{
	struct search *s = ctx;
	const char *base = strrchr(workspace, '/');

	if (s->name && strcmp(s->name, id) != 0 && strcmp(s->name, base + 1) != 0)
		return 0;
	if (s->n_found++ > 0)
		return 0;
	s->workspace = strdup(workspace);
	return s->workspace ? 0 : -ENOMEM;
}

static int resolve_registered(const char *name, char **ret_workspace)
{
	struct search s = { .name = name };
	int r = registry_each(search_one, &s);

	if (r == 0 && s.n_found == 0)
		r = REGISTRY_E_NONE;
	if (r == 0 && s.n_found > 1)
		r = REGISTRY_E_SEVERAL;
	if (r != 0) {
		free(s.workspace);
		return r;
	}
	*ret_workspace = s.workspace;
	return 0;
}

int registry_resolve(const char *name, char **ret_workspace)
{
	struct stat st;

	if (name && stat(name, &st) == 0 && S_ISDIR(st.st_mode)) {
		*ret_workspace = realpath(name, NULL);
		return *ret_workspace ? 0 : -errno;
	}
	if (name)
		return resolve_registered(name, ret_workspace);
	if (state_find_workspace(".", ret_workspace) == 0)
		return 0;
	return resolve_registered(NULL, ret_workspace);
}

/* What the user trusts: the text for the trust file. */
static int project_digest(const char *workspace, char ret_digest[static SHA256_HEX_SIZE])
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	uint8_t hash[SHA256_SIZE];
	int r;

	if (asprintf(&path, "%s/" PROJECT_FILE, workspace) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		memcpy(ret_digest, "none", sizeof("none"));
		return 0;
	}
	if (fd < 0)
		return -errno;
	r = sha256_fd(fd, hash);
	if (r == 0)
		hex_encode(hash, sizeof(hash), ret_digest);
	return r;
}

int registry_is_trusted(int state_fd, const char *workspace, bool *ret_trusted)
{
	auto_free char *trusted = NULL;
	char digest[SHA256_HEX_SIZE];
	size_t n;
	int r = file_read(state_fd, TRUST_FILE, SHA256_HEX_SIZE, &trusted, &n);

	if (r == -ENOENT) {
		*ret_trusted = false;
		return 0;
	}
	if (r == 0)
		r = project_digest(workspace, digest);
	if (r == 0)
		*ret_trusted = strcmp(trusted, digest) == 0;
	return r;
}

int registry_trust(int state_fd, const char *workspace)
{
	char digest[SHA256_HEX_SIZE];
	int r = project_digest(workspace, digest);

	return r != 0 ? r : file_write_atomic(state_fd, TRUST_FILE, digest, strlen(digest), 0600);
}
