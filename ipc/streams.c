#include "ipc/streams.h"

#include <stdlib.h>

void streams_done(struct streams *s)
{
	free(s->open);
	*s = (struct streams){ 0 };
}

bool is_peers_stream(uint64_t number)
{
	return (number & 1) != 0;
}

int streams_claim(struct streams *s, uint64_t number)
{
	uint64_t *last = is_peers_stream(number) ? &s->last_odd : &s->last_even;

	if (number == 0 || number <= *last)
		return STREAMS_E_REUSED;
	*last = number;
	return 0;
}

uint64_t streams_next_even(struct streams *s)
{
	return s->last_even += 2;
}

int streams_add(struct streams *s, uint64_t number, enum message_kind opened_by, uint64_t credit)
{
	if (s->n_open == s->capacity) {
		size_t capacity = s->capacity ? s->capacity * 2 : 4;
		struct stream *grown = realloc(s->open, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->open = grown;
		s->capacity = capacity;
	}
	s->open[s->n_open++] =
		(struct stream){ .number = number, .opened_by = opened_by, .credit = credit };
	s->n_work += message_types[opened_by].is_work;
	return 0;
}

struct stream *streams_find(const struct streams *s, uint64_t number)
{
	for (size_t i = 0; i < s->n_open; i++) {
		if (s->open[i].number == number)
			return &s->open[i];
	}
	return NULL;
}

void streams_remove(struct streams *s, struct stream *stream)
{
	s->n_work -= message_types[stream->opened_by].is_work;
	*stream = s->open[--s->n_open];
}

bool streams_has_ended(const struct streams *s, uint64_t number)
{
	return number != 0 && number <= (is_peers_stream(number) ? s->last_odd : s->last_even) &&
	       !streams_find(s, number);
}

bool stream_admits(const struct stream *stream, enum message_kind kind)
{
	const enum message_kind *within = message_types[kind].within;

	if (!within)
		return true;
	for (; *within != MESSAGE_NONE; within++) {
		if (*within == stream->opened_by)
			return true;
	}
	return false;
}
