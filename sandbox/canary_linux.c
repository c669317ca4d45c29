#include "sandbox/canary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files.h"
#include "sandbox/landlock.h"
#include "sandbox/plan.h"

struct il_sandbox_twin {
	struct canary_targets targets;
	int controls[CANARY_PROBES_MAX]; /* errno of each control; 0: it worked */
	int line_fd;                     /* owned; the twin ends when it is closed */
};

/* What the twin tells us, in one write. */
struct twin_message {
	struct canary_targets targets;
	int controls[CANARY_PROBES_MAX];
};

/* ---- in the twin ---- */

static int listen_tcp(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
		listen(fd, 16) == 0 && getsockname(fd, (struct sockaddr *)&at, &size) == 0)
		*ret_port = ntohs(at.sin_port);
	return fd;
}

static int listen_udp(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
		getsockname(fd, (struct sockaddr *)&at, &size) == 0)
		*ret_port = ntohs(at.sin_port);
	return fd;
}

static void listen_unix(const char *path, const char *abstract)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = strlen(abstract);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		(void)listen(fd, 16); /* the control tells whether it worked */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memset(at.sun_path, 0, sizeof(at.sun_path));
	memcpy(at.sun_path + 1, abstract, n);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&at,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) == 0)
		(void)listen(fd, 16); /* the control tells whether it worked */
}

static void put_file(const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0)
		(void)!write_all(fd, "canary", 6); /* the control tells whether it worked */
}

static bool make_dir(struct canary_targets *t)
{
	static const char *const places[] = { "/tmp", "/var/tmp", "/dev/shm" };

	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		(void)snprintf(t->dir, sizeof(t->dir), "%s/interlock-canary-XXXXXX", places[i]);
		if (mkdtemp(t->dir))
			return true;
	}
	t->dir[0] = '\0';
	return false;
}

static void make_targets(struct canary_targets *t)
{
	(void)make_dir(t); /* without one the controls fail, and say so */
	(void)snprintf(t->secret, sizeof(t->secret), "%s/secret", t->dir);
	(void)snprintf(t->victim, sizeof(t->victim), "%s/victim", t->dir);
	(void)snprintf(t->fresh, sizeof(t->fresh), "%s/fresh", t->dir);
	(void)snprintf(t->renamed, sizeof(t->renamed), "%s/renamed", t->dir);
	(void)snprintf(t->linked, sizeof(t->linked), "%s/linked", t->dir);
	(void)snprintf(t->socket_path, sizeof(t->socket_path), "%s/socket", t->dir);
	(void)snprintf(t->abstract, sizeof(t->abstract), "interlock-canary-%d", (int)getpid());
	(void)snprintf(t->environ_path, sizeof(t->environ_path), "/proc/%d/environ", (int)getpid());
	t->twin = getpid();
	put_file(t->secret);
	put_file(t->victim);
	(void)listen_tcp(&t->tcp_port);
	(void)listen_udp(&t->udp_port);
	listen_unix(t->socket_path, t->abstract);
}

static void remove_targets(const struct canary_targets *t)
{
	const char *const names[] = { t->secret, t->victim, t->fresh, t->renamed, t->linked,
		t->socket_path };

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		(void)unlink(names[i]); /* not every one is there */
	if (t->dir[0])
		(void)rmdir(t->dir);
}

/* Seizing oneself is impossible: the control for ptrace and signals is a child of the twin. */
static int control_of(const struct canary_probe *p, const struct canary_targets *t)
{
	struct canary_targets own = *t;
	pid_t child;
	int r;

	if (p->control_is_given)
		return 0;
	if (p->guarantee != IL_GUARANTEE_PTRACE)
		return p->try(t);
	child = fork();
	if (child < 0)
		return errno;
	if (child == 0) {
		(void)pause();
		_exit(0);
	}
	own.twin = child;
	r = p->try(&own);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	return r;
}

static void twin_main(int report_fd, int line_fd)
{
	struct twin_message m;
	char c;

	/* Whoever holds the line may die without closing it; nobody else keeps the twin. */
	(void)signal(SIGPIPE, SIG_IGN);
	memset(&m, 0, sizeof(m));
	make_targets(&m.targets);
	for (size_t i = 0; canary_probes[i].name; i++)
		m.controls[i] = control_of(&canary_probes[i], &m.targets);
	if (write_all(report_fd, &m, sizeof(m)) == 0) {
		(void)close(report_fd);
		while (read(line_fd, &c, 1) < 0 && errno == EINTR)
			;
	}
	remove_targets(&m.targets);
	_exit(0);
}

/* ---- in the process that will be confined ---- */

static int read_message(int fd, struct twin_message *ret_message)
{
	size_t n = 0;

	while (n < sizeof(*ret_message)) {
		ssize_t got = read(fd, (char *)ret_message + n, sizeof(*ret_message) - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EPIPE;
		n += (size_t)got;
	}
	return 0;
}

/* Through a child that ends at once, so that no zombie is left to a process that cannot wait any
 * more. */
static int fork_twin(int report[2], int line[2])
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		pid_t twin = fork();

		if (twin == 0) {
			(void)close(report[0]);
			(void)close(line[1]);
			twin_main(report[1], line[0]);
		}
		_exit(twin < 0);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EAGAIN;
}

int il_sandbox_twin_start(struct il_sandbox_plan *plan, struct il_sandbox_twin **ret_twin)
{
	struct il_sandbox_twin *twin = calloc(1, sizeof(*twin));
	struct twin_message message;
	int report[2] = { -1, -1 }, line[2] = { -1, -1 };
	int r = 0;

	if (!twin)
		return -ENOMEM;
	if (pipe2(report, O_CLOEXEC) < 0 || pipe2(line, O_CLOEXEC) < 0)
		r = -errno;
	if (r == 0)
		r = fork_twin(report, line);
	cleanup_close(&report[1]);
	cleanup_close(&line[0]);
	if (r == 0)
		r = read_message(report[0], &message);
	cleanup_close(&report[0]);
	if (r == 0)
		r = plan_keep_fd(plan, line[1]);
	if (r == 0 && setenv(CANARY_VARIABLE, "1", 1) < 0)
		r = -errno;
	if (r != 0) {
		cleanup_close(&line[1]);
		free(twin);
		return r;
	}
	twin->targets = message.targets;
	memcpy(twin->controls, message.controls, sizeof(twin->controls));
	twin->line_fd = line[1];
	twin->targets.inherited_fd = open(twin->targets.secret, O_RDONLY | O_CLOEXEC);
	if (twin->targets.inherited_fd < 0)
		twin->targets.inherited_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	*ret_twin = twin;
	return 0;
}

struct counts {
	unsigned n_blocked, n_failed, n_total;
};

static void report_probe(
	struct buf *b, const struct il_sandbox_twin *twin, size_t i, struct counts *c)
{
	const struct canary_probe *p = &canary_probes[i];
	int control = twin->controls[i];
	int r = control == 0 ? p->try(&twin->targets) : 0;
	const char *status = control != 0 ? "skipped" : r != 0 ? "blocked" : "failed";

	buf_printf(b,
		"%s{\"name\":\"%s\",\"status\":\"%s\",\"target\":\"%s\",\"error\":\"%s\","
		"\"control\":\"%s\"}",
		c->n_total > 0 ? "," : "", p->name, status, il_guarantee_name(p->guarantee),
		control != 0 ? "impossible here anyway"
		: r != 0     ? strerrorname_np(r) ? strerrorname_np(r) : "error"
			     : "",
		control == 0               ? "worked"
		: strerrorname_np(control) ? strerrorname_np(control)
					   : "failed");
	c->n_total++;
	c->n_blocked += control == 0 && r != 0;
	c->n_failed += control == 0 && r == 0;
}

/* What the profile needs to live. */
static bool can_live(void)
{
	struct timespec now;
	void *memory = malloc(1 << 20);
	bool ok = memory && clock_gettime(CLOCK_MONOTONIC, &now) == 0;
	char c;

	ok = ok && getentropy(&c, 1) == 0;
	free(memory);
	return ok;
}

int il_sandbox_verify(
	const struct il_sandbox_plan *plan, struct il_sandbox_twin *twin, char **ret_report_json)
{
	auto_buf struct buf b = BUF_INIT((size_t)60 * 1024);
	char time_text[RFC3339_SIZE];
	struct counts c = { 0 };
	bool alive;

	rfc3339_format(clock_wall_ns(&clock_system), time_text);
	buf_printf(&b,
		"{\"platform\":\"linux\",\"profile\":\"%s\",\"mechanism\":\"%s\",\"probes\":[",
		il_sandbox_profile_name(plan->profile), il_sandbox_mode());
	for (size_t i = 0; canary_probes[i].name; i++) {
		if (canary_probes[i].profiles & 1u << plan->profile)
			report_probe(&b, twin, i, &c);
	}
	alive = can_live();
	buf_printf(&b,
		"],\"alive\":%s,\"verified\":%s,\"status\":\"%s\",\"summary\":\"Sandbox %s: %u/%u "
		"probes blocked\",\"timestamp\":\"%s\"}",
		alive ? "true" : "false", c.n_failed == 0 && alive ? "true" : "false",
		c.n_failed == 0 && alive ? "sandboxed"
		: c.n_blocked > 0        ? "partial"
					 : "unsandboxed",
		c.n_failed == 0 && alive ? "verified" : "not verified", c.n_blocked, c.n_total,
		time_text);
	cleanup_close(&twin->line_fd); /* the twin ends and cleans up */
	free(twin);
	return buf_take_text(&b, ret_report_json);
}
