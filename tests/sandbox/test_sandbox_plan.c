#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/apply.h"
#include "sandbox/canary.h"
#include "sandbox/plan.h"
#include "sandbox/sandbox.h"

static const char *const roots[] = { "/tmp" };

static struct il_sandbox_plan *plan_of(const struct grant *g, enum il_sandbox_profile profile)
{
	struct il_sandbox_plan *p = NULL;
	struct diag diag = { 0 };

	if (il_sandbox_plan_grant(g, profile, &p, &diag) != 0)
		fail_msg("%s", diag.text);
	return p;
}

static void a_plan_survives_the_journey(void **state)
{
	static const struct grant_path paths[] = {
		{ .root = 0, .path = "a b", .rights = GRANT_WRITABLE }
	};
	struct grant g = { .profile = "t",
		.roots = roots,
		.n_roots = 1,
		.paths = paths,
		.n_paths = 1,
		.system_readable = true };
	struct il_sandbox_plan *p = plan_of(&g, IL_PROFILE_COMMAND), *back = NULL;
	auto_buf struct buf bytes = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
	auto_free char *json = NULL;

	(void)state;
	assert_int_equal(plan_keep_fd(p, 7), 0);
	assert_int_equal(plan_encode(p, &bytes), 0);
	assert_int_equal(plan_decode(bytes.data, bytes.size, &back), 0);
	assert_int_equal(plan_encode(back, &again), 0);
	assert_int_equal(bytes.size, again.size);
	assert_memory_equal(bytes.data, again.data, bytes.size);
	assert_int_equal(il_sandbox_plan_to_json(p, &json), 0);
	assert_non_null(
		strstr(json, "{\"path\":\"/tmp/a "
			     "b\",\"rights\":[\"read\",\"write\",\"create\",\"delete\",\"exec\"]"));
	back = il_sandbox_plan_free(back);
	for (size_t n = 0; n < bytes.size; n++)
		assert_int_equal(plan_decode(bytes.data, n, &back), -EBADMSG);
	(void)il_sandbox_plan_free(p);
}

static void what_needs_namespaces_is_refused_not_left_out(void **state)
{
	static const struct grant_path hidden[] = { { .root = 0, .path = "", .rights = GRANT_READ },
		{ .root = 0, .path = "secret", .hide = true } };
	static const struct grant_host hosts[] = { { .host = "a.test", .port = 443 } };
	struct grant g = {
		.profile = "t", .roots = roots, .n_roots = 1, .paths = hidden, .n_paths = 2
	};
	struct il_sandbox_plan *p = NULL;
	struct diag diag = { 0 };

	(void)state;
	assert_int_equal(il_sandbox_plan_grant(&g, IL_PROFILE_COMMAND, &p, &diag), -EOPNOTSUPP);
	g.n_paths = 1;
	g.net = GRANT_NET_HOSTS;
	g.hosts = hosts;
	g.n_hosts = 1;
	assert_int_equal(il_sandbox_plan_grant(&g, IL_PROFILE_COMMAND, &p, &diag), -EOPNOTSUPP);
	assert_non_null(strstr(diag.text, "a.test"));
}

static void a_host_needs_ports_only(void **state)
{
	struct il_sandbox_target target = { .host = "a.test", .port = 443 };
	struct il_sandbox_config c = {
		.profile = IL_PROFILE_CUSTOM, .connect = &target, .n_connect = 1
	};
	struct il_sandbox_plan *p = NULL;
	struct diag diag = { 0 };

	(void)state;
	assert_int_equal(il_sandbox_plan_config(&c, &p, &diag), -EINVAL);
	c.ports_only = true;
	assert_int_equal(il_sandbox_plan_config(&c, &p, &diag), 0);
	assert_true(p->ports_only);
	assert_int_equal(p->filter, FILTER_COMMAND_TCP);
	(void)il_sandbox_plan_free(p);
}

/* Runs fn in a child that is confined by the plan; what fn returns, or 1000 + signal, or 99 when
 * confining failed. */
static int confined(const struct il_sandbox_plan *p, int (*fn)(void *ctx), void *ctx)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct il_sandbox_step_error error = { 0 };

		if (il_sandbox_apply_self(p, &error) != 0) {
			(void)fprintf(stderr, "%s\n", error.text);
			_exit(99);
		}
		_exit(fn(ctx));
	}
	assert_true(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int open_errno(void *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int write_errno(void *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? errno : 0;
}

static int socket_errno(void *family)
{
	int fd = socket(*(int *)family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : 0;
}

static int fork_errno(void *ctx)
{
	pid_t pid;

	(void)ctx;
	pid = fork();
	if (pid == 0)
		_exit(0);
	return pid < 0 ? errno : 0;
}

static int terminal_errno(void *request)
{
	char c = 'x';

	return syscall(SYS_ioctl, 0, *(unsigned long *)request, &c) < 0 ? errno : 0;
}

static int foreign_architecture(void *ctx)
{
	(void)ctx;
#if defined(__x86_64__)
	__asm__ volatile("int $0x80" : : "a"(20) : "memory"); /* getpid of i386 */
#endif
	return 0;
}

static void the_agent_has_no_file_socket_or_child(void **state)
{
	struct il_sandbox_config c = { .profile = IL_PROFILE_AGENT };
	struct il_sandbox_plan *p = NULL;
	struct diag diag;
	char passwd[] = "/etc/passwd", made[] = "/tmp/interlock-agent-made";
	int inet = AF_INET, local = AF_UNIX;

	(void)state;
	assert_int_equal(il_sandbox_plan_config(&c, &p, &diag), 0);
	assert_int_equal(open_errno(passwd), 0); /* the control: allowed outside */
	assert_int_equal(confined(p, open_errno, passwd), EACCES);
	assert_int_equal(confined(p, write_errno, made), EACCES);
	assert_int_equal(access(made, F_OK), -1);
	assert_int_equal(confined(p, socket_errno, &inet), EPERM);
	assert_int_equal(confined(p, socket_errno, &local), EPERM);
	assert_true(confined(p, fork_errno, NULL) != 0);
#if defined(__x86_64__)
	assert_int_equal(confined(p, foreign_architecture, NULL), 1000 + SIGSYS);
#endif
	(void)il_sandbox_plan_free(p);
}

static void a_command_gets_exactly_its_places(void **state)
{
	char dir[] = "/tmp/interlock-plan-XXXXXX";
	const char *root = mkdtemp(dir);
	static const struct grant_path paths[] = {
		{ .root = 0, .path = "in", .rights = GRANT_WRITABLE }
	};
	struct grant g = { .profile = "t",
		.roots = &root,
		.n_roots = 1,
		.paths = paths,
		.n_paths = 1,
		.system_readable = true };
	struct il_sandbox_plan *p;
	char inside[64], outside[64], in_dir[64];
	int local = AF_UNIX;
	/* The kernel looks at the low 32 bits only, and so must the filter. */
	unsigned long push = 0x5412, push_high = 0x100005412, get_size = 0x5413;

	(void)state;
	assert_non_null(root);
	(void)snprintf(in_dir, sizeof(in_dir), "%s/in", dir);
	(void)snprintf(inside, sizeof(inside), "%s/in/f", dir);
	(void)snprintf(outside, sizeof(outside), "%s/f", dir);
	assert_int_equal(mkdir(in_dir, 0700), 0);
	p = plan_of(&g, IL_PROFILE_COMMAND);
	assert_int_equal(confined(p, write_errno, inside), 0);
	assert_int_equal(confined(p, write_errno, outside), EACCES);
	assert_int_equal(confined(p, socket_errno, &local), EPERM);
	assert_int_equal(confined(p, terminal_errno, &push), EPERM);
	assert_int_equal(confined(p, terminal_errno, &push_high), EPERM);
	assert_int_equal(confined(p, terminal_errno, &get_size), ENOTTY);
	assert_int_equal(confined(p, fork_errno, NULL), 0);
	(void)il_sandbox_plan_free(p);
	assert_int_equal(unlink(inside), 0);
	assert_int_equal(rmdir(in_dir), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* A report with every probe of the agent profile in one status. */
static void write_report(struct buf *b, const char *status, const char *alive)
{
	bool first = true;

	buf_text(b, "{\"probes\":[");
	for (const struct canary_probe *p = canary_probes; p->name; p++) {
		if (!(p->profiles & 1u << IL_PROFILE_AGENT))
			continue;
		buf_printf(b, "%s{\"name\":\"%s\",\"status\":\"%s\"}", first ? "" : ",", p->name,
			status);
		first = false;
	}
	buf_printf(b, "],\"alive\":%s,\"verified\":true,\"status\":\"sandboxed\"}", alive);
}

static enum il_sandbox_state state_of(const char *status, const char *alive)
{
	auto_buf struct buf b = BUF_INIT(64 * 1024);
	struct il_sandbox_judgement j;
	struct diag diag;

	write_report(&b, status, alive);
	assert_int_equal(
		il_sandbox_report_judge(buf_get_text(&b), b.size, IL_PROFILE_AGENT, &j, &diag), 0);
	return j.state;
}

static void a_report_counts_by_its_probes_not_by_its_words(void **state)
{
	(void)state;
	assert_int_equal(state_of("blocked", "true"), IL_SANDBOXED);
	assert_int_equal(state_of("blocked", "false"), IL_SANDBOX_PARTIAL);
	assert_int_equal(state_of("skipped", "true"), IL_SANDBOX_UNSANDBOXED);
	assert_int_equal(state_of("failed", "true"), IL_SANDBOX_UNSANDBOXED);
	assert_int_equal(state_of("fine", "true"), IL_SANDBOX_UNSANDBOXED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_survives_the_journey),
		cmocka_unit_test(what_needs_namespaces_is_refused_not_left_out),
		cmocka_unit_test(a_host_needs_ports_only),
		cmocka_unit_test(the_agent_has_no_file_socket_or_child),
		cmocka_unit_test(a_command_gets_exactly_its_places),
		cmocka_unit_test(a_report_counts_by_its_probes_not_by_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
