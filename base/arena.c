#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ARENA_ALIGN        alignof(max_align_t)
#define ARENA_FIRST_BLOCK  ((size_t)4096)
#define ARENA_LARGEST_STEP ((size_t)1 << 20)

struct arena_block {
	struct arena_block *next;
	size_t size; /* bytes of memory[] */
	alignas(max_align_t) uint8_t memory[];
};

void arena_init(struct arena *a, size_t limit)
{
	*a = (struct arena){ .limit = limit };
}

void arena_init_with(struct arena *a, size_t limit, void *memory, size_t size)
{
	uintptr_t at = (uintptr_t)memory;
	size_t skip = (size_t)(-at & (ARENA_ALIGN - 1));

	arena_init(a, limit);
	if (size > skip) {
		a->at = (uint8_t *)memory + skip;
		a->left = size - skip;
	}
}

static void arena_free_blocks(struct arena_block *block)
{
	int saved = errno;

	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
	errno = saved;
}

void arena_done(struct arena *a)
{
	arena_free_blocks(a->blocks);
	*a = (struct arena){ .limit = a->limit };
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = a->blocks;

	a->used = 0;
	if (!keep)
		return; /* memory of the caller cannot be found again; the heap takes over */
	arena_free_blocks(keep->next);
	keep->next = NULL;
	a->at = keep->memory;
	a->left = keep->size;
}

static bool arena_add_block(struct arena *a, size_t n)
{
	size_t size = a->blocks ? a->blocks->size * 2 : ARENA_FIRST_BLOCK;
	struct arena_block *block;

	if (size > ARENA_LARGEST_STEP)
		size = ARENA_LARGEST_STEP;
	if (size < n)
		size = n;
	block = malloc(sizeof(*block) + size);
	if (!block)
		return false;
	block->next = a->blocks;
	block->size = size;
	a->blocks = block;
	a->at = block->memory;
	a->left = size;
	return true;
}

/* Aligned, not zeroed. */
static void *arena_take(struct arena *a, size_t n)
{
	void *at;

	if (n > a->limit || a->used > a->limit - n)
		return NULL;
	if (n > SIZE_MAX / 2)
		return NULL;
	n = (n + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
	if (n > a->left && !arena_add_block(a, n))
		return NULL;
	at = a->at;
	if (n > 0) {
		a->at += n;
		a->left -= n;
		a->used += n;
	}
	return at;
}

void *arena_alloc(struct arena *a, size_t n)
{
	void *at = arena_take(a, n ? n : 1);

	if (at)
		memset(at, 0, n);
	return at;
}

void *arena_alloc_array(struct arena *a, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	return arena_alloc(a, total);
}

void *arena_copy(struct arena *a, const void *bytes, size_t n)
{
	void *at = arena_take(a, n ? n : 1);

	if (at && n > 0)
		memcpy(at, bytes, n);
	return at;
}

char *arena_text(struct arena *a, const char *text, size_t n)
{
	char *at;

	if (n == SIZE_MAX)
		return NULL;
	at = arena_take(a, n + 1);
	if (!at)
		return NULL;
	if (n > 0)
		memcpy(at, text, n);
	at[n] = '\0';
	return at;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;
	char *at = NULL;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0)
		return NULL;
	at = arena_take(a, (size_t)n + 1);
	if (!at)
		return NULL;
	va_start(args, format);
	(void)vsnprintf(at, (size_t)n + 1, format, args);
	va_end(args);
	return at;
}
