/*
 * Runs when the project is built: turns sandbox/filter_table.h into BPF with libseccomp and prints
 * it as C. The rules that look at arguments stand here; each argument that the kernel takes as an
 * int is compared in its low 32 bits only, since the kernel drops the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/attr.h"
#include "sandbox/filter.h"
#include "sandbox/filter_table.h"

#define LOW32     UINT64_C(0xffffffff)
#define TYPE_MASK UINT64_C(0xf) /* SOCK_TYPE_MASK of the kernel */
#define NEW_SPACES                                                                                 \
	((uint64_t)(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |     \
		    CLONE_NEWUTS | CLONE_NEWCGROUP | 0x80 /* CLONE_NEWTIME */))

static const char *const names[] = {
	[FILTER_AGENT] = "agent",
	[FILTER_FETCH] = "fetch",
	[FILTER_EGRESS] = "egress",
	[FILTER_FILES] = "files",
	[FILTER_WEB] = "web",
	[FILTER_COMMAND] = "command",
	[FILTER_COMMAND_TCP] = "command_tcp",
	[FILTER_COMMAND_UNIX] = "command_unix",
	[FILTER_COMMAND_NAMESPACE] = "command_namespace",
};
_Static_assert(N_ELEMENTS(names) == FILTER_N_, "name every variant");

static void must(int r, const char *what)
{
	if (r == 0)
		return;
	(void)fprintf(stderr, "filter_generate: %s: %s\n", what, strerror(-r));
	exit(1);
}

static void rule(scmp_filter_ctx c, uint32_t action, const char *name, unsigned n,
	const struct scmp_arg_cmp *args)
{
	int number = seccomp_syscall_resolve_name(name);

	/* Unknown here, or of another architecture: in an allow-list that means ENOSYS. */
	if (number == __NR_SCMP_ERROR || number < 0)
		return;
	must(seccomp_rule_add_exact_array(c, action, number, n, args), name);
}

static void groups(scmp_filter_ctx c, uint32_t action, const struct filter_group *g, size_t n,
	enum filter_variant v)
{
	for (size_t i = 0; i < n; i++) {
		if (!(g[i].variants & 1u << v))
			continue;
		for (const char *const *name = g[i].names; *name; name++)
			rule(c, action, *name, 0, NULL);
	}
}

#define ONE(...)                                                                                   \
	1, (const struct scmp_arg_cmp[])                                                           \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define TWO(...)                                                                                   \
	2, (const struct scmp_arg_cmp[])                                                           \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* Executable memory is for programs, not for our own confined ones. */
static void memory(scmp_filter_ctx c, bool is_command)
{
	if (is_command) {
		rule(c, SCMP_ACT_ALLOW, "mmap", 0, NULL);
		rule(c, SCMP_ACT_ALLOW, "mprotect", 0, NULL);
		rule(c, SCMP_ACT_ALLOW, "pkey_mprotect", 0, NULL);
		return;
	}
	rule(c, SCMP_ACT_ALLOW, "mmap", ONE(SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)));
	rule(c, SCMP_ACT_ALLOW, "mprotect", ONE(SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)));
}

/* Sending on descriptors that are there, never to an address and never opening a connection with
 * the data. */
static void sending(scmp_filter_ctx c, bool may_address)
{
	if (may_address)
		rule(c, SCMP_ACT_ALLOW, "sendto",
			ONE(SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)));
	else
		rule(c, SCMP_ACT_ALLOW, "sendto",
			TWO(SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0),
				SCMP_A4(SCMP_CMP_EQ, 0, 0)));
	rule(c, SCMP_ACT_ALLOW, "sendmsg", ONE(SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)));
	if (may_address)
		rule(c, SCMP_ACT_ALLOW, "sendmmsg",
			ONE(SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)));
}

static void family(scmp_filter_ctx c, int domain, int type)
{
	rule(c, SCMP_ACT_ALLOW, "socket",
		TWO(SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, (uint64_t)domain),
			SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE_MASK, (uint64_t)type)));
}

/* TCP but not MPTCP, whose connections Landlock does not see. */
static void tcp(scmp_filter_ctx c, int domain)
{
	static const int protocols[] = { 0, 6 };

	for (size_t i = 0; i < N_ELEMENTS(protocols); i++) {
		const struct scmp_arg_cmp args[] = { SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32,
							     (uint64_t)domain),
			SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE_MASK, SOCK_STREAM),
			SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, (uint64_t)protocols[i]) };

		rule(c, SCMP_ACT_ALLOW, "socket", 3, args);
	}
}

static void sockets(scmp_filter_ctx c, enum filter_variant v)
{
	bool namespace = v == FILTER_COMMAND_NAMESPACE;

	rule(c, SCMP_ACT_ALLOW, "socketpair", ONE(SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_UNIX)));
	if (v == FILTER_COMMAND)
		return;
	tcp(c, AF_INET);
	tcp(c, AF_INET6);
	if (namespace || v == FILTER_COMMAND_UNIX) {
		family(c, AF_UNIX, SOCK_STREAM);
		family(c, AF_UNIX, SOCK_DGRAM);
		family(c, AF_UNIX, SOCK_SEQPACKET);
	}
	rule(c, SCMP_ACT_ALLOW, "connect", 0, NULL);
	if (!namespace)
		return;
	family(c, AF_INET, SOCK_DGRAM);
	family(c, AF_INET6, SOCK_DGRAM);
	family(c, AF_NETLINK, SOCK_RAW); /* getifaddrs() of the namespace itself */
	family(c, AF_NETLINK, SOCK_DGRAM);
}

/* Children and threads, but no namespaces. */
static void cloning(scmp_filter_ctx c, bool is_command, bool has_threads)
{
	if (is_command)
		rule(c, SCMP_ACT_ALLOW, "clone", ONE(SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_SPACES, 0)));
	else if (has_threads)
		rule(c, SCMP_ACT_ALLOW, "clone",
			ONE(SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_SPACES | CLONE_THREAD, CLONE_THREAD)));
}

/*
 * Allows every value of an int argument but a few, which are EPERM. libseccomp can compare the low
 * 32 bits only for equality under a mask, so the values are split into the prefixes around the few:
 * below `prefix`, whose bits from `bit` upwards are fixed.
 */
static void all_but(scmp_filter_ctx c, const char *name, unsigned arg, const uint64_t *never,
	size_t n, unsigned bit, uint64_t prefix)
{
	uint64_t mask = LOW32 & ~((UINT64_C(1) << bit) - 1);
	bool meets = false;

	for (size_t i = 0; i < n; i++)
		meets = meets || (never[i] & mask) == prefix;
	if (!meets || bit == 0) {
		rule(c, meets ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW, name,
			ONE(SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, mask, prefix)));
		return;
	}
	all_but(c, name, arg, never, n, bit - 1, prefix);
	all_but(c, name, arg, never, n, bit - 1, prefix | UINT64_C(1) << (bit - 1));
}

/* Everything but pushing characters into a terminal. */
static void terminals(scmp_filter_ctx c, bool is_command)
{
	static const uint64_t never[] = { TIOCSTI, TIOCLINUX };
	static const uint64_t ours[] = { FIONBIO, FIOCLEX, FIONCLEX, FIONREAD, TCGETS, TIOCGWINSZ };

	if (!is_command) {
		for (size_t i = 0; i < N_ELEMENTS(ours); i++)
			rule(c, SCMP_ACT_ALLOW, "ioctl",
				ONE(SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, ours[i])));
		return;
	}
	all_but(c, "ioctl", 1, never, N_ELEMENTS(never), 32, 0);
}

/* fcntl(), prctl() and prlimit64() as far as they do not reach other processes or undo what was
 * done. */
static void process_settings(scmp_filter_ctx c, bool is_command)
{
	static const uint64_t fcntls[] = { F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD,
		F_DUPFD_CLOEXEC, F_GETLK, F_SETLK, F_SETLKW, 1033 /* F_ADD_SEALS */,
		1034 /* F_GET_SEALS */ };
	static const uint64_t prctls[] = { PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE,
		PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP, PR_CAPBSET_READ,
		0x53564d41 /* PR_SET_VMA: names of allocators */ };

	if (is_command) {
		rule(c, SCMP_ACT_ALLOW, "fcntl", 0, NULL);
		rule(c, SCMP_ACT_ALLOW, "prctl", 0, NULL);
		rule(c, SCMP_ACT_ALLOW, "prlimit64", 0, NULL);
		rule(c, SCMP_ACT_ALLOW, "personality", ONE(SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, 0)));
		rule(c, SCMP_ACT_ALLOW, "personality",
			ONE(SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, ADDR_NO_RANDOMIZE)));
		rule(c, SCMP_ACT_ALLOW, "personality",
			ONE(SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, LOW32)));
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(fcntls); i++)
		rule(c, SCMP_ACT_ALLOW, "fcntl",
			ONE(SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, fcntls[i])));
	for (size_t i = 0; i < N_ELEMENTS(prctls); i++)
		rule(c, SCMP_ACT_ALLOW, "prctl",
			ONE(SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, prctls[i])));
	rule(c, SCMP_ACT_ALLOW, "prlimit64", ONE(SCMP_A2(SCMP_CMP_EQ, 0, 0)));
}

/* abort() signals its own process group of one thread; nobody else is reachable by number here. */
static void own_signals(scmp_filter_ctx c, bool is_command)
{
	if (!is_command)
		rule(c, SCMP_ACT_ALLOW, "tgkill", ONE(SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, 6)));
}

/* setsockopt() as HTTP needs it, without what would open a connection or attach a filter. */
static void socket_options(scmp_filter_ctx c, bool is_command)
{
	static const uint64_t tcp_options[] = { 1 /* NODELAY */, 4, 5, 6 /* KEEPALIVE */,
		18 /* USER_TIMEOUT */ };
	static const uint64_t socket_level[] = { SO_KEEPALIVE, SO_SNDBUF, SO_RCVBUF, SO_RCVTIMEO,
		SO_SNDTIMEO, SO_LINGER };

	if (is_command)
		return;
	for (size_t i = 0; i < N_ELEMENTS(tcp_options); i++)
		rule(c, SCMP_ACT_ALLOW, "setsockopt",
			TWO(SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, 6),
				SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, tcp_options[i])));
	for (size_t i = 0; i < N_ELEMENTS(socket_level); i++)
		rule(c, SCMP_ACT_ALLOW, "setsockopt",
			TWO(SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, SOL_SOCKET),
				SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, socket_level[i])));
}

static scmp_filter_ctx build(enum filter_variant v)
{
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	bool is_command = (V_COMMAND & 1u << v) != 0;
	bool has_threads = (V_LOOP & 1u << v) != 0;

	if (!c)
		exit(1);
	must(seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
		"bad architecture");
	must(seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2), "binary tree");
	groups(c, SCMP_ACT_ALLOW, filter_allowed, N_ELEMENTS(filter_allowed), v);
	groups(c, SCMP_ACT_ERRNO(EPERM), filter_denied, N_ELEMENTS(filter_denied), v);
	memory(c, is_command);
	sending(c, is_command && v != FILTER_COMMAND);
	if (is_command)
		sockets(c, v);
	cloning(c, is_command, has_threads);
	terminals(c, is_command);
	process_settings(c, is_command);
	own_signals(c, is_command);
	socket_options(c, is_command);
	return c;
}

/* libseccomp writes BPF to a descriptor only. */
static void print(enum filter_variant v)
{
	scmp_filter_ctx c = build(v);
	FILE *file = tmpfile();
	uint8_t i[8];
	size_t n = 0;

	if (!file)
		exit(1);
	must(seccomp_export_bpf(c, fileno(file)), names[v]);
	seccomp_release(c);
	rewind(file);
	printf("static const struct sock_filter filter_%s[] = {\n", names[v]);
	while (fread(i, sizeof(i), 1, file) == 1) {
		unsigned code = (unsigned)(i[0] | i[1] << 8);
		unsigned long k = (unsigned long)i[4] | (unsigned long)i[5] << 8 |
				  (unsigned long)i[6] << 16 | (unsigned long)i[7] << 24;

		printf("\t{ 0x%02x, %u, %u, 0x%lx },\n", code, i[2], i[3], k);
		n++;
	}
	printf("};\n");
	(void)fclose(file);
	if (n == 0)
		exit(1);
}

int main(void)
{
	puts("/* Made by filter_generate from filter_table.h when the project is built. */");
	for (int v = 0; v < FILTER_N_; v++)
		print((enum filter_variant)v);
	return ferror(stdout) || fflush(stdout) != 0;
}
