#include "engine/handoff.h"

#include <stddef.h>

static void run_all(struct handoff *h)
{
	struct handoff_item *item;

	uv_mutex_lock(&h->lock);
	item = h->first;
	h->first = h->last = NULL;
	uv_mutex_unlock(&h->lock);
	while (item) {
		struct handoff_item *next = item->next;

		item->fn(item); /* may free it */
		item = next;
	}
}

static void on_async(uv_async_t *async)
{
	run_all(async->data);
}

int handoff_open(struct handoff *h, uv_loop_t *loop)
{
	int r = uv_mutex_init(&h->lock);

	if (r != 0)
		return r;
	h->first = h->last = NULL;
	h->async.data = h;
	r = uv_async_init(loop, &h->async, on_async);
	if (r != 0)
		uv_mutex_destroy(&h->lock);
	return r;
}

void handoff_post(struct handoff *h, struct handoff_item *item)
{
	item->next = NULL;
	uv_mutex_lock(&h->lock);
	if (h->last)
		h->last->next = item;
	else
		h->first = item;
	h->last = item;
	uv_mutex_unlock(&h->lock);
	(void)uv_async_send(&h->async); /* cannot fail on an open handle */
}

static void on_closed(uv_handle_t *handle)
{
	struct handoff *h = handle->data;

	uv_mutex_destroy(&h->lock);
}

void handoff_close(struct handoff *h)
{
	run_all(h);
	uv_close((uv_handle_t *)&h->async, on_closed);
}
