#include "net/broker.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int broker_receive_request(int fd, struct broker_request *ret_request)
{
	struct broker_request q;
	ssize_t n = recv(fd, &q, sizeof(q), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return -errno;
	if (n == 0)
		return -ECONNRESET;
	if ((size_t)n != sizeof(q) || !memchr(q.host, '\0', sizeof(q.host)) || q.port == 0)
		return -EBADMSG;
	*ret_request = q;
	return 0;
}

int broker_send_request(int fd, const struct broker_request *request)
{
	ssize_t n = send(fd, request, sizeof(*request), MSG_NOSIGNAL | MSG_DONTWAIT);

	return n < 0 ? -errno : 0;
}

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int broker_send_reply(int fd, const struct broker_reply *reply, int descriptor)
{
	union control control = { .bytes = { 0 } };
	struct broker_reply copy = *reply;
	struct iovec part = { .iov_base = &copy, .iov_len = sizeof(copy) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (descriptor >= 0) {
		struct cmsghdr *c;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &descriptor, sizeof(descriptor));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int broker_receive_reply(int fd, struct broker_reply *ret_reply, int *ret_descriptor)
{
	union control control = { .bytes = { 0 } };
	struct iovec part = { .iov_base = ret_reply, .iov_len = sizeof(*ret_reply) };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	*ret_descriptor = -1;
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ECONNRESET;
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_descriptor, CMSG_DATA(c), sizeof(int));
	return n == (ssize_t)sizeof(*ret_reply) ? 0 : -EBADMSG;
}
