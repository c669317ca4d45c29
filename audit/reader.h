/*
 * The lines of one file, one after the other, in flat memory.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct reader {
	int fd;          /* borrowed */
	uint64_t offset; /* of the next line in the file */
	uint64_t end;    /* bytes from here on are not looked at */
	uint64_t number; /* of the line given last, from 1 at the first offset */
	uint64_t read_to;
	struct buf bytes;
	size_t at; /* of the next line in bytes */
};

enum reader_condition {
	READER_E_END = 1, /* at a line's end */
	READER_E_CUT,     /* bytes without a newline are left, or a line is over the limit */
};

void reader_init(struct reader *r, int fd, uint64_t offset, uint64_t end);
void reader_done(struct reader *r);
/* The line without its newline, borrowed until the next call. 0, -errno or a condition. */
int reader_next(struct reader *r, const char **ret_text, size_t *ret_n) MUST_CHECK;

#define auto_reader CLEANUP(reader_done)

/* The first line of a segment; caller frees. 0, -errno or a condition. */
int reader_first_line(int dir_fd, uint32_t segment, char **ret_text, size_t *ret_n) MUST_CHECK;
