/*
 * Who is at the other end of a Unix socket, as the kernel knows it.
 *
 * SO_PEERCRED names who connected (on a socketpair: who made it);
 * SCM_CREDENTIALS names who sent these bytes. A pidfd pins the process, so
 * that its number cannot be taken over by another.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

struct peer {
	pid_t pid; /* 0: not known */
	uid_t uid;
	gid_t gid;
	int pidfd; /* owned; -1: this kernel gives none */
};

#define PEER_NONE ((struct peer){ .uid = (uid_t)-1, .gid = (gid_t)-1, .pidfd = -1 })

/* Of a connected socket. The pidfd is of the process that connected (SO_PEERPIDFD, or pidfd_open()
 * and a second look at the socket on older kernels). */
int peer_of_socket(int fd, struct peer *ret_peer) MUST_CHECK;
void peer_done(struct peer *p);
/* False once the pinned process has ended; true when there is no pidfd to ask. */
bool peer_is_alive(const struct peer *p);

/* Has the kernel add the sender's credentials to all that is received: before the peer can send. */
int peer_ask_credentials(int fd) MUST_CHECK;

struct peer_bytes {
	ssize_t n; /* 0: end of stream */
	bool has_sender;
	pid_t pid;
	uid_t uid;
	int fd; /* owned; -1: none came. More than one is refused with -EBADMSG */
};
/* One recvmsg(2). Descriptors arrive close-on-exec, and are closed at once unless take_fd. -EAGAIN
 * when there is nothing now. */
int peer_receive(int socket, void *buffer, size_t size, bool take_fd, struct peer_bytes *ret_bytes)
	MUST_CHECK;
/* One sendmsg(2) without SIGPIPE; fd (-1: none) travels with the first byte. */
int peer_send(int socket, const void *bytes, size_t n, int fd, size_t *ret_sent) MUST_CHECK;
