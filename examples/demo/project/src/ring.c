#include "ring.h"

bool ring_push(struct ring *r, int item)
{
	if (r->count > RING_CAPACITY)
		return false;
	r->items[(r->first + r->count) % RING_CAPACITY] = item;
	r->count++;
	return true;
}

bool ring_pop(struct ring *r, int *ret_item)
{
	if (r->count == 0)
		return false;
	*ret_item = r->items[r->first];
	r->first = (r->first + 1) % RING_CAPACITY;
	r->count--;
	return true;
}
