#include "shield/path.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* /proc/self/root/x is /x, /proc/self/cwd/x is cwd/x, for every process's name there. */
static const char *skip_proc(const char *path, const char *cwd, const char **ret_base)
{
	const char *at = path + strlen("/proc/");
	const char *slash;

	*ret_base = "";
	if (strncmp(path, "/proc/", strlen("/proc/")) != 0)
		return path;
	slash = strchr(at, '/');
	if (!slash)
		return path;
	if (strncmp(slash, "/task/", 6) == 0 && strchr(slash + 6, '/'))
		slash = strchr(slash + 6, '/');
	if (strncmp(slash, "/root", 5) == 0 && (slash[5] == '/' || slash[5] == '\0'))
		return slash[5] ? slash + 5 : "/";
	if (strncmp(slash, "/cwd", 4) == 0 && (slash[4] == '/' || slash[4] == '\0')) {
		*ret_base = cwd;
		return slash + 4;
	}
	return path;
}

/* In place: "//", "." and ".." go away. */
static void remove_dots(char *path)
{
	char *out = path;
	const char *in = path;

	while (*in) {
		size_t n;

		while (*in == '/')
			in++;
		n = strcspn(in, "/");
		if (n == 0)
			break;
		if (n == 2 && in[0] == '.' && in[1] == '.') {
			while (out > path && *--out != '/')
				;
		} else if (n != 1 || in[0] != '.') {
			*out++ = '/';
			memmove(out, in, n);
			out += n;
		}
		in += n;
	}
	if (out == path)
		*out++ = '/';
	*out = '\0';
}

/* "~" is home; "~user" is the directory of that name beside it. */
static char *join_home(struct arena *a, const char *home, const char *text)
{
	size_t n = strcspn(text, "/");
	size_t n_parent = (size_t)(path_name(home) - home);

	if (n == 1 || strncmp(text, "~+", n) == 0)
		return arena_printf(a, "%s%s", home, text + n);
	if (n == 5 && strncmp(text, "~root", 5) == 0)
		return arena_printf(a, "/root%s", text + n);
	return arena_printf(a, "%.*s%s", (int)n_parent, n_parent > 1 ? home : "/home/", text + 1);
}

static bool is_drive(const char *text)
{
	return isalpha((unsigned char)text[0]) && text[1] == ':' &&
	       (text[2] == '\\' || text[2] == '/' || text[2] == '\0');
}

/* "C:\x" and "\\?\C:\x" become "/c:/x", so that tables can name them. */
static char *from_windows(struct arena *a, const char *text)
{
	char *path;

	if (strncmp(text, "\\\\?\\", 4) == 0)
		text += 4;
	path = arena_printf(a, "/%s", text);
	for (char *p = path; p && *p; p++) {
		if (*p == '\\')
			*p = '/';
		else
			*p = (char)tolower((unsigned char)*p);
	}
	return path;
}

const char *path_canon(struct arena *a, const struct path_origin *origin, const char *text)
{
	const char *base = "";
	const char *rest;
	char *path;

	if (strlen(text) > PATH_TEXT_MAX)
		return NULL;
	if (strncasecmp(text, "file://localhost/", 17) == 0)
		text += 16;
	else if (strncasecmp(text, "file://", 7) == 0)
		text += 7;
	if (is_drive(text) || strncmp(text, "\\\\?\\", 4) == 0) {
		path = from_windows(a, text);
	} else if (text[0] == '~') {
		path = join_home(a, origin->home, text);
	} else if (text[0] == '/') {
		path = arena_printf(a, "%s", text);
	} else {
		path = arena_printf(a, "%s/%s", origin->cwd, text);
	}
	if (!path)
		return NULL;
	/* Before ".." is resolved: /proc/self/cwd/.. is the parent of cwd, not /proc/self. */
	for (int i = 0; i < 4; i++) {
		char *p = path;

		while (p[0] == '/' && p[1] == '/')
			p++;
		rest = skip_proc(p, origin->cwd, &base);
		if (rest == p)
			break;
		path = arena_printf(a, "%s%s", base, rest);
		if (!path)
			return NULL;
	}
	remove_dots(path);
	return path;
}

const char *path_rest(const char *path, const char *dir, bool fold)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	if ((fold ? strncasecmp(path, dir, n) : strncmp(path, dir, n)) != 0)
		return NULL;
	if (path[n] == '/')
		return path + n + 1;
	return path[n] == '\0' ? path + n : NULL;
}

bool is_path_beneath(const char *path, const char *dir, bool fold)
{
	return path_rest(path, dir, fold) != NULL;
}

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* One character against "[...]" at pattern; *ret_next is what follows the bracket. */
static bool is_in_bracket(const char *pattern, unsigned char c, const char **ret_next)
{
	const char *p = pattern + 1;
	bool invert = *p == '!' || *p == '^';
	bool found = false;

	if (invert)
		p++;
	do {
		unsigned char low = (unsigned char)*p;
		unsigned char high = low;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			high = (unsigned char)p[2];
			p += 2;
		}
		found = found || (c >= low && c <= high);
		p++;
	} while (*p && *p != ']');
	*ret_next = *p ? p + 1 : p;
	return found != invert;
}

struct glob {
	bool fold;
	unsigned steps; /* what is left: a hostile pattern ends as "no match" */
};

static unsigned char glob_fold(const struct glob *g, char c)
{
	return (unsigned char)(g->fold ? tolower((unsigned char)c) : c);
}

static bool glob_here(struct glob *g, const char *pattern, const char *path);

static bool glob_star(struct glob *g, const char *pattern, const char *path)
{
	bool deep = pattern[1] == '*';

	pattern += deep ? 2 : 1;
	/* A "**" with its slash may stand for nothing at all. */
	if (deep && *pattern == '/' && glob_here(g, pattern + 1, path))
		return true;
	for (;; path++) {
		if (glob_here(g, pattern, path))
			return true;
		if (!*path || (*path == '/' && !deep) || g->steps == 0)
			return false;
	}
}

static bool glob_brace(struct glob *g, const char *pattern, const char *path)
{
	const char *end = strchr(pattern, '}');
	char one[512];

	for (const char *at = pattern + 1; at <= end;) {
		size_t n = strcspn(at, ",}");
		size_t n_rest = strlen(end + 1);

		if (n + n_rest + 1 > sizeof(one))
			return false;
		memcpy(one, at, n);
		memcpy(one + n, end + 1, n_rest + 1);
		if (glob_here(g, one, path))
			return true;
		at += n + 1;
	}
	return false;
}

static bool glob_here(struct glob *g, const char *pattern, const char *path)
{
	for (; *pattern; pattern++, path++) {
		if (g->steps == 0)
			return false;
		g->steps--;
		if (*pattern == '*')
			return glob_star(g, pattern, path);
		if (*pattern == '{' && strchr(pattern, '}'))
			return glob_brace(g, pattern, path);
		if (!*path)
			return strcmp(pattern, "/**") == 0; /* "dir/" + "**" is the directory too */
		if (*pattern == '[' && strchr(pattern, ']')) {
			const char *next;

			if (*path == '/' || !is_in_bracket(pattern, glob_fold(g, *path), &next))
				return false;
			pattern = next - 1;
		} else if (*pattern == '?') {
			if (*path == '/')
				return false;
		} else if (glob_fold(g, *pattern) != glob_fold(g, *path)) {
			return false;
		}
	}
	return !*path;
}

bool is_path_match(const char *pattern, const char *path, bool fold)
{
	struct glob g = { .fold = fold, .steps = 65536 };

	return glob_here(&g, pattern, path);
}

bool is_path_pattern(const char *pattern, const char **reterr_why)
{
	*reterr_why = NULL;
	if (!*pattern)
		*reterr_why = "is empty";
	for (const char *p = pattern; *p && !*reterr_why; p++) {
		if (*p == '[' && !strchr(p, ']'))
			*reterr_why = "has a \"[\" without \"]\"";
		else if (*p == '{' && !strchr(p, '}'))
			*reterr_why = "has a \"{\" without \"}\"";
		else if (p[0] == '*' && p[1] == '*' && p[2] && p[2] != '/')
			*reterr_why = "has \"**\" that is not a whole path component";
		else if (p[0] == '/' && p[1] == '/')
			*reterr_why = "has an empty path component";
		else if (p[0] == '/' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
			*reterr_why = "has a \".\" component";
		else if (p[0] == '/' && p[1] == '.' && p[2] == '.' && (p[3] == '/' || !p[3]))
			*reterr_why = "has a \"..\" component";
	}
	return !*reterr_why;
}
