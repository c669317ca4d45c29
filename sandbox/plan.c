#include "sandbox/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_MEMORY ((size_t)4 << 20)

/*
 * What every program needs of the system: the reference's list (its loader and library directories,
 * devices, time zones, locales), and for commands the directories that programs live in.
 */
static const struct plan_place system_base[] = {
	{ "/dev/null", PLAN_READ | PLAN_WRITE, true },
	{ "/dev/full", PLAN_READ | PLAN_WRITE, true },
	{ "/dev/zero", PLAN_READ | PLAN_WRITE, true },
	{ "/dev/random", PLAN_READ, true },
	{ "/dev/urandom", PLAN_READ, true },
	{ "/lib", PLAN_READ | PLAN_EXEC, true },
	{ "/lib32", PLAN_READ | PLAN_EXEC, true },
	{ "/lib64", PLAN_READ | PLAN_EXEC, true },
	{ "/usr/lib", PLAN_READ | PLAN_EXEC, true },
	{ "/usr/lib32", PLAN_READ | PLAN_EXEC, true },
	{ "/usr/lib64", PLAN_READ | PLAN_EXEC, true },
	{ "/usr/libexec", PLAN_READ | PLAN_EXEC, true },
	{ "/usr/local/lib", PLAN_READ | PLAN_EXEC, true },
	{ "/usr/local/lib64", PLAN_READ | PLAN_EXEC, true },
	{ "/etc/ld.so.cache", PLAN_READ, true },
	{ "/etc/ld.so.conf", PLAN_READ, true },
	{ "/etc/ld.so.conf.d", PLAN_READ, true },
	{ "/usr/share/locale", PLAN_READ, true },
	{ "/usr/share/zoneinfo", PLAN_READ, true },
	{ "/etc/localtime", PLAN_READ, true },
	{ "/proc/self/cmdline", PLAN_READ, true },
};
static const struct plan_place system_command[] = {
	{ "/bin", PLAN_READ | PLAN_EXEC, true },
	{ "/sbin", PLAN_READ | PLAN_EXEC, true },
	{ "/usr", PLAN_READ | PLAN_EXEC, true },
	{ "/opt", PLAN_READ | PLAN_EXEC, true },
	{ "/nix/store", PLAN_READ | PLAN_EXEC, true },
	{ "/etc/alternatives", PLAN_READ, true },
	{ "/etc/ssl", PLAN_READ, true },
	{ "/etc/pki", PLAN_READ, true },
	{ "/etc/ca-certificates", PLAN_READ, true },
	{ "/etc/ca-certificates.conf", PLAN_READ, true },
	{ "/etc/hosts", PLAN_READ, true },
	{ "/etc/resolv.conf", PLAN_READ, true },
	{ "/etc/nsswitch.conf", PLAN_READ, true },
	{ "/etc/services", PLAN_READ, true },
	{ "/etc/protocols", PLAN_READ, true },
	{ "/etc/passwd", PLAN_READ, true },
	{ "/etc/group", PLAN_READ, true },
	{ "/etc/shells", PLAN_READ, true },
	{ "/etc/login.defs", PLAN_READ, true },
	{ "/etc/host.conf", PLAN_READ, true },
	{ "/etc/gai.conf", PLAN_READ, true },
	{ "/etc/mime.types", PLAN_READ, true },
	{ "/etc/magic", PLAN_READ, true },
	{ "/etc/os-release", PLAN_READ, true },
	{ "/etc/debian_version", PLAN_READ, true },
	{ "/etc/gitconfig", PLAN_READ, true },
	{ "/etc/inputrc", PLAN_READ, true },
	{ "/etc/terminfo", PLAN_READ, true },
	{ "/etc/python3", PLAN_READ, true },
	{ "/etc/perl", PLAN_READ, true },
	{ "/etc/java-17-openjdk", PLAN_READ, true },
	{ "/etc/fonts", PLAN_READ, true },
	{ "/etc/timezone", PLAN_READ, true },
	{ "/etc/machine-id", PLAN_READ, true },
	{ "/dev/tty", PLAN_READ | PLAN_WRITE | PLAN_DEVICE, true },
	{ "/dev/ptmx", PLAN_READ | PLAN_WRITE | PLAN_DEVICE, true },
	{ "/dev/pts", PLAN_READ | PLAN_WRITE | PLAN_DEVICE, true },
	{ "/proc", PLAN_READ, true },
	{ "/sys/devices/system/cpu", PLAN_READ, true },
	{ "/sys/fs/cgroup", PLAN_READ, true },
	{ "/sys/kernel/mm/transparent_hugepage", PLAN_READ, true },
};

static const enum filter_variant filter_of[] = {
	[IL_PROFILE_CUSTOM] = FILTER_COMMAND,
	[IL_PROFILE_AGENT] = FILTER_AGENT,
	[IL_PROFILE_FETCH] = FILTER_FETCH,
	[IL_PROFILE_EGRESS] = FILTER_EGRESS,
	[IL_PROFILE_FILES] = FILTER_FILES,
	[IL_PROFILE_WEB] = FILTER_WEB,
	[IL_PROFILE_COMMAND] = FILTER_COMMAND,
};
_Static_assert(N_ELEMENTS(filter_of) == IL_PROFILE_N_, "a filter for every profile");

struct il_sandbox_plan *plan_new(enum il_sandbox_profile profile)
{
	struct il_sandbox_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	arena_init(&p->memory, PLAN_MEMORY);
	p->profile = profile;
	p->filter = filter_of[profile];
	p->places = arena_alloc_array(&p->memory, PLAN_PLACES_MAX, sizeof(*p->places));
	p->connect_ports = arena_alloc_array(&p->memory, PLAN_PORTS_MAX, sizeof(*p->connect_ports));
	p->bind_ports = arena_alloc_array(&p->memory, PLAN_PORTS_MAX, sizeof(*p->bind_ports));
	p->keep_fds = arena_alloc_array(&p->memory, PLAN_FDS_MAX, sizeof(*p->keep_fds));
	p->pass_env = arena_alloc_array(&p->memory, PLAN_ENV_MAX, sizeof(*p->pass_env));
	if (!p->places || !p->connect_ports || !p->bind_ports || !p->keep_fds || !p->pass_env)
		return il_sandbox_plan_free(p);
	return p;
}

struct il_sandbox_plan *il_sandbox_plan_free(struct il_sandbox_plan *p)
{
	int saved = errno;

	if (p) {
		arena_done(&p->memory);
		free(p);
	}
	errno = saved;
	return NULL;
}

void il_sandbox_close(struct il_sandbox_plan *plan)
{
	(void)il_sandbox_plan_free(plan);
}

int plan_add_place(struct il_sandbox_plan *p, const char *path, uint32_t rights, bool optional)
{
	char *copy;

	if (path[0] != '/')
		return -EINVAL;
	if (p->n_places == PLAN_PLACES_MAX)
		return -E2BIG;
	copy = arena_text(&p->memory, path, strlen(path));
	if (!copy)
		return -ENOMEM;
	p->places[p->n_places++] =
		(struct plan_place){ .path = copy, .rights = rights, .optional = optional };
	return 0;
}

static int add_all(struct il_sandbox_plan *p, const struct plan_place *places, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = plan_add_place(p, places[i].path, places[i].rights, places[i].optional);
	return r;
}

int plan_add_system(struct il_sandbox_plan *p)
{
	int r = add_all(p, system_base, N_ELEMENTS(system_base));

	if (r == 0 && p->profile == IL_PROFILE_COMMAND)
		r = add_all(p, system_command, N_ELEMENTS(system_command));
	return r;
}

void plan_set_namespaces(struct il_sandbox_plan *p, bool has_network_namespace)
{
	if (p->profile == IL_PROFILE_COMMAND && has_network_namespace)
		p->filter = FILTER_COMMAND_NAMESPACE;
}

int plan_keep_fd(struct il_sandbox_plan *p, int fd)
{
	if (p->n_keep_fds == PLAN_FDS_MAX)
		return -E2BIG;
	p->keep_fds[p->n_keep_fds++] = fd;
	return 0;
}
