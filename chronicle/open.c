#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "chronicle/book.h"

#define STORE_BYTES_DEFAULT ((uint64_t)10 << 30)
#define KEEP_SNAPSHOTS      100
#define KEEP_DAYS           30

static void free_excludes(const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)list[i]);
	free((void *)(uintptr_t)list);
}

static int copy_options(struct il_chronicle *c, const struct il_chronicle_options *options)
{
	const char **exclude = calloc(options->n_exclude + 1, sizeof(*exclude));

	c->options = *options;
	c->options.dir = NULL;
	c->options.exclude = exclude;
	c->options.n_exclude = 0;
	c->clock = options->clock ? options->clock : &clock_system;
	if (c->options.store_bytes_max == 0)
		c->options.store_bytes_max = STORE_BYTES_DEFAULT;
	if (c->options.keep_snapshots == 0)
		c->options.keep_snapshots = KEEP_SNAPSHOTS;
	if (c->options.keep_days == 0)
		c->options.keep_days = KEEP_DAYS;
	if (!exclude)
		return -ENOMEM;
	for (size_t i = 0; i < options->n_exclude; i++) {
		exclude[i] = strdup(options->exclude[i]);
		if (!exclude[i])
			return -ENOMEM;
		c->options.n_exclude++;
	}
	return 0;
}

/*
 * What a crash left behind the last whole frame is cut off, and the head signed that
 * it had no time for. A chain that is damaged is left as it is.
 */
static int recover(struct il_chronicle *c)
{
	struct store *s = c->store;
	int r;

	if (s->read_only || c->damage[0] != '\0')
		return 0;
	if (s->torn_bytes > 0) {
		const struct store_segment *last = &s->segments[s->n_segments - 1];

		if (ftruncate(last->fd, (off_t)last->size) < 0 || fsync(last->fd) < 0)
			return -errno;
		s->torn_bytes = 0;
	}
	if (!c->head_behind)
		return 0;
	r = chain_head_write(s, &c->head);
	if (r == 0)
		c->head_behind = false;
	return r;
}

int il_chronicle_open(const struct il_chronicle_options *options,
	struct il_chronicle **ret_chronicle, struct diag *reterr_diag)
{
	struct il_chronicle *c = calloc(1, sizeof(*c));
	int r = c ? copy_options(c, options) : -ENOMEM;

	if (r == 0)
		r = store_open(options->dir, options->read_only, &c->store, reterr_diag);
	if (r == 0)
		r = book_load(c);
	if (r == 0)
		r = index_load(&c->index, c->store->dir_fd);
	if (r == 0)
		r = recover(c);
	if (r != 0) {
		il_chronicle_close(c);
		return book_condition(r);
	}
	*ret_chronicle = c;
	return 0;
}

void il_chronicle_close(struct il_chronicle *c)
{
	if (!c)
		return;
	if (c->store && !c->store->read_only)
		(void)index_save(&c->index, c->store->dir_fd); /* a cache */
	index_done(&c->index);
	book_unload(c);
	if (c->store)
		store_close(c->store);
	if (c->options.exclude)
		free_excludes(c->options.exclude, c->options.n_exclude);
	free(c);
}
