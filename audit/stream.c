#include "audit/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/segment.h"
#include "base/cleanup.h"

/* Small enough for a core's cache, large enough that turns cost nothing. */
#define WINDOW_BYTES ((uint64_t)1 << 20)
#define MORE_BYTES   ((size_t)64 * 1024)
#define THREADS_MAX  16u

struct segment {
	uint32_t number;
	uint64_t size; /* when the walk began: what comes later is not looked at */
};

struct walk {
	const struct stream_options *options;
	stream_fn fn;
	void *ctx;
	struct segment *segments; /* owned */
	size_t n_segments;

	pthread_mutex_t mutex;
	pthread_cond_t turned;
	/* under the mutex */
	size_t segment; /* of the next window */
	uint64_t offset;
	uint64_t n_windows; /* given out */
	uint64_t turn;      /* the window whose records come next */
	int result;         /* non-zero ends the walk */

	/* only who has the turn */
	uint64_t line_number;
};

/* The lines that begin in [from, to) of a segment. */
struct window {
	uint64_t turn;
	size_t segment;
	uint64_t from, to;
	char *bytes; /* owned, reused */
	size_t capacity, n;
	const char *start, *end; /* whole lines */
	bool is_torn;
	struct stream_record *records; /* owned, reused */
	size_t n_records, records_capacity;
};

static bool window_take(struct walk *w, struct window *win)
{
	const struct segment *s;
	bool taken = false;

	(void)pthread_mutex_lock(&w->mutex);
	while (w->segment < w->n_segments && w->offset >= w->segments[w->segment].size) {
		w->segment++;
		w->offset = 0;
	}
	if (w->result == 0 && w->segment < w->n_segments) {
		s = &w->segments[w->segment];
		win->turn = w->n_windows++;
		win->segment = w->segment;
		win->from = w->offset;
		win->to = s->size - w->offset > WINDOW_BYTES ? w->offset + WINDOW_BYTES : s->size;
		w->offset = win->to;
		taken = true;
	}
	(void)pthread_mutex_unlock(&w->mutex);
	return taken;
}

static int window_grow(struct window *win, size_t wanted)
{
	char *grown;

	if (wanted <= win->capacity)
		return 0;
	grown = realloc(win->bytes, wanted);
	if (!grown)
		return -ENOMEM;
	win->bytes = grown;
	win->capacity = wanted;
	return 0;
}

/* The window, the byte before it, and what its last line needs beyond it. */
static int window_read(struct window *win, int fd, uint64_t size)
{
	uint64_t start = win->from > 0 ? win->from - 1 : 0;
	size_t wanted = (size_t)(win->to - start);

	win->n = 0;
	for (;;) {
		size_t got = 0;
		int r = window_grow(win, wanted);

		if (r == 0)
			r = segment_read_at(
				fd, win->bytes + win->n, wanted - win->n, start + win->n, &got);
		if (r != 0)
			return r;
		win->n += got;
		if (win->n < wanted || start + win->n >= size || win->bytes[win->n - 1] == '\n' ||
			(win->to < start + win->n &&
				memchr(win->bytes + (win->to - start) - 1, '\n',
					win->n - (size_t)(win->to - start) + 1)) ||
			win->n > WINDOW_BYTES + IL_AUDIT_ENTRY_MAX)
			return 0;
		wanted += (uint64_t)MORE_BYTES < size - start - wanted
				  ? MORE_BYTES
				  : (size_t)(size - start - wanted);
	}
}

/* Finds the whole lines that begin in the window. */
static void window_cut(struct window *win)
{
	size_t skip = win->from > 0 ? 1 : 0;
	const char *limit =
		win->bytes + skip + (win->to - win->from); /* where the next one begins */
	const char *end = win->bytes + win->n;
	const char *newline;

	win->is_torn = false;
	win->start = win->bytes;
	if (skip > 0) {
		newline = memchr(win->bytes, '\n', win->n);
		win->start = newline ? newline + 1 : end;
	}
	if (limit > end)
		limit = end;
	if (win->start >= limit) {
		win->end = win->start;
		return;
	}
	newline = memchr(limit - 1, '\n', (size_t)(end - limit) + 1);
	if (newline) {
		win->end = newline + 1;
		return;
	}
	newline = memrchr(win->start, '\n', (size_t)(end - win->start));
	win->end = newline ? newline + 1 : win->start;
	win->is_torn = win->end < end;
}

static struct stream_record *window_record(struct window *win)
{
	if (win->n_records == win->records_capacity) {
		size_t capacity = win->records_capacity ? 2 * win->records_capacity : 1024;
		struct stream_record *grown =
			reallocarray(win->records, capacity, sizeof(*win->records));

		if (!grown)
			return NULL;
		win->records = grown;
		win->records_capacity = capacity;
	}
	return &win->records[win->n_records++];
}

static int window_parse(struct window *win)
{
	win->n_records = 0;
	for (const char *at = win->start; at < win->end;) {
		const char *newline = memchr(at, '\n', (size_t)(win->end - at));
		struct stream_record *r = window_record(win);

		if (!r)
			return -ENOMEM;
		r->text = at;
		r->n_text = (size_t)(newline - at); /* windows end behind newlines */
		r->is_bad = line_read(at, r->n_text, &r->line) != 0;
		at = newline + 1;
	}
	return 0;
}

static int window_load(struct walk *w, struct window *win)
{
	const struct segment *s = &w->segments[win->segment];
	auto_close int fd = -1;
	char name[SEGMENT_NAME_SIZE];
	int r;

	segment_name(s->number, name);
	fd = openat(w->options->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	r = window_read(win, fd, s->size);
	if (r != 0)
		return r;
	window_cut(win);
	return window_parse(win);
}

/* With the turn. */
static int window_deliver(struct walk *w, struct window *win)
{
	struct stream_record torn = { .is_bad = true, .segment = w->segments[win->segment].number };
	int r;

	if (win->from == 0)
		w->line_number = 0;
	for (size_t i = 0; i < win->n_records; i++) {
		win->records[i].segment = torn.segment;
		win->records[i].line_number = ++w->line_number;
	}
	for (size_t i = 0; i < win->n_records; i++) {
		r = w->fn(w->ctx, &win->records[i], &win->records[i + 1], win->n_records - i - 1);
		if (r != 0)
			return r;
	}
	if (!win->is_torn)
		return 0;
	if (win->segment + 1 == w->n_segments)
		return STREAM_E_TORN;
	torn.line_number = w->line_number + 1;
	return w->fn(w->ctx, &torn, NULL, 0);
}

static void *walk_thread(void *arg)
{
	struct walk *w = arg;
	struct window win = { 0 };

	while (window_take(w, &win)) {
		int r = window_load(w, &win);
		bool is_over;

		(void)pthread_mutex_lock(&w->mutex);
		while (w->turn != win.turn)
			(void)pthread_cond_wait(&w->turned, &w->mutex);
		is_over = w->result != 0;
		(void)pthread_mutex_unlock(&w->mutex);
		if (!is_over && r == 0)
			r = window_deliver(w, &win);
		(void)pthread_mutex_lock(&w->mutex);
		if (w->result == 0)
			w->result = r;
		w->turn++;
		(void)pthread_cond_broadcast(&w->turned);
		(void)pthread_mutex_unlock(&w->mutex);
	}
	free(win.bytes);
	free(win.records);
	return NULL;
}

static unsigned thread_count(unsigned wanted)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (wanted == 0)
		wanted = cores > 0 ? (unsigned)cores : 1;
	return wanted < THREADS_MAX ? wanted : THREADS_MAX;
}

/* The segments up to the first gap; their sizes are taken now. */
static int walk_list(struct walk *w, bool *ret_gap, uint32_t *ret_segment)
{
	auto_free uint32_t *numbers = NULL;
	size_t n = 0;
	int r = segment_list(w->options->dir_fd, &numbers, &n);

	*ret_gap = false;
	if (r != 0 || n == 0)
		return r;
	w->segments = calloc(n, sizeof(*w->segments));
	if (!w->segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		char name[SEGMENT_NAME_SIZE];
		struct stat st;

		*ret_segment = numbers[i];
		if (i > 0 && numbers[i] != numbers[i - 1] + 1) {
			*ret_gap = true;
			return 0;
		}
		if (numbers[i] < w->options->from_segment)
			continue;
		segment_name(numbers[i], name);
		if (fstatat(w->options->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		if (!S_ISREG(st.st_mode))
			return -EUCLEAN;
		w->segments[w->n_segments++] =
			(struct segment){ .number = numbers[i], .size = (uint64_t)st.st_size };
	}
	return 0;
}

static void walk_run(struct walk *w)
{
	unsigned n = thread_count(w->options->threads);
	pthread_t threads[THREADS_MAX];
	unsigned n_started = 0;

	while (n_started + 1 < n && pthread_create(&threads[n_started], NULL, walk_thread, w) == 0)
		n_started++;
	(void)walk_thread(w); /* no thread to be had: slower, not wrong */
	for (unsigned i = 0; i < n_started; i++)
		(void)pthread_join(threads[i], NULL);
}

int stream_walk(const struct stream_options *o, stream_fn fn, void *ctx, uint32_t *reterr_segment)
{
	struct walk w = { .options = o,
		.fn = fn,
		.ctx = ctx,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.turned = PTHREAD_COND_INITIALIZER };
	bool has_gap = false;
	int r = walk_list(&w, &has_gap, reterr_segment);

	if (r == 0) {
		walk_run(&w);
		r = w.result;
	}
	free(w.segments);
	if (has_gap && (r == 0 || r == STREAM_E_TORN))
		return STREAM_E_GAP;
	return r;
}
