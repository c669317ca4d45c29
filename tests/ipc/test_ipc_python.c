/* The Python client and its example agent against a real server. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/ipc/wire.h"

static const char *const pythons[] = { "python3", "/usr/bin/python3" };

static const char *find_python(void)
{
	for (size_t i = 0; i < N_ELEMENTS(pythons); i++) {
		auto_free char *command = NULL;

		assert_true(
			asprintf(&command, "%s -c 'import msgpack' 2>/dev/null", pythons[i]) > 0);
		if (system(command) == 0)
			return pythons[i];
	}
	return NULL;
}

/* Starts a shell command with its output in a pipe, and lets the loop turn until it has ended. */
static int run(struct wire *w, const char *command, char *output, size_t size)
{
	int ends[2], status;
	size_t n = 0;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(ends[1], 1);
		(void)dup2(ends[1], 2);
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(99);
	}
	(void)close(ends[1]);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
		(void)usleep(1000); /* the child needs the processor too */
	}
	for (ssize_t got; n < size - 1 && (got = read(ends[0], output + n, size - 1 - n)) > 0;)
		n += (size_t)got;
	output[n] = '\0';
	(void)close(ends[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void the_example_agent_works_through_the_engine(void **state)
{
	const char *python = find_python(), *root = getenv("INTERLOCK_SOURCE_ROOT");
	auto_free char *command = NULL;
	char output[4096];
	struct wire w;

	(void)state;
	if (!python) {
		print_message("no python with msgpack here: skipped\n");
		skip();
	}
	wire_open(&w, NULL);
	assert_true(asprintf(&command,
			    "INTERLOCK_AGENT_TOKEN=%s PYTHONDONTWRITEBYTECODE=1 %s "
			    "%s/clients/python/examples/agent.py %s a b",
			    w.agent_token, python, root, w.agent_path) > 0);
	assert_int_equal(run(&w, command, output, sizeof(output)), 0);
	assert_string_equal(output, "a: 1 words\nb: 1 words\n");
	assert_int_equal(w.n_seen, 2);
	assert_int_equal(w.seen[0], MESSAGE_PROPOSE);
	/* The token is used up. */
	assert_int_equal(run(&w, command, output, sizeof(output)), 1);
	assert_non_null(strstr(output, "refused: unauthorized"));
	wire_done(&w);
}

/* Every vector of the docs, as the Python client reads it. */
static void python_reads_every_vector(void **state)
{
	static const char script[] = "import sys, re\n"
				     "sys.path.insert(0, sys.argv[1] + '/clients/python')\n"
				     "import interlock_client as c\n"
				     "n = 0\n"
				     "text = open(sys.argv[1] + '/docs/protocol.md').read()\n"
				     "for name, block in re.findall(r'\\n### "
				     "`(\\w+)`\\n.*?```hex\\n(.*?)```', text, re.S):\n"
				     "    frame = bytes.fromhex(block.replace('\\n', ''))\n"
				     "    kind, stream, body = c.decode(frame[4:])\n"
				     "    assert kind == name, (kind, name)\n"
				     "    assert c.encode(kind, stream, body) == frame, name\n"
				     "    n += 1\n"
				     "print(n)\n";
	const char *python = find_python(), *root = getenv("INTERLOCK_SOURCE_ROOT");
	auto_free char *command = NULL, *path = NULL;
	char output[4096];
	struct wire w;
	FILE *f;

	(void)state;
	if (!python)
		skip();
	wire_open(&w, NULL);
	assert_true(asprintf(&path, "%s/script.py", w.directory) > 0);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(script, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_true(
		asprintf(&command, "PYTHONDONTWRITEBYTECODE=1 %s %s %s", python, path, root) > 0);
	if (run(&w, command, output, sizeof(output)) != 0)
		fail_msg("%s", output);
	assert_int_equal(atoi(output), MESSAGE_N_ - 1);
	assert_int_equal(unlink(path), 0);
	wire_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_agent_works_through_the_engine),
		cmocka_unit_test(python_reads_every_vector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
