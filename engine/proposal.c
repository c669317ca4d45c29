#include "engine/proposal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

static const char *const status_names[STATUS_N_] = { "executed", "denied", "needs_approval",
	"failed", "cancelled", "interrupted" };

const char *proposal_status_name(enum proposal_status status)
{
	return status_names[status];
}

struct proposal *proposal_new(struct engine *e, enum proposal_kind kind)
{
	struct proposal *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->engine = e;
	p->kind = kind;
	arena_init(&p->arena, PROPOSAL_ARENA_LIMIT);
	p->content = BUF_INIT(1u << 20);
	p->next = e->proposals;
	e->proposals = p;
	return p;
}

struct proposal *proposal_free(struct proposal *p)
{
	struct proposal **link;

	if (!p)
		return NULL;
	for (link = &p->engine->proposals; *link != p; link = &(*link)->next)
		;
	*link = p->next;
	buf_done(&p->content);
	arena_done(&p->arena);
	free(p);
	return NULL;
}

void proposal_fail(struct proposal *p, enum proposal_status status, const char *format, ...)
{
	char text[512];
	va_list args;

	if (p->error)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	p->status = status;
	p->error = arena_text(&p->arena, text, strlen(text));
	if (!p->error)
		p->error = "out of memory";
}

const struct il_fact *proposal_fact(const struct proposal *p, const char *path)
{
	for (size_t i = 0; i < p->n_facts; i++) {
		if (p->facts[i].kind == IL_FACT_PATH && strcmp(p->facts[i].subject, path) == 0)
			return &p->facts[i];
	}
	return NULL;
}

const char *proposal_text(const struct proposal *p, const char *field)
{
	return value_get_text(p->analysis.payload, field);
}

int64_t proposal_int(const struct proposal *p, const char *field, int64_t fallback)
{
	const struct value *v = value_get(p->analysis.payload, field);

	return v && v->kind == VALUE_INT ? v->integer : fallback;
}

bool proposal_bool(const struct proposal *p, const char *field)
{
	const struct value *v = value_get(p->analysis.payload, field);

	return v && v->kind == VALUE_BOOL && v->boolean;
}

/* Components put together without "", "." and ".."; text alone, no link is looked at. */
static char *join(struct arena *a, const char *base, const char *path)
{
	char *all = path[0] == '/' ? arena_text(a, path, strlen(path))
				   : arena_printf(a, "%s/%s", base, path);
	char *out = all ? arena_alloc(a, strlen(all) + 2) : NULL;
	char *rest = all;
	size_t n = 0;

	if (!out)
		return NULL;
	for (char *part = strsep(&rest, "/"); part; part = strsep(&rest, "/")) {
		if (part[0] == '\0' || strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			while (n > 0 && out[--n] != '/')
				;
			out[n] = '\0';
			continue;
		}
		out[n++] = '/';
		memcpy(out + n, part, strlen(part) + 1);
		n += strlen(part);
	}
	if (n == 0)
		memcpy(out, "/", 2);
	return out;
}

const char *proposal_path(struct proposal *p, const char *field, const char *fallback)
{
	const char *text = proposal_text(p, field);

	if (!text)
		return fallback;
	if (text[0] == '~' && (text[1] == '/' || text[1] == '\0')) {
		char *own = arena_printf(&p->arena, "%s%s", p->action.home, text + 1);

		return own ? join(&p->arena, "/", own) : NULL;
	}
	return join(&p->arena, p->action.cwd, text);
}
