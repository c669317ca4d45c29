#include "audit/reader.h"

#include <fcntl.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/segment.h"

#define PIECE ((size_t)64 * 1024)

void reader_init(struct reader *r, int fd, uint64_t offset, uint64_t end)
{
	*r = (struct reader){
		.fd = fd,
		.offset = offset,
		.read_to = offset,
		.end = end,
		.bytes = BUF_INIT(IL_AUDIT_ENTRY_MAX + 2 * PIECE),
	};
}

void reader_done(struct reader *r)
{
	buf_done(&r->bytes);
}

/* One more piece behind what is there; 0 bytes at the end. */
static int reader_fill(struct reader *r, size_t *ret_n)
{
	size_t n = r->end - r->read_to < PIECE ? (size_t)(r->end - r->read_to) : PIECE;
	uint8_t *room;
	int error;

	buf_consume(&r->bytes, r->at);
	r->at = 0;
	room = buf_reserve(&r->bytes, n);
	if (!room)
		return buf_error(&r->bytes);
	error = segment_read_at(r->fd, room, n, r->read_to, ret_n);
	if (error != 0)
		return error;
	buf_grew(&r->bytes, *ret_n);
	r->read_to += *ret_n;
	return 0;
}

int reader_next(struct reader *r, const char **ret_text, size_t *ret_n)
{
	size_t looked = 0;

	for (;;) {
		size_t have = r->bytes.size - r->at;
		const char *text = (const char *)r->bytes.data + r->at;
		const char *newline =
			have > looked ? memchr(text + looked, '\n', have - looked) : NULL;
		size_t got = 0;
		int error;

		if (newline) {
			*ret_text = text;
			*ret_n = (size_t)(newline - text);
			r->at += *ret_n + 1;
			r->offset += *ret_n + 1;
			r->number++;
			return 0;
		}
		looked = have;
		if (have > IL_AUDIT_ENTRY_MAX)
			return READER_E_CUT;
		error = reader_fill(r, &got);
		if (error != 0)
			return error;
		if (got == 0)
			return have > 0 ? READER_E_CUT : READER_E_END;
	}
}

int reader_first_line(int dir_fd, uint32_t segment, char **ret_text, size_t *ret_n)
{
	char name[SEGMENT_NAME_SIZE];
	auto_reader struct reader reader = { .bytes = BUF_INIT(0) };
	auto_close int fd = -1;
	const char *text;
	size_t n;
	int r;

	segment_name(segment, name);
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	reader_init(&reader, fd, 0, UINT64_MAX);
	r = reader_next(&reader, &text, &n);
	if (r != 0)
		return r;
	*ret_text = strndup(text, n);
	*ret_n = n;
	return *ret_text ? 0 : -ENOMEM;
}
