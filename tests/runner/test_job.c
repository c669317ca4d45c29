#include "tests/support/cmocka.h"

#include <string.h>

#include "base/attr.h"
#include "sandbox/runner/job.h"
#include "sandbox/runner/preflight.h"
#include "sandbox/runner/program.h"

static void make_bytes(struct buf *out)
{
	char sh[] = "sh", c[] = "-c", variable[] = "A=b";
	char *argv[] = { sh, c, NULL }, *envp[] = { variable, NULL };
	struct job_bind binds[] = { { JOB_BIND_READONLY, "/usr", true },
		{ JOB_BIND_HIDE, "/ws/x", true } };
	struct job job = { .parent = 42,
		.namespaces = true,
		.program = "/bin/sh",
		.device = 7,
		.inode = UINT64_MAX,
		.script = true,
		.egress = "",
		.private_dir = "/tmp/p",
		.cwd = "/ws",
		.argv = argv,
		.envp = envp,
		.binds = binds,
		.n_binds = 2,
		.limits = { .wall_ms = 1, .file_size_bytes = 6 },
		.plan = (const uint8_t *)"plan",
		.n_plan = 4 };

	*out = BUF_INIT(65536);
	assert_int_equal(job_encode(&job, out), 0);
}

static void a_job_comes_back_as_it_was(void **state)
{
	auto_buf struct buf bytes = BUF_INIT(0);
	struct job job;

	(void)state;
	make_bytes(&bytes);
	assert_int_equal(job_decode(bytes.data, bytes.size, &job), 0);
	assert_int_equal(job.parent, 42);
	assert_true(job.namespaces && job.script && !job.own_network);
	assert_string_equal(job.program, "/bin/sh");
	assert_int_equal(job.inode, UINT64_MAX);
	assert_string_equal(job.private_dir, "/tmp/p");
	assert_string_equal(job.argv[1], "-c");
	assert_null(job.argv[2]);
	assert_string_equal(job.envp[0], "A=b");
	assert_int_equal(job.n_binds, 2);
	assert_int_equal(job.binds[1].kind, JOB_BIND_HIDE);
	assert_int_equal(job.limits.file_size_bytes, 6);
	assert_int_equal(job.n_plan, 4);
	job_done(&job);
}

static void no_part_of_a_job_is_a_job(void **state)
{
	auto_buf struct buf bytes = BUF_INIT(0);
	struct job job;

	(void)state;
	make_bytes(&bytes);
	for (size_t n = 0; n < bytes.size; n++) {
		assert_int_equal(job_decode(bytes.data, n, &job), -EBADMSG);
		job_done(&job);
	}
	buf_byte(&bytes, 0);
	assert_int_equal(job_decode(bytes.data, bytes.size, &job), -EBADMSG);
	job_done(&job);
}

static void interpreters_are_known_by_their_versions_too(void **state)
{
	(void)state;
	assert_true(program_is_interpreter("/usr/bin/python3.11"));
	assert_true(program_is_interpreter("/usr/bin/dash"));
	assert_true(program_is_interpreter("/opt/node"));
	assert_false(program_is_interpreter("/usr/bin/python3-config"));
	assert_false(program_is_interpreter("/usr/bin/shasum"));
}

static void arguments_that_name_hosts_are_found(void **state)
{
	static const struct grant_host list[] = { { .host = "ok.test" } };
	static const char *const refused[] = { "https://evil.test/x", "evil.test:443",
		"u@evil.test", "git@evil.test:o/r.git", "--host=evil.test", "--url=evil.test/path",
		"-xevil.test:3128", "http://6.6.6.6/", "6.6.6.6", "http://2130706433/",
		"http://[::1]/", "https://ok.test@evil.test/", "http_proxy=evil.test:1",
		"https://ok.test:8443/" };
	static const char *const fine[] = { "https://ok.test/x", "ok.test:443", "src/a.ts:10:5",
		"a.b", "-", "..", "file:///etc/passwd", "data:text/plain,hi", "HEAD", "1.2.3",
		"--color=always", "-n1", "u@ok.test" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		const char *argv[] = { "true", refused[i] };

		assert_int_equal(preflight_check(argv, 2, list, 1, NULL), -EPERM);
	}
	for (size_t i = 0; i < N_ELEMENTS(fine); i++) {
		const char *argv[] = { "true", fine[i] };

		assert_int_equal(preflight_check(argv, 2, list, 1, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_comes_back_as_it_was),
		cmocka_unit_test(no_part_of_a_job_is_a_job),
		cmocka_unit_test(interpreters_are_known_by_their_versions_too),
		cmocka_unit_test(arguments_that_name_hosts_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
