#include "manager/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"

int lock_take(int state_fd, const char *name, int *ret_fd)
{
	auto_close int fd = openat(state_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char pid[32];
	int n;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? LOCK_E_HELD : -errno;
	n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
		return errno ? -errno : -EIO;
	*ret_fd = take_fd(fd);
	return 0;
}

int lock_holder(int state_fd, const char *name, pid_t *ret_pid)
{
	auto_close int fd = openat(state_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[32] = "";
	uint32_t pid;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		return -ESRCH; /* nobody held it; ours goes with the descriptor */
	if (errno != EWOULDBLOCK)
		return -errno;
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return -EBUSY; /* held, its pid not written yet */
	text[strcspn(text, "\n")] = '\0';
	if (num_parse_u32(text, 1, INT32_MAX, &pid) != 0)
		return -EBADMSG;
	*ret_pid = (pid_t)pid;
	return 0;
}
