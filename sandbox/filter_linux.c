#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/filter.h"

#include "sandbox/filters.inc"

#define PROGRAM(name)                                                                              \
	{                                                                                          \
		filter_##name, N_ELEMENTS(filter_##name)                                           \
	}

static const struct {
	const struct sock_filter *instructions;
	size_t n;
} programs[] = {
	[FILTER_AGENT] = PROGRAM(agent),
	[FILTER_FETCH] = PROGRAM(fetch),
	[FILTER_EGRESS] = PROGRAM(egress),
	[FILTER_FILES] = PROGRAM(files),
	[FILTER_WEB] = PROGRAM(web),
	[FILTER_COMMAND] = PROGRAM(command),
	[FILTER_COMMAND_TCP] = PROGRAM(command_tcp),
	[FILTER_COMMAND_UNIX] = PROGRAM(command_unix),
	[FILTER_COMMAND_NAMESPACE] = PROGRAM(command_namespace),
};
_Static_assert(N_ELEMENTS(programs) == FILTER_N_, "a program for every variant");

const struct sock_filter *filter_program(enum filter_variant v, size_t *ret_n)
{
	*ret_n = programs[v].n;
	return programs[v].instructions;
}

int filter_install(enum filter_variant v)
{
	struct sock_fprog program;
	long r;

	if ((unsigned)v >= FILTER_N_)
		return -EINVAL;
	/* The kernel only reads it. */
	program.filter = (struct sock_filter *)(uintptr_t)programs[v].instructions;
	program.len = (unsigned short)programs[v].n;
#ifdef MUTATION_SECCOMP
	return 0;
#endif
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
	if (r < 0)
		return -errno;
	return r > 0 ? -EBUSY : 0; /* a thread that could not be brought under it */
}
