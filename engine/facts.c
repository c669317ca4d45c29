#include "engine/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static enum il_file_type type_of(mode_t mode)
{
	if (S_ISREG(mode))
		return IL_FILE_REGULAR;
	if (S_ISDIR(mode))
		return IL_FILE_DIRECTORY;
	if (S_ISLNK(mode))
		return IL_FILE_SYMLINK;
	return IL_FILE_OTHER;
}

/* The real path; of what is not there, its nearest existing parent's plus the rest. */
static const char *resolve(struct arena *a, const char *path)
{
	char real[PATH_MAX];
	char *copy = arena_text(a, path, strlen(path));
	char *slash;

	if (!copy)
		return NULL;
	if (realpath(copy, real))
		return arena_text(a, real, strlen(real));
	while ((slash = strrchr(copy, '/')) != NULL && slash != copy) {
		*slash = '\0';
		if (realpath(copy, real))
			return arena_printf(a, "%s%s", strcmp(real, "/") == 0 ? "" : real,
				path + (slash - copy));
	}
	return arena_text(a, path, strlen(path));
}

static void gather_path(struct arena *a, struct il_fact *f)
{
	struct stat st, target;

	if (lstat(f->subject, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return;
		f->type = IL_FILE_ABSENT;
		f->resolved = resolve(a, f->subject);
		f->known = f->resolved != NULL;
		return;
	}
	f->type = type_of(st.st_mode);
	if (S_ISLNK(st.st_mode) && stat(f->subject, &target) == 0)
		st = target;
	f->nlink = (uint32_t)st.st_nlink;
	f->device = st.st_dev;
	f->inode = st.st_ino;
	f->size = (uint64_t)st.st_size;
	f->ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	f->resolved = resolve(a, f->subject);
	f->known = f->resolved != NULL;
}

static int read_script(struct arena *a, int fd, const struct stat *st, struct il_fact *f)
{
	size_t n = 0, size = (size_t)st->st_size;
	char *text = arena_alloc(a, size + 1);

	if (!text)
		return -ENOMEM;
	while (n < size) {
		ssize_t got = pread(fd, text + n, size - n, (off_t)n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	f->text = text;
	f->n_text = n;
	sha256_bytes(text, n, f->sha256);
	return 0;
}

static void gather_script(struct arena *a, struct il_fact *f)
{
	auto_close int fd = open(f->subject, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		st.st_size > (off_t)FACT_SCRIPT_LIMIT)
		return;
	f->type = IL_FILE_REGULAR;
	f->device = st.st_dev;
	f->inode = st.st_ino;
	f->size = (uint64_t)st.st_size;
	f->ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	f->resolved = resolve(a, f->subject);
	f->known = f->resolved && read_script(a, fd, &st, f) == 0;
}

static void gather_program(struct arena *a, struct il_fact *f)
{
	static const char *const places[] = { "/usr/local/bin", "/usr/bin", "/bin",
		"/usr/local/sbin", "/usr/sbin", "/sbin" };

	for (size_t i = 0; i < N_ELEMENTS(places) && !strchr(f->subject, '/'); i++) {
		const char *path = arena_printf(a, "%s/%s", places[i], f->subject);
		struct stat st;

		if (!path || stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
			(st.st_mode & 0111) == 0)
			continue;
		f->type = IL_FILE_REGULAR;
		f->device = st.st_dev;
		f->inode = st.st_ino;
		f->size = (uint64_t)st.st_size;
		f->ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
		f->resolved = resolve(a, path);
		f->known = f->resolved != NULL;
		return;
	}
}

static void gather(struct arena *a, struct il_fact *f)
{
	switch (f->kind) {
	case IL_FACT_PATH:
		gather_path(a, f);
		break;
	case IL_FACT_SCRIPT:
		gather_script(a, f);
		break;
	case IL_FACT_PROGRAM:
		gather_program(a, f);
		break;
	case IL_FACT_GIT: /* a repository's files are read in a confined process only; unknown is
			     the worst case */
	case IL_FACT_N_:
		break;
	}
}

int facts_gather(struct arena *a, const struct il_analysis *analysis, struct il_fact **ret_facts)
{
	struct il_fact *facts = arena_alloc_array(a, analysis->n_wanted + 1, sizeof(*facts));

	if (!facts)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->n_wanted; i++) {
		facts[i].kind = analysis->wanted[i].kind;
		facts[i].subject = analysis->wanted[i].subject;
		gather(a, &facts[i]);
	}
	*ret_facts = facts;
	return 0;
}

static bool is_same(const struct il_fact *x, const struct il_fact *y)
{
	/* A directory's ctime changes with every name made in it; its identity is enough. */
	bool directory = x->type == IL_FILE_DIRECTORY && y->type == IL_FILE_DIRECTORY;

	if (x->known != y->known || x->type != y->type || x->device != y->device ||
		x->inode != y->inode)
		return false;
	if (!directory && (x->size != y->size || x->ctime_ns != y->ctime_ns))
		return false;
	if (memcmp(x->sha256, y->sha256, SHA256_SIZE) != 0)
		return false;
	return !x->known ||
	       strcmp(x->resolved ? x->resolved : "", y->resolved ? y->resolved : "") == 0;
}

bool facts_still_hold(
	struct arena *a, const struct il_fact *facts, size_t n_facts, const char **ret_changed)
{
	for (size_t i = 0; i < n_facts; i++) {
		struct il_fact now = { .kind = facts[i].kind, .subject = facts[i].subject };

		gather(a, &now);
		if (!is_same(&facts[i], &now)) {
			*ret_changed = facts[i].subject;
			return false;
		}
	}
	return true;
}
