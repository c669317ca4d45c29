#include "shield/place.h"

#include <ctype.h>
#include <string.h>

#include "base/arms.h"
#include "shield/path.h"
#include "shield/place_table.h"

struct place_path {
	char folded[4096]; /* lower case */
	const char *home;  /* the rest beneath any user's home, or NULL */
	const char *in_ws; /* the rest beneath the workspace, or NULL */
	const char *name;
	bool example;
};

static void raise(struct place *p, const struct place_row *row)
{
	bool stronger = !p->id;

	if (row->label > p->label)
		p->label = row->label;
	if (row->read < p->read || row->write < p->write)
		stronger = true;
	if (row->read < p->read)
		p->read = row->read;
	if (row->write < p->write)
		p->write = row->write;
	if (row->attributes < p->attributes)
		p->attributes = row->attributes;
	if (row->list < p->list)
		p->list = row->list;
	if (stronger) {
		p->id = row->id;
		p->what = row->what;
	}
}

/* "x/" is the directory and all beneath, "x*" a prefix, else the whole. */
static bool is_row(const char *pattern, const char *path)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '/')
		return strncmp(path, pattern, n - 1) == 0 &&
		       (path[n - 1] == '/' || path[n - 1] == '\0');
	if (pattern[n - 1] == '*')
		return strncmp(path, pattern, n - 1) == 0;
	return strcmp(path, pattern) == 0;
}

/* The same, beginning at any component. */
static bool is_row_anywhere(const char *pattern, const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		if (*at == '/')
			at++;
		if (*at == *pattern && is_row(pattern, at))
			return true;
	}
	return false;
}

static bool is_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name);
	size_t n_suffix = strlen(suffix);

	return n > n_suffix && strcmp(name + n - n_suffix, suffix) == 0;
}

static const char *home_rest(const char *path)
{
	static const char *const parents[] = { "/home/", "/users/", "/c:/users/", "/var/home/" };

	if (strncmp(path, "/root", 5) == 0 && (path[5] == '/' || path[5] == '\0'))
		return path[5] ? path + 6 : path + 5;
	for (size_t i = 0; i < N_ELEMENTS(parents); i++) {
		size_t n = strlen(parents[i]);

		if (strncmp(path, parents[i], n) != 0 || !path[n])
			continue;
		path = strchr(path + n, '/');
		return path ? path + 1 : "";
	}
	return NULL;
}

static void place_path_init(
	const struct place_context *context, const char *path, struct place_path *ret)
{
	size_t i = 0;

	for (; path[i] && i < sizeof(ret->folded) - 1; i++)
		ret->folded[i] = (char)tolower((unsigned char)path[i]);
	ret->folded[i] = '\0';
	ret->home = path_rest(ret->folded, context->home, true);
	if (!ret->home || strcmp(context->home, "/") == 0)
		ret->home = home_rest(ret->folded);
	ret->in_ws = path_rest(ret->folded, context->workspace, true);
	ret->name = path_name(ret->folded);
	ret->example = is_place_example(ret->name);
}

static bool is_row_match(const struct place_row *row, const struct place_path *p)
{
	switch (row->where) {
	case PLACE_HOME:
		return p->home && *p->home == *row->pattern && is_row(row->pattern, p->home);
	case PLACE_SYSTEM:
		return !p->in_ws && p->folded[1] == row->pattern[1] &&
		       is_row(row->pattern, p->folded);
	case PLACE_WORKSPACE:
		return p->in_ws && is_row_anywhere(row->pattern, p->in_ws);
	case PLACE_ANYWHERE:
		return is_row_anywhere(row->pattern, p->folded);
	case PLACE_NAME:
		return *row->pattern == *p->name && !p->example && is_row(row->pattern, p->name);
	case PLACE_SUFFIX:
		return !p->example && is_suffix(p->name, row->pattern);
	}
	return true;
}

static void raise_own(struct place *place, const char *path, const char *dir, const char *what,
	enum il_decision read)
{
	struct place_row row = { .id = "PROT-INTERLOCK",
		.what = what,
		.label = LABEL_CRITICAL,
		.read = read,
		.write = IL_DENY,
		.attributes = IL_DENY,
		.list = read };

	if (read != IL_DENY)
		row.label = LABEL_PUBLIC;
	if (dir && is_path_beneath(path, dir, true))
		raise(place, &row);
}

/* Names of personal documents count by whole words: taxes.pdf, not syntax.md. */
static bool has_word(const char *name, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(name, word); at; at = strstr(at + 1, word)) {
		bool begins = at == name || !isalpha((unsigned char)at[-1]);

		if (begins && !isalpha((unsigned char)at[n]))
			return true;
		if (begins && at[n] == 's' && !isalpha((unsigned char)at[n + 1]))
			return true;
	}
	return false;
}

static bool is_document(const char *name)
{
	static const char *const kinds[] = { ".pdf", ".doc", ".docx", ".xls", ".xlsx", ".csv",
		".ods", ".odt", ".txt", ".png", ".jpg", ".jpeg", ".tiff", ".eml", ".zip",
		".numbers" };

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		if (is_suffix(name, kinds[i]))
			return true;
	}
	return !strchr(name, '.');
}

static bool is_openly_readable(const struct place_path *p)
{
	return is_suffix(p->name, ".pub") ||
	       (p->home && (strcmp(p->home, ".ssh/config") == 0 ||
				   strncmp(p->home, ".ssh/known_hosts", 16) == 0 ||
				   strcmp(p->home, ".aws/config") == 0 ||
				   strcmp(p->home, ".snowsql/config") == 0));
}

void place_of(const struct place_context *context, const char *path, struct place *ret_place)
{
	struct place place = {
		.read = IL_ALLOW, .write = IL_ALLOW, .attributes = IL_ALLOW, .list = IL_ALLOW
	};
	struct place_path p;

	place_path_init(context, path, &p);
	for (size_t i = 0; i < place_n_rows; i++) {
		if (is_row_match(&place_rows[i], &p))
			raise(&place, &place_rows[i]);
	}
	for (size_t i = 0; i < place_n_words && place.label < LABEL_RESTRICTED; i++) {
		if (has_word(p.name, place_words[i]) && is_document(p.name))
			place.label = LABEL_RESTRICTED;
	}
	raise_own(&place, path, context->state_dir, "Interlock's state", IL_DENY);
	raise_own(&place, path, context->config_dir, "Interlock's configuration", IL_DENY);
	raise_own(&place, path, context->program_dir, "Interlock's programs", IL_ALLOW);
	/* Public halves of keys and lists of hosts are no secrets. */
	if (place.read == IL_DENY && is_openly_readable(&p)) {
		place.read = IL_ASK;
		place.label = LABEL_INTERNAL;
	}
	*ret_place = place;
}

static size_t depth_of(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/' && path[1] != '\0';
	return n;
}

bool is_place_vital(const struct place_context *context, const char *path)
{
	const char *rest = home_rest(path);

	if (is_path_beneath(context->workspace, path, true))
		return true; /* the workspace itself or what holds it */
	if (is_path_beneath(context->home, path, true))
		return true;
	if (is_place_temporary(path))
		return depth_of(path) < 2 && strncmp(path, "/tmp", 5) != 0;
	if (path_rest(path, context->workspace, true))
		return false;
	/* A drive, the directories of the root, a user's home and what is directly in it. */
	if (rest)
		return !strchr(rest, '/') && *path_name(path) != '.';
	for (size_t i = 0; i < place_n_vital; i++) {
		if (strcmp(place_vital[i], path) == 0)
			return true;
	}
	return strncmp(path, "/c:", 3) == 0 ? depth_of(path) < 3 : false;
}

bool is_place_artefact(const char *path)
{
	char name[64];

	for (const char *at = path; at; at = strchr(at, '/')) {
		size_t n;

		if (*at == '/')
			at++;
		n = strcspn(at, "/");
		if (n == 0 || n >= sizeof(name))
			continue;
		memcpy(name, at, n);
		name[n] = '\0';
		for (size_t i = 0; i < place_n_artefacts; i++) {
			if (strcmp(place_artefacts[i], name) == 0)
				return true;
		}
	}
	return is_suffix(path, ".pyc") || is_suffix(path, ".o") || is_suffix(path, ".tmp") ||
	       is_suffix(path, ".class") || is_suffix(path, ".egg-info");
}

bool is_place_temporary(const char *path)
{
	return is_path_beneath(path, "/tmp", false) || is_path_beneath(path, "/var/tmp", false) ||
	       is_path_beneath(path, "/dev/shm", false) ||
	       is_path_beneath(path, "/private/tmp", false);
}

bool is_place_home(const struct place_context *context, const char *path)
{
	struct place_path p;

	if (is_path_beneath(path, context->workspace, false))
		return false;
	place_path_init(context, path, &p);
	return p.home != NULL;
}

bool is_place_example(const char *name)
{
	static const char *const marks[] = { "example", "sample", "template", "dist", "test",
		"dummy", "fake", "mock", "default", "defaults", "schema" };

	for (size_t i = 0; i < N_ELEMENTS(marks); i++) {
		const char *at = strstr(name, marks[i]);
		size_t n = strlen(marks[i]);

		if (at && (at == name || strchr(".-_", at[-1])) &&
			(at[n] == '\0' || strchr(".-_", at[n])))
			return true;
	}
	return false;
}
