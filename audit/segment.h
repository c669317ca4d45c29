/*
 * The files of a log: NNNNNNNN.jsonl, numbered from 1 without gaps (after a prune: from the stub's
 * number).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

#define SEGMENT_NAME_SIZE 16

void segment_name(uint32_t number, char ret_name[static SEGMENT_NAME_SIZE]);
/* The numbers that are there, ascending; caller frees. */
int segment_list(int dir_fd, uint32_t **ret_numbers, size_t *ret_n) MUST_CHECK;
/* For appending: made when it is not there, and entered in the directory durably. */
int segment_open(int dir_fd, uint32_t number, int *ret_fd) MUST_CHECK;
/* pread(2) until n bytes or the end. */
int segment_read_at(int fd, void *bytes, size_t n, uint64_t offset, size_t *ret_n) MUST_CHECK;
