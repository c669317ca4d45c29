#include "sandbox/sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/landlock.h"

/* Asked without installing anything: a null filter is EFAULT where filters exist, EINVAL or ENOSYS
 * where not. */
static bool has_seccomp(void)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) < 0 && errno == EFAULT;
}

bool il_sandbox_available(void)
{
	return landlock_abi() > 0 || has_seccomp();
}

const char *il_sandbox_mode(void)
{
	bool landlock = landlock_abi() > 0, seccomp = has_seccomp();

	if (landlock && seccomp)
		return "landlock+seccomp";
	return landlock ? "landlock" : seccomp ? "seccomp" : "none";
}

int il_sandbox_probe(struct il_sandbox_status *ret_status)
{
	struct il_sandbox_status s = { .version = landlock_abi() };
	bool seccomp = has_seccomp();

	(void)snprintf(s.mode, sizeof(s.mode), "%s", il_sandbox_mode());
	s.active = s.version > 0 && seccomp;
	s.filesystem = s.version > 0;
	s.network = seccomp; /* socket() itself is what the profiles without network are denied */
	if (s.version == 0)
		(void)snprintf(s.reason, sizeof(s.reason),
			"no Landlock: it is not built in or not enabled at boot "
			"(lsm=landlock,...)");
	else if (!seccomp)
		(void)snprintf(s.reason, sizeof(s.reason), "no seccomp filters in this kernel");
	else if (s.version < 6)
		(void)snprintf(s.reason, sizeof(s.reason),
			"Landlock ABI %u: no scopes for signals and abstract sockets%s%s",
			s.version, s.version < 4 ? ", no TCP ports" : "",
			s.version < 3 ? ", no truncation" : "");
	*ret_status = s;
	return 0;
}

int il_sandbox_wrap_command(const struct il_sandbox_plan *plan, char ***argv)
{
	(void)plan;
	(void)argv;
	return 0; /* nothing to wrap: a process confines itself on Linux */
}

int il_sandbox_post_start(const struct il_sandbox_plan *plan, int pid)
{
	(void)plan;
	(void)pid;
	return 0; /* nothing is left to do after the start on Linux */
}
