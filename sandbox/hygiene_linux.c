#include "sandbox/hygiene.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int hygiene_single_thread(void)
{
	/* Asking for the thread group to be unshared changes nothing and is refused exactly when it
	 * has several. */
	if (syscall(SYS_unshare, CLONE_THREAD) == 0)
		return 0;
	return errno == EINVAL ? -EBUSY : -errno;
}

int hygiene_no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int hygiene_not_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int close_span(unsigned first, unsigned last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return 0;
	return -errno;
}

/* The smallest kept descriptor that is at least `from`; -1 when there is none. */
static int next_kept(const struct il_sandbox_plan *plan, int from)
{
	int best = -1;

	for (size_t i = 0; i < plan->n_keep_fds; i++) {
		int fd = plan->keep_fds[i];

		if (fd >= from && (best < 0 || fd < best))
			best = fd;
	}
	return best;
}

int hygiene_descriptors(const struct il_sandbox_plan *plan)
{
	int from = 3;

#ifdef MUTATION_DESCRIPTORS
	return 0;
#endif
	for (;;) {
		int kept = next_kept(plan, from);
		int r = close_span((unsigned)from, kept < 0 ? ~0u : (unsigned)kept - 1);

		if (r != 0 || kept < 0)
			return r;
		from = kept + 1;
	}
}

static bool is_passed(const struct il_sandbox_plan *plan, const char *variable)
{
	size_t n = strcspn(variable, "=");

	for (size_t i = 0; i < plan->n_pass_env; i++) {
		if (strlen(plan->pass_env[i]) == n && strncmp(plan->pass_env[i], variable, n) == 0)
			return true;
	}
	return false;
}

int hygiene_environment(const struct il_sandbox_plan *plan)
{
	size_t kept = 0;

#ifdef MUTATION_ENVIRONMENT
	return 0;
#endif
	for (size_t i = 0; environ && environ[i]; i++) {
		if (is_passed(plan, environ[i]))
			environ[kept++] = environ[i];
		else
			explicit_bzero(environ[i],
				strlen(environ[i])); /* also what /proc/self/environ shows */
	}
	if (environ)
		environ[kept] = NULL;
	return 0;
}

int hygiene_limits(void)
{
	static const struct rlimit none = { 0, 0 };

	(void)umask(077);
	return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}

int hygiene_session(void)
{
	if (getsid(0) == getpid() || setsid() >= 0)
		return 0;
	return errno == EPERM ? 0 : -errno; /* leads a process group already; its terminal is taken
					       by the filter */
}

int hygiene_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0,
		0); /* empty already without capabilities */
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0,
			0); /* needs a capability itself; no_new_privs covers the rest */
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}
