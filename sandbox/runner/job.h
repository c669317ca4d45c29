/*
 * A job: all that interlock-exec must do for one command, as plain data. The runner
 * encodes it into a sealed memfd; interlock-exec decodes it, does it and keeps nothing.
 *
 *	il_run_plan → job_encode → memfd → job_decode → namespaces, confinement, execve
 *
 * Reports come back as fixed records on a pipe; both ends are of the same build.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/grant.h"

#define JOB_SIZE      ((size_t)16 << 20)
#define JOB_ARGS_MAX  65536
#define JOB_ENV_MAX   1024
#define JOB_BINDS_MAX 4096

/* Descriptors that interlock-exec is started with, besides 0, 1, 2. */
enum job_fd {
	JOB_FD_JOB = 3,
	JOB_FD_REPORT = 4,
	JOB_FD_BROKER = 5, /* only with a way out */
};

enum job_bind_kind {
	JOB_BIND_READONLY,
	JOB_BIND_WRITABLE,
	JOB_BIND_HIDE,  /* an empty place over it */
	JOB_BIND_ARMED, /* read-only, no program and no device: what is already there */
	JOB_BIND_N_
};

struct job_bind {
	enum job_bind_kind kind;
	const char *path; /* absolute and canonical; the same inside and outside */
	bool optional;
};

struct job {
	struct arena memory;
	int parent; /* pid of the runner: when it is gone, so are we */
	bool namespaces, own_network;
	const char *program; /* real path; device and inode must still be these */
	uint64_t device, inode;
	bool script; /* executed by its verified path, since the kernel reopens it */
	const char *egress; /* the program interlock-egress; "": no way out */
	const char *private_dir; /* of tier B, removed at the end; "": none */
	const char *cwd;
	char **argv, **envp; /* ended by NULL */
	struct job_bind *binds;
	size_t n_binds;
	struct grant_limits limits;
	const uint8_t *plan; /* of sandbox/plan.h, encoded */
	size_t n_plan;
};

int job_encode(const struct job *job, struct buf *out) MUST_CHECK;
/* Strict: -EBADMSG for anything but what job_encode() writes. job_done() also after a failure. */
int job_decode(const uint8_t *bytes, size_t n, struct job *ret_job) MUST_CHECK;
void job_done(struct job *job);

enum report_kind {
	REPORT_FAILED, /* code: errno; text: the step */
	REPORT_STARTED,
	REPORT_LIMIT, /* text: which limit ended it */
	REPORT_EXIT,  /* code: wait status */
	REPORT_N_
};

struct report {
	uint32_t kind;
	int32_t code;
	uint64_t cpu_user_us, cpu_system_us, memory_peak_bytes;
	char text[232];
};
