#include "sandbox/runner/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PROCESSES_MAX 32768

struct process {
	pid_t pid, parent;
	uint64_t ticks;
	int64_t resident_pages;
	bool below;
};

struct processes {
	struct process *items;
	size_t n, capacity;
};

static bool read_process(int proc, const char *name, struct process *ret_process)
{
	struct process p = { 0 };
	uint64_t user = 0, system = 0, dead_user = 0, dead_system = 0;
	char path[64], text[1024];
	const char *after;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%.32s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	after = strrchr(text, ')'); /* the name before may contain anything */
	if (!after || sscanf(after + 2,
			      "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			      " %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %*u %*u %" SCNd64,
			      &p.parent, &user, &system, &dead_user, &dead_system,
			      &p.resident_pages) != 6)
		return false;
	p.pid = (pid_t)strtol(name, NULL, 10);
	p.ticks = user + system + dead_user + dead_system;
	*ret_process = p;
	return true;
}

static int add(struct processes *list, const struct process *p)
{
	if (list->n == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 64;
		struct process *items;

		if (capacity > PROCESSES_MAX)
			return -E2BIG;
		items = realloc(list->items, capacity * sizeof(*items));
		if (!items)
			return -ENOMEM;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->n++] = *p;
	return 0;
}

static void mark_below(struct processes *list)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < list->n; i++) {
			struct process *p = &list->items[i];
			bool below = p->parent == getpid();

			for (size_t k = 0; !p->below && !below && k < list->n; k++)
				below = list->items[k].below && list->items[k].pid == p->parent;
			more = more || (below && !p->below);
			p->below = p->below || below;
		}
	}
}

static int list_below(struct processes *list)
{
	auto_closedir DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!proc)
		return -errno;
	while (r == 0 && (entry = readdir(proc))) {
		struct process p;

		if (isdigit((unsigned char)entry->d_name[0]) &&
			read_process(dirfd(proc), entry->d_name, &p))
			r = add(list, &p);
	}
	if (r == 0)
		mark_below(list);
	return r;
}

static uint64_t private_bytes(const struct process *p)
{
	char path[64], text[128];
	uint64_t resident, shared;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2 || shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int tree_measure(struct tree_use *ret_use)
{
	struct processes list = { 0 };
	struct tree_use use = { 0 };
	struct rusage dead;
	uint64_t ticks = 0;
	int r = list_below(&list);

	for (size_t i = 0; r == 0 && i < list.n; i++) {
		if (!list.items[i].below)
			continue;
		use.n_processes++;
		ticks += list.items[i].ticks;
		use.memory_bytes += private_bytes(&list.items[i]);
	}
	free(list.items);
	if (r != 0)
		return r;
	(void)getrusage(RUSAGE_CHILDREN, &dead);
	use.cpu_ms = ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK) +
		     (uint64_t)(dead.ru_utime.tv_sec + dead.ru_stime.tv_sec) * 1000 +
		     (uint64_t)(dead.ru_utime.tv_usec + dead.ru_stime.tv_usec) / 1000;
	*ret_use = use;
	return 0;
}

/* Two passes: what is stopped cannot fork while the others are being killed. */
static void signal_below(int signal)
{
	struct processes list = { 0 };

	if (list_below(&list) == 0) {
		for (size_t i = 0; i < list.n; i++) {
			if (list.items[i].below)
				(void)kill(list.items[i].pid, signal); /* may be gone */
		}
	}
	free(list.items);
}

void tree_kill(void)
{
	if (getpid() == 1)
		(void)kill(-1, SIGKILL); /* everything in the namespace but this process */
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return;
		if (pid > 0)
			continue;
		if (getpid() != 1) {
			signal_below(SIGSTOP);
			signal_below(SIGKILL);
		}
		(void)waitpid(-1, NULL, getpid() == 1 ? 0 : WNOHANG);
		if (getpid() != 1)
			(void)usleep(500);
	}
}
