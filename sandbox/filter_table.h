/*
 * The table behind the filters: which variant may make which system call. Included
 * by the generator that makes the BPF and by the tests that compare the filter's
 * answer for every number with it.
 *
 * Names, not numbers: a name that this machine's libseccomp does not know is left
 * out, which for an allow-list means ENOSYS.
 */
#pragma once

#include <stddef.h>

#include "sandbox/filter.h"

#define V_AGENT  (1u << FILTER_AGENT)
#define V_FETCH  (1u << FILTER_FETCH)
#define V_EGRESS (1u << FILTER_EGRESS)
#define V_FILES  (1u << FILTER_FILES)
#define V_WEB    (1u << FILTER_WEB)
#define V_COMMAND                                                                                  \
	(1u << FILTER_COMMAND | 1u << FILTER_COMMAND_TCP | 1u << FILTER_COMMAND_UNIX |             \
		1u << FILTER_COMMAND_NAMESPACE)
#define V_ALL  (V_AGENT | V_FETCH | V_EGRESS | V_FILES | V_WEB | V_COMMAND)
#define V_LOOP (V_FETCH | V_EGRESS | V_WEB)

struct filter_group {
	const char *why;
	unsigned variants;
	const char *const *names; /* ended by NULL */
};

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Allowed without looking at arguments. */
static const struct filter_group filter_allowed[] = {
	{ "a process that only computes", V_ALL,
		NAMES("read", "write", "readv", "writev", "close", "exit", "exit_group", "brk",
			"munmap", "mremap", "madvise", "futex", "futex_waitv", "sched_yield",
			"sched_getaffinity", "getrandom", "restart_syscall", "rt_sigreturn",
			"rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigsuspend",
			"rt_sigtimedwait", "sigaltstack", "rseq", "set_robust_list",
			"get_robust_list", "set_tid_address", "membarrier", "arch_prctl",
			"close_range") },
	{ "time", V_ALL,
		NAMES("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep",
			"gettimeofday", "time", "times", "getitimer", "setitimer", "alarm",
			"pause") },
	{ "who am I", V_ALL,
		NAMES("getpid", "gettid", "getppid", "getpgrp", "getpgid", "getsid", "getuid",
			"geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups",
			"uname", "sysinfo", "getrusage", "getrlimit", "getcpu", "getcwd",
			"capget") },
	{ "waiting for descriptors", V_ALL,
		NAMES("poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1",
			"epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd",
			"eventfd2", "timerfd_create", "timerfd_settime", "timerfd_gettime", "pipe",
			"pipe2", "signalfd", "signalfd4") },
	{ "descriptors that are there", V_ALL,
		NAMES("dup", "dup2", "dup3", "fstat", "lseek", "pread64", "pwrite64", "preadv",
			"pwritev", "preadv2", "pwritev2", "recvmsg", "recvfrom", "recvmmsg",
			"shutdown", "getsockopt", "getsockname", "getpeername") },
	{ "looking for files: what may be opened is Landlock's to say", V_ALL,
		NAMES("open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx", "access",
			"faccessat", "faccessat2", "readlink", "readlinkat", "getdents",
			"getdents64", "statfs", "fstatfs", "fsync", "fdatasync", "sync_file_range",
			"fadvise64", "readahead", "flock", "memfd_create") },
	{ "changing files: what may be changed is Landlock's to say", V_ALL,
		NAMES("creat", "truncate", "ftruncate", "fallocate", "mkdir", "mkdirat", "rmdir",
			"unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat",
			"symlink", "symlinkat", "umask") },
	{ "attributes of files: Landlock does not look at them", V_FILES | V_COMMAND,
		NAMES("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown",
			"fchownat", "utime", "utimes", "futimesat", "utimensat", "getxattr",
			"lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
			"setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
			"fremovexattr", "copy_file_range", "sendfile", "chdir", "fchdir", "sync",
			"syncfs") },
	{ "inherited listeners", V_EGRESS | V_WEB, NAMES("accept", "accept4") },
	{ "threads of libraries", V_LOOP,
		NAMES("sched_setaffinity", "sched_getparam", "sched_getscheduler") },
	{ "any program: processes", V_COMMAND,
		NAMES("fork", "vfork", "execve", "execveat", "wait4", "waitid", "kill", "tkill",
			"tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "setpgid", "setsid",
			"getpriority", "setpriority", "setrlimit", "sched_setaffinity",
			"sched_getparam", "sched_setparam", "sched_getscheduler",
			"sched_setscheduler", "sched_get_priority_max", "sched_get_priority_min",
			"sched_rr_get_interval", "sched_setattr", "sched_getattr", "ioprio_get",
			"ioprio_set", "pidfd_open", "pidfd_send_signal", "process_mrelease",
			"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
			"setfsuid", "setfsgid", "setgroups", "capset", "mlock", "mlock2", "munlock",
			"mlockall", "munlockall", "mincore", "msync", "pkey_alloc", "pkey_free",
			"modify_ldt", "set_thread_area", "get_thread_area", "getresuid32") },
	{ "any program: files", V_COMMAND,
		NAMES("inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
			"splice", "tee", "vmsplice", "mknod", "mknodat", "io_setup", "io_destroy",
			"io_submit", "io_cancel", "io_getevents", "io_pgetevents",
			"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
			"seccomp", "chroot") },
	{ "any program: talking among itself", V_COMMAND,
		NAMES("shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semctl",
			"semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open",
			"mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify",
			"mq_getsetattr", "timer_create", "timer_settime", "timer_gettime",
			"timer_getoverrun", "timer_delete", "bind", "listen", "accept", "accept4",
			"setsockopt") },
};

/* Denied on purpose: EPERM, an answer that says policy. Everything in no list is ENOSYS. */
static const struct filter_group filter_denied[] = {
	{ "other processes' memory and descriptors", V_ALL,
		NAMES("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
			"pidfd_getfd", "kcmp") },
	{ "namespaces and mounts", V_ALL,
		NAMES("unshare", "setns", "mount", "umount", "umount2", "pivot_root", "move_mount",
			"open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr") },
	{ "kernel surface", V_ALL,
		NAMES("bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load",
			"init_module", "finit_module", "delete_module", "syslog", "acct", "swapon",
			"swapoff", "reboot", "quotactl", "quotactl_fd", "nfsservctl",
			"lookup_dcookie", "fanotify_init", "fanotify_mark", "iopl", "ioperm",
			"vhangup", "sethostname", "setdomainname", "uselib", "ustat", "sysfs",
			"_sysctl") },
	{ "keys", V_ALL, NAMES("add_key", "request_key", "keyctl") },
	{ "files by handle walk past every path rule", V_ALL,
		NAMES("open_by_handle_at", "name_to_handle_at") },
	{ "the clock", V_ALL,
		NAMES("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime") },
	{ "placing of other processes' memory", V_ALL,
		NAMES("move_pages", "migrate_pages", "mbind", "set_mempolicy") },
	{ "children and programs", V_ALL & ~V_COMMAND,
		NAMES("fork", "vfork", "execve", "execveat", "kill", "tkill", "setsid",
			"setpgid") },
	{ "sockets that would be new", V_ALL & ~V_COMMAND,
		NAMES("socket", "connect", "bind", "listen", "sendmmsg") },
	{ "sockets of a command without network", 1u << FILTER_COMMAND,
		NAMES("socket", "connect") },
	{ "taking in connections", V_AGENT | V_FETCH | V_FILES, NAMES("accept", "accept4") },
	{ "attributes of files", V_AGENT | V_FETCH | V_EGRESS | V_WEB,
		NAMES("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown",
			"fchownat", "utime", "utimes", "utimensat", "setxattr", "lsetxattr",
			"fsetxattr", "removexattr", "lremovexattr", "fremovexattr") },
};

/* Not there, so that glibc and libuv fall back to what the filter can look at. */
static const char *const filter_absent[] = { "clone3", "io_uring_setup", "io_uring_enter",
	"io_uring_register", NULL };
