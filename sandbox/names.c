#include "sandbox/sandbox.h"

static const char *const profiles[] = {
	[IL_PROFILE_CUSTOM] = "custom",
	[IL_PROFILE_AGENT] = "agent",
	[IL_PROFILE_FETCH] = "fetch",
	[IL_PROFILE_EGRESS] = "egress",
	[IL_PROFILE_FILES] = "files",
	[IL_PROFILE_WEB] = "web",
	[IL_PROFILE_COMMAND] = "command",
};
_Static_assert(N_ELEMENTS(profiles) == IL_PROFILE_N_, "name every profile");

static const char *const guarantees[] = {
	[IL_GUARANTEE_FILE_READ] = "file_read",
	[IL_GUARANTEE_FILE_WRITE] = "file_write",
	[IL_GUARANTEE_LISTING] = "listing",
	[IL_GUARANTEE_TRUNCATE] = "truncate",
	[IL_GUARANTEE_DEVICE_IOCTL] = "device_ioctl",
	[IL_GUARANTEE_EXEC] = "process_spawn",
	[IL_GUARANTEE_TCP_CONNECT] = "tcp_connect",
	[IL_GUARANTEE_TCP_BIND] = "tcp_bind",
	[IL_GUARANTEE_UDP] = "udp",
	[IL_GUARANTEE_MPTCP] = "mptcp",
	[IL_GUARANTEE_FASTOPEN] = "fastopen",
	[IL_GUARANTEE_UNIX_PATH_SOCKET] = "unix_path_socket",
	[IL_GUARANTEE_ABSTRACT_SOCKET] = "abstract_socket",
	[IL_GUARANTEE_SIGNAL] = "signal",
	[IL_GUARANTEE_PTRACE] = "ptrace",
	[IL_GUARANTEE_PROC_ENVIRON] = "proc_environ",
	[IL_GUARANTEE_IO_URING] = "io_uring",
	[IL_GUARANTEE_USER_NAMESPACE] = "user_namespace",
	[IL_GUARANTEE_INHERITED_FD] = "inherited_fd",
	[IL_GUARANTEE_ENVIRONMENT] = "environment",
	[IL_GUARANTEE_SYSCALLS] = "syscalls",
	[IL_GUARANTEE_PRIVILEGES] = "privileges",
	[IL_GUARANTEE_HIDE] = "hide",
	[IL_GUARANTEE_ARMED_READONLY] = "armed_readonly",
	[IL_GUARANTEE_NET_NAMESPACE] = "net_namespace",
	[IL_GUARANTEE_NET_HOSTS] = "net_hosts",
	[IL_GUARANTEE_PID_NAMESPACE] = "pid_namespace",
	[IL_GUARANTEE_LIMIT_MEMORY_TREE] = "limit_memory_tree",
	[IL_GUARANTEE_LIMIT_PROCESSES_TREE] = "limit_processes_tree",
};
_Static_assert(N_ELEMENTS(guarantees) == IL_GUARANTEE_N_, "name every guarantee");

const char *il_sandbox_profile_name(enum il_sandbox_profile profile)
{
	return (unsigned)profile < IL_PROFILE_N_ ? profiles[profile] : "unknown";
}

const char *il_guarantee_name(enum il_guarantee g)
{
	return (unsigned)g < IL_GUARANTEE_N_ ? guarantees[g] : "unknown";
}
