#include "audit/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/segment.h"
#include "base/cleanup.h"

#define WINDOW_PER_THREAD ((size_t)2 << 20)
#define THREADS_MAX       16u

/* One thread's share of a window. */
struct share {
	const char *text;
	size_t n;
	struct stream_record *records; /* owned, reused from window to window */
	size_t n_records, capacity;
	int error;
};

struct walk {
	const struct stream_options *options;
	stream_fn fn;
	void *ctx;
	char *window; /* owned */
	size_t window_size, n_window;
	struct share shares[THREADS_MAX];
	unsigned n_threads;
	struct stream_record *all; /* owned: the window's records in one row */
	size_t all_capacity;
	uint32_t segment;
	uint64_t line_number;
};

static int grow_records(struct stream_record **records, size_t *capacity, size_t wanted)
{
	struct stream_record *grown;
	size_t size = *capacity ? *capacity : 1024;

	if (wanted <= *capacity)
		return 0;
	while (size < wanted)
		size *= 2;
	grown = realloc(*records, size * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*records = grown;
	*capacity = size;
	return 0;
}

static void *parse_share(void *arg)
{
	struct share *s = arg;
	const char *at = s->text, *end = s->text + s->n;

	s->n_records = 0;
	s->error = 0;
	while (at < end && s->error == 0) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct stream_record *r;

		s->error = grow_records(&s->records, &s->capacity, s->n_records + 1);
		if (s->error != 0)
			break;
		r = &s->records[s->n_records++];
		r->text = at;
		r->n_text = (size_t)(newline - at); /* shares are cut behind newlines */
		r->is_bad = line_read(at, r->n_text, &r->line) != 0;
		at = newline + 1;
	}
	return NULL;
}

/* Cuts the window's whole lines into one share a thread. */
static void cut_shares(struct walk *w, size_t n)
{
	size_t from = 0;

	for (unsigned i = 0; i < w->n_threads; i++) {
		size_t to = i + 1 == w->n_threads ? n : n / w->n_threads * (i + 1);
		const char *newline;

		if (to < from)
			to = from;
		newline = to > from && to < n ? memchr(w->window + to - 1, '\n', n - to + 1) : NULL;
		if (newline)
			to = (size_t)(newline - w->window) + 1;
		w->shares[i].text = w->window + from;
		w->shares[i].n = to - from;
		from = to;
	}
}

static int parse_window(struct walk *w, size_t n)
{
	pthread_t threads[THREADS_MAX];
	bool started[THREADS_MAX] = { false };
	int r = 0;

	cut_shares(w, n);
	for (unsigned i = 1; i < w->n_threads; i++)
		started[i] = pthread_create(&threads[i], NULL, parse_share, &w->shares[i]) == 0;
	(void)parse_share(&w->shares[0]);
	for (unsigned i = 1; i < w->n_threads; i++) {
		if (started[i])
			(void)pthread_join(threads[i], NULL);
		else
			(void)parse_share(
				&w->shares[i]); /* no thread to be had: slower, not wrong */
	}
	for (unsigned i = 0; i < w->n_threads; i++)
		r = r != 0 ? r : w->shares[i].error;
	return r;
}

static int deliver(struct walk *w)
{
	size_t n = 0;
	int r;

	for (unsigned i = 0; i < w->n_threads; i++)
		n += w->shares[i].n_records;
	r = grow_records(&w->all, &w->all_capacity, n);
	if (r != 0)
		return r;
	n = 0;
	for (unsigned i = 0; i < w->n_threads; i++) {
		if (w->shares[i].n_records > 0)
			memcpy(w->all + n, w->shares[i].records,
				w->shares[i].n_records * sizeof(*w->all));
		n += w->shares[i].n_records;
	}
	for (size_t i = 0; i < n; i++) {
		w->all[i].segment = w->segment;
		w->all[i].line_number = ++w->line_number;
	}
	for (size_t i = 0; i < n; i++) {
		r = w->fn(w->ctx, &w->all[i], &w->all[i + 1], n - i - 1);
		if (r != 0)
			return r;
	}
	return 0;
}

static int fill_window(struct walk *w, int fd, bool *ret_end)
{
	*ret_end = false;
	while (w->n_window < w->window_size) {
		ssize_t n = read(fd, w->window + w->n_window, w->window_size - w->n_window);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			*ret_end = true;
			break;
		}
		w->n_window += (size_t)n;
	}
	return 0;
}

static int walk_segment(struct walk *w, int fd, bool is_last)
{
	bool end = false;

	w->n_window = 0;
	w->line_number = 0;
	while (!end) {
		const char *last;
		size_t n;
		int r = fill_window(w, fd, &end);

		if (r != 0)
			return r;
		last = w->n_window > 0 ? memrchr(w->window, '\n', w->n_window) : NULL;
		n = last ? (size_t)(last - w->window) + 1 : 0;
		if (n > 0) {
			r = parse_window(w, n);
			if (r == 0)
				r = deliver(w);
			if (r != 0)
				return r;
			memmove(w->window, w->window + n, w->n_window - n);
			w->n_window -= n;
		} else if (w->n_window == w->window_size) {
			return -EUCLEAN; /* no line that long was ever written */
		}
	}
	if (w->n_window == 0)
		return 0;
	return is_last ? STREAM_E_TORN : -EUCLEAN;
}

static void walk_done(struct walk *w)
{
	for (unsigned i = 0; i < THREADS_MAX; i++)
		free(w->shares[i].records);
	free(w->all);
	free(w->window);
}

static unsigned thread_count(unsigned wanted)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (wanted == 0)
		wanted = cores > 0 ? (unsigned)cores : 1;
	return wanted < THREADS_MAX ? wanted : THREADS_MAX;
}

int stream_walk(const struct stream_options *o, stream_fn fn, void *ctx, uint32_t *reterr_segment)
{
	struct walk w = {
		.options = o, .fn = fn, .ctx = ctx, .n_threads = thread_count(o->threads)
	};
	auto_free uint32_t *numbers = NULL;
	size_t n = 0;
	int r = segment_list(o->dir_fd, &numbers, &n);

	w.window_size = w.n_threads * WINDOW_PER_THREAD + IL_AUDIT_ENTRY_MAX;
	w.window = malloc(w.window_size);
	if (!w.window)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		char name[SEGMENT_NAME_SIZE];
		auto_close int fd = -1;

		w.segment = numbers[i];
		*reterr_segment = numbers[i];
		if (i > 0 && numbers[i] != numbers[i - 1] + 1) {
			r = STREAM_E_GAP;
			break;
		}
		segment_name(numbers[i], name);
		fd = openat(o->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		r = fd < 0 ? -errno : walk_segment(&w, fd, i + 1 == n);
	}
	walk_done(&w);
	return r;
}
