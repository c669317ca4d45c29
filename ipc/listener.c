#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "ipc/connection_private.h"

#define LISTENER_BACKLOG 128
/* Coming in is dear beside a message; who waits in the backlog delays nobody. */
#define ACCEPTED_PER_TURN 2

static void listener_wait(struct listener *l);

static void listener_pause(struct listener *l)
{
	l->paused = true;
	(void)uv_poll_stop(&l->poll); /* fails only on a closing handle */
}

/* Out of descriptors: waiting connections stay in the backlog until one of ours is closed. */
static bool is_exhausted(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void on_incoming(uv_poll_t *poll, int status, int events)
{
	struct listener *l = poll->data;

	(void)status; /* accept4() says it better */
	(void)events;
	for (unsigned i = 0; i < ACCEPTED_PER_TURN; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *c;

		if (fd < 0 && errno == EINTR)
			continue;
		if (fd < 0) {
			if (is_exhausted(errno))
				listener_pause(l);
			return;
		}
		if (server_accept(l->server, fd, l->roles, &c) != 0)
			(void)close(fd); /* the peer sees the end of the stream */
	}
}

static void listener_wait(struct listener *l)
{
	l->paused = uv_poll_start(&l->poll, UV_READABLE, on_incoming) != 0;
}

void listeners_pause(struct connection_server *s)
{
	for (struct listener *l = s->listeners; l; l = l->next) {
		if (!l->paused && !l->closing)
			listener_pause(l);
	}
}

void listeners_resume(struct connection_server *s)
{
	if (s->is_breathing)
		return;
	for (struct listener *l = s->listeners; l; l = l->next) {
		if (l->paused && !l->closing)
			listener_wait(l);
	}
}

int listener_open_fd(
	struct connection_server *s, int fd, unsigned roles, struct listener **ret_listener)
{
	struct listener *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	r = uv_poll_init(s->config.loop, &l->poll, fd);
	if (r != 0) {
		free(l);
		return r;
	}
	l->server = s;
	l->fd = fd;
	l->roles = roles;
	l->poll.data = l;
	l->next = s->listeners;
	l->link = &s->listeners;
	if (l->next)
		l->next->link = &l->next;
	s->listeners = l;
	s->n_listeners++;
	listener_wait(l);
	*ret_listener = l;
	return 0;
}

static int check_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	auto_free char *directory = NULL;
	struct stat st;

	if (!slash || slash == path)
		return -EINVAL;
	directory = strndup(path, (size_t)(slash - path));
	if (!directory)
		return -ENOMEM;
	if (lstat(directory, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0 ? 0
											: -EPERM;
}

/* Replaces a socket that nobody answers on; -EADDRINUSE when somebody does or it is something else.
 */
static int remove_dead_socket(const struct sockaddr_un *address)
{
	auto_close int fd = -1;
	struct stat st;

	if (lstat(address->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -EADDRINUSE;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
		errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(address->sun_path) < 0 ? -errno : 0;
}

static int bind_and_listen(const char *path, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	size_t n = strlen(path);
	int r;

	if (fd < 0)
		return -errno;
	if (n >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, n);
	r = remove_dead_socket(&address);
	if (r != 0)
		return r;
	/* The mode of the socket file is taken from here: it is never wider, not even at first. */
	if (fchmod(fd, 0600) < 0 ||
		bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		chmod(path, 0600) < 0 || listen(fd, LISTENER_BACKLOG) < 0)
		return -errno;
	*ret_fd = take_fd(fd);
	return 0;
}

int listener_open(struct connection_server *s, const char *path, unsigned roles,
	struct listener **ret_listener)
{
	auto_free char *copy = strdup(path);
	auto_close int fd = -1;
	struct stat st;
	int r = copy ? check_directory(path) : -ENOMEM;

	if (r == 0)
		r = bind_and_listen(path, &fd);
	if (r != 0)
		return r;
	if (lstat(path, &st) < 0)
		return -errno;
	r = listener_open_fd(s, fd, roles, ret_listener);
	if (r != 0)
		return r;
	(void)take_fd(fd);
	(*ret_listener)->path = take_ptr(copy);
	(*ret_listener)->device = st.st_dev;
	(*ret_listener)->inode = st.st_ino;
	return 0;
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct listener *l = handle->data;
	struct connection_server *s = l->server;

	(void)close(l->fd); /* nothing to do about a failure here */
	*l->link = l->next;
	if (l->next)
		l->next->link = l->link;
	free(l->path);
	free(l);
	s->n_listeners--;
	server_handle_closed(s);
}

void listener_close(struct listener *l)
{
	struct stat st;

	if (!l || l->closing)
		return;
	l->closing = true;
	/* Another engine's socket may be there by now. */
	if (l->path && lstat(l->path, &st) == 0 && st.st_dev == l->device && st.st_ino == l->inode)
		(void)unlink(l->path); /* left behind it is replaced at the next start */
	uv_close((uv_handle_t *)&l->poll, on_listener_closed);
}
