#include "chronicle/blobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void blobs_done(struct blobs *t)
{
	free(t->slots);
	*t = (struct blobs){ 0 };
}

/* The hash is uniform already; its first bytes are as good as any. */
static struct blob *find(struct blob *slots, size_t capacity, const uint8_t *hash)
{
	size_t at;

	memcpy(&at, hash, sizeof(at));
	for (;; at++) {
		struct blob *slot = &slots[at & (capacity - 1)];

		if (!slot->used || memcmp(slot->hash, hash, SHA256_SIZE) == 0)
			return slot;
	}
}

static int grow(struct blobs *t)
{
	size_t capacity = t->capacity > 0 ? t->capacity * 2 : 1024;
	struct blob *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->capacity; i++) {
		if (t->slots[i].used)
			*find(slots, capacity, t->slots[i].hash) = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->capacity = capacity;
	return 0;
}

int blobs_put(struct blobs *t, const struct blob *blob)
{
	struct blob *slot;

	if (t->n * 4 >= t->capacity * 3) {
		int r = grow(t);

		if (r != 0)
			return r;
	}
	slot = find(t->slots, t->capacity, blob->hash);
	if (!slot->used)
		t->n++;
	*slot = *blob;
	slot->used = true;
	return 0;
}

struct blob *blobs_get(const struct blobs *t, const uint8_t hash[static SHA256_SIZE])
{
	struct blob *slot;

	if (t->capacity == 0)
		return NULL;
	slot = find(t->slots, t->capacity, hash);
	return slot->used ? slot : NULL;
}
