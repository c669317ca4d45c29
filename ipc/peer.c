#include "ipc/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Linux 6.5; older libcs do not know the number. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int peer_credentials(int fd, struct ucred *ret_cred)
{
	socklen_t n = sizeof(*ret_cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_cred, &n) < 0)
		return -errno;
	return n == sizeof(*ret_cred) ? 0 : -EPROTO;
}

/*
 * On a kernel without SO_PEERPIDFD the number may have been taken over by another
 * process. Then the one that connected has ended, and with it its end of the
 * socket: a socket that still is connected after the pidfd was opened says that it had not.
 */
static int pidfd_by_number(int fd, pid_t pid)
{
	struct pollfd hung_up = { .fd = fd };
	auto_close int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (poll(&hung_up, 1, 0) != 0)
		return -1;
	return take_fd(pidfd);
}

static int peer_pidfd(int fd, pid_t pid)
{
	int pidfd = -1;
	socklen_t n = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) == 0)
		return pidfd;
	return pidfd_by_number(fd, pid);
}

int peer_of_socket(int fd, struct peer *ret_peer)
{
	struct ucred cred;
	int r = peer_credentials(fd, &cred);

	if (r != 0)
		return r;
	*ret_peer = (struct peer){
		.pid = cred.pid, .uid = cred.uid, .gid = cred.gid, .pidfd = peer_pidfd(fd, cred.pid)
	};
	return 0;
}

void peer_done(struct peer *p)
{
	cleanup_close(&p->pidfd);
	*p = PEER_NONE;
}

bool peer_is_alive(const struct peer *p)
{
	struct pollfd ended = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd < 0 || poll(&ended, 1, 0) != 1;
}

int peer_ask_credentials(int fd)
{
	int yes = 1;

	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0 ? -errno : 0;
}

union control {
	char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(4 * sizeof(int))];
	struct cmsghdr align;
};

/* Keeps the first descriptor; -EBADMSG when there are more, which are closed with it. */
static int take_descriptors(const struct cmsghdr *c, struct peer_bytes *b)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (b->fd < 0) {
			b->fd = fd;
			continue;
		}
		(void)close(fd); /* one too many, and not ours to use */
		r = -EBADMSG;
	}
	return r;
}

static int take_control(struct msghdr *m, struct peer_bytes *b)
{
	int r = (m->msg_flags & MSG_CTRUNC) ? -EBADMSG : 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS && take_descriptors(c, b) != 0)
			r = -EBADMSG;
		if (c->cmsg_type == SCM_CREDENTIALS &&
			c->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
			struct ucred cred;

			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			b->has_sender = true;
			b->pid = cred.pid;
			b->uid = cred.uid;
		}
	}
	return r;
}

int peer_receive(int socket, void *buffer, size_t size, bool take_fd, struct peer_bytes *ret_bytes)
{
	struct peer_bytes b = { .fd = -1, .uid = (uid_t)-1 };
	union control control;
	struct iovec data = { .iov_base = buffer, .iov_len = size };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	int r;

	do {
		b.n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	} while (b.n < 0 && errno == EINTR);
	if (b.n < 0)
		return -errno;
	r = take_control(&m, &b);
	if (!take_fd || r != 0)
		cleanup_close(&b.fd);
	if (r == 0)
		*ret_bytes = b;
	return r;
}

int peer_send(int socket, const void *bytes, size_t n, int fd, size_t *ret_sent)
{
	union control control = { 0 };
	/* sendmsg() does not write to it. */
	struct iovec data = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = n };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(fd));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do {
		sent = sendmsg(socket, &m, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	*ret_sent = (size_t)sent;
	return 0;
}
