#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * The kernel's interface, written out: the headers of stable distributions stop at ABI 2. Values
 * from include/uapi/linux/landlock.h.
 */
#define FS_EXECUTE     (UINT64_C(1) << 0)
#define FS_WRITE_FILE  (UINT64_C(1) << 1)
#define FS_READ_FILE   (UINT64_C(1) << 2)
#define FS_READ_DIR    (UINT64_C(1) << 3)
#define FS_REMOVE_DIR  (UINT64_C(1) << 4)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_DIR    (UINT64_C(1) << 7)
#define FS_MAKE_REG    (UINT64_C(1) << 8)
#define FS_MAKE_SOCK   (UINT64_C(1) << 9)
#define FS_MAKE_FIFO   (UINT64_C(1) << 10)
#define FS_MAKE_SYM    (UINT64_C(1) << 12)
#define FS_REFER       (UINT64_C(1) << 13) /* ABI 2 */
#define FS_TRUNCATE    (UINT64_C(1) << 14) /* ABI 3 */
#define FS_IOCTL_DEV   (UINT64_C(1) << 15) /* ABI 5 */
#define FS_ABI_1       ((UINT64_C(1) << 13) - 1)

#define NET_BIND_TCP    (UINT64_C(1) << 0) /* ABI 4 */
#define NET_CONNECT_TCP (UINT64_C(1) << 1)

#define SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0) /* ABI 6 */
#define SCOPE_SIGNAL        (UINT64_C(1) << 1)

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH      1
#define RULE_NET_PORT          2

/* Rights that a rule on a single file may carry; others are refused there by the kernel. */
#define FS_OF_FILE (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

struct net_port_attr {
	uint64_t allowed_access;
	uint64_t port;
};

uint32_t landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return abi > 0 ? (uint32_t)abi : 0;
}

void landlock_rights_of(uint32_t abi, struct landlock_rights *ret_rights)
{
	struct landlock_rights r = { 0 };

	if (abi >= 1)
		r.fs = FS_ABI_1;
	if (abi >= 2)
		r.fs |= FS_REFER;
	if (abi >= 3)
		r.fs |= FS_TRUNCATE;
	if (abi >= 4)
		r.net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (abi >= 5)
		r.fs |= FS_IOCTL_DEV;
	if (abi >= 6)
		r.scope = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	*ret_rights = r;
}

/* Device nodes are never made: no grant needs them. */
static uint64_t fs_rights(uint32_t rights)
{
	uint64_t fs = 0;

	if (rights & PLAN_READ)
		fs |= FS_READ_FILE | FS_READ_DIR;
	if (rights & PLAN_WRITE)
		fs |= FS_WRITE_FILE | FS_TRUNCATE;
	if (rights & PLAN_CREATE)
		fs |= FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM |
		      FS_REFER;
	if (rights & PLAN_DELETE)
		fs |= FS_REMOVE_DIR | FS_REMOVE_FILE | FS_REFER;
	if (rights & PLAN_EXEC)
		fs |= FS_EXECUTE;
	if (rights & PLAN_DEVICE)
		fs |= FS_IOCTL_DEV;
	return fs;
}

static int add_place(int ruleset, const struct plan_place *place, uint64_t handled)
{
	auto_close int fd = open(place->path, O_PATH | O_CLOEXEC);
	struct path_beneath_attr attr = { .allowed_access = fs_rights(place->rights) & handled };
	struct stat st;

	if (fd < 0)
		return place->optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
			       ? 0
			       : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		attr.allowed_access &= FS_OF_FILE;
	if (attr.allowed_access == 0)
		return 0;
	attr.parent_fd = fd;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0) < 0)
		return -errno;
	return 0;
}

static int add_ports(int ruleset, const uint16_t *ports, size_t n, uint64_t right)
{
	for (size_t i = 0; i < n; i++) {
		struct net_port_attr attr = { .allowed_access = right, .port = ports[i] };

		if (syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &attr, 0) < 0)
			return -errno;
	}
	return 0;
}

static void without_mutations(struct landlock_rights *r)
{
#ifdef MUTATION_LANDLOCK_FS
	r->fs = UINT64_C(1) << 11; /* block devices: a right that nothing here uses */
#endif
#ifdef MUTATION_LANDLOCK_NET
	r->net = 0;
#endif
#ifdef MUTATION_LANDLOCK_SCOPE
	r->scope = 0;
#endif
	(void)r;
}

int landlock_apply(const struct il_sandbox_plan *plan, const char **reterr_path)
{
	auto_close int ruleset = -1;
	struct landlock_rights rights;
	struct ruleset_attr attr;
	uint32_t abi = landlock_abi();
	int r = 0;

	*reterr_path = NULL;
	if (abi == 0)
		return -ENOSYS;
	landlock_rights_of(abi, &rights);
	without_mutations(&rights);
	/* In a network namespace of its own a command may use ports as it likes. */
	if (plan->filter == FILTER_COMMAND_NAMESPACE)
		rights.net = 0;
	attr = (struct ruleset_attr){ .handled_access_fs = rights.fs,
		.handled_access_net = rights.net,
		.scoped = rights.scope };
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0 && errno == E2BIG) /* older kernels know a shorter struct; what they lack is
					      zero in ours */
		ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, abi >= 4 ? 16 : 8, 0);
	if (ruleset < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < plan->n_places; i++) {
		r = add_place(ruleset, &plan->places[i], rights.fs);
		if (r != 0)
			*reterr_path = plan->places[i].path;
	}
	if (r == 0 && rights.net != 0)
		r = add_ports(ruleset, plan->connect_ports, plan->n_connect_ports, NET_CONNECT_TCP);
	if (r == 0 && rights.net != 0)
		r = add_ports(ruleset, plan->bind_ports, plan->n_bind_ports, NET_BIND_TCP);
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = -errno;
	return r;
}
