#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "chronicle/book.h"
#include "chronicle/compact.h"

#define DAY_NS         INT64_C(86400000000000)
#define PROTECTED_DAYS 7 /* an agent cannot flush its own traces sooner */

static bool is_live(const char *session, const char *const *live, size_t n_live)
{
	for (size_t i = 0; session && i < n_live; i++) {
		if (strcmp(session, live[i]) == 0)
			return true;
	}
	return false;
}

struct limits {
	int64_t now_ns;
	const char *const *live;
	size_t n_live;
};

static bool is_protected(const struct snapshot *s, const struct limits *l)
{
#ifdef MUTATION_CHRONICLE_RETENTION
	return !s->seal;
#endif
	return !s->seal || l->now_ns - s->begin->record.time_ns < PROTECTED_DAYS * DAY_NS ||
	       is_live(s->begin->record.session, l->live, l->n_live);
}

/* The oldest go first. Returns how many. */
static size_t choose(struct il_chronicle *c, const struct limits *l, bool over, bool *doomed)
{
	size_t left = c->n_snapshots, n = 0;

	for (size_t i = 0; i < c->n_snapshots; i++) {
		const struct snapshot *s = &c->snapshots[i];
		bool old = l->now_ns - s->begin->record.time_ns >
			   (int64_t)c->options.keep_days * DAY_NS;

		doomed[i] = false;
		if (is_protected(s, l) || !(old || over || left > c->options.keep_snapshots))
			continue;
		doomed[i] = true;
		left--;
		n++;
		/* Over the quota they go a few at a time, until there is room. */
		over = over && n < 1 + c->n_snapshots / 8;
	}
	return n;
}

int il_chronicle_prune(struct il_chronicle *c, const char *const *live_sessions,
	size_t n_live_sessions, uint64_t *ret_n_pruned)
{
	struct limits l = {
		.now_ns = clock_wall_ns(c->clock), .live = live_sessions, .n_live = n_live_sessions
	};
	uint64_t n_pruned = 0;
	int r = book_check(c, NULL);

	while (r == 0) {
		auto_free bool *doomed = calloc(c->n_snapshots + 1, sizeof(*doomed));
		bool over = store_bytes(c->store) >= c->options.store_bytes_max;
		size_t n = doomed ? choose(c, &l, over, doomed) : 0;

		if (!doomed)
			return -ENOMEM;
		if (n == 0)
			break;
		r = compact(c, doomed, NULL, 0);
		n_pruned += n;
	}
	if (r == 0 && ret_n_pruned)
		*ret_n_pruned = n_pruned;
	return book_condition(r);
}
