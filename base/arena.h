/*
 * Memory that lives and dies together: everything decoded from one message,
 * everything analysed for one action. Nothing is freed singly; arena_done()
 * frees all. A limit bounds what hostile input can make us hold.
 *
 * An arena may start in memory of the caller (a stack array) and goes to the
 * heap only when that is full.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

IL_API_BEGIN

struct arena_block;

struct arena {
	struct arena_block *blocks; /* owned: the heap blocks, newest first */
	uint8_t *at;                /* next free byte of the current block */
	size_t left;                /* bytes free after `at` */
	size_t used;                /* bytes handed out in all */
	size_t limit;               /* most bytes that may be handed out */
};

void arena_init(struct arena *a, size_t limit);
/* `memory` is borrowed until arena_done(). */
void arena_init_with(struct arena *a, size_t limit, void *memory, size_t size);
void arena_done(struct arena *a);
/* Gives everything back but keeps one block for the next user. */
void arena_reset(struct arena *a);

/* Zeroed, aligned for any type; NULL when over the limit or out of memory. */
void *arena_alloc(struct arena *a, size_t n) MUST_CHECK;
void *arena_alloc_array(struct arena *a, size_t n, size_t size) MUST_CHECK;
void *arena_copy(struct arena *a, const void *bytes, size_t n) MUST_CHECK;
/* A terminated copy. */
char *arena_text(struct arena *a, const char *text, size_t n) MUST_CHECK;
char *arena_printf(struct arena *a, const char *format, ...) PRINTF_LIKE(2, 3) MUST_CHECK;

/* Always initialised where it is declared, { 0 } at least: a return before arena_init() releases it too. */
#define auto_arena CLEANUP(arena_done)

IL_API_END
