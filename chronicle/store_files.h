/*
 * The files of a store on disk: made, opened, read and checked. Used by store.c
 * and by what works beneath it.
 */
#pragma once

#include <stdint.h>

#include "base/errors.h"
#include "chronicle/store.h"

#define LARGE_NAME_SIZE SHA256_HEX_SIZE

int store_open_files(struct store *s, const char *dir, struct diag *reterr_diag) MUST_CHECK;

int segment_create(int segments_fd, uint32_t number, int *ret_fd) MUST_CHECK;
int segment_remove(int segments_fd, uint32_t number) MUST_CHECK;
/* Gives each frame; stops at the first that is cut or damaged. *ret_good is the end of the last
 * whole one. */
typedef int (*frame_fn)(void *ctx, const struct store_frame *f);
int segment_scan(int fd, uint32_t number, uint64_t size, frame_fn fn, void *ctx, uint64_t *ret_good)
	MUST_CHECK;

int large_open(int large_fd, const uint8_t hash[static SHA256_SIZE], int *ret_fd) MUST_CHECK;
int frames_add(struct store *s, const struct store_frame *f) MUST_CHECK;
