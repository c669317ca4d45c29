#include <signal.h>
#include <sys/wait.h>

#include "agent/agent.h"
#include "base/exit.h"
#include "ipc/probes.h"
#include "tests/ipc/wire.h"

/* An engine of a few lines: it answers proposals by their name and keeps what the agent said. */
struct stage {
	struct wire wire;
	struct connection *connection;
	pid_t pid;
	bool is_ready, is_over, over_is_good, is_closed;
	uint64_t process;
	struct buf said;
	char ending[512];
	size_t n_proposed;
	bool cancel_at_proposal;
	bool is_program; /* the real one, confined; else only its loop */
};

static void stage_result(struct connection *c, const struct message *m)
{
	const char *tool = message_text(m, "tool");
	bool good = strcmp(tool, "read_file") == 0;
	struct value *body;
	struct arena a;

	arena_init(&a, 65536);
	body = value_map(&a, 4);
	assert_int_equal(value_put(body, "call", message_value(m, "call")), 0);
	assert_int_equal(value_put(body, "content",
				 value_text(&a, good ? "hello file" : "no", good ? 10 : 2)),
		0);
	assert_int_equal(value_put(body, "is_error", value_bool(&a, !good)), 0);
	assert_int_equal(value_put(body, "status",
				 value_text(&a, good ? "executed" : "denied", good ? 8 : 6)),
		0);
	assert_int_equal(connection_send(c, MESSAGE_TOOL_RESULT, m->stream, body), 0);
	arena_done(&a);
}

static void stage_on_message(void *ctx, struct connection *c, const struct message *m)
{
	struct stage *s = ctx;

	switch ((int)m->kind) {
	case MESSAGE_LLM_TOKEN:
		buf_text(&s->said, message_text(m, "text"));
		break;
	case MESSAGE_TOOL_PROPOSAL:
		s->n_proposed++;
		assert_int_equal(message_int(m, "process", 0), s->process);
		if (s->cancel_at_proposal)
			assert_int_equal(connection_send(c, MESSAGE_CANCEL, s->process, NULL), 0);
		else
			stage_result(c, m);
		break;
	case MESSAGE_MODEL_CALL:
		assert_int_equal(
			connection_error(c, m->stream, MESSAGE_ERROR_UNAVAILABLE, "no"), 0);
		break;
	case MESSAGE_RESPONSE_COMPLETE:
	case MESSAGE_AGENT_ERROR:
		s->is_over = true;
		s->over_is_good = m->kind == MESSAGE_RESPONSE_COMPLETE;
		(void)snprintf(s->ending, sizeof(s->ending), "%s%s%s",
			s->over_is_good ? "" : message_text(m, "code"), s->over_is_good ? "" : ": ",
			message_text(m, s->over_is_good ? "content" : "message"));
		break;
	default:
		break;
	}
}

static void stage_on_ready(void *ctx, struct connection *c)
{
	struct stage *s = ctx;

	s->connection = c;
	s->is_ready = true;
}

static bool stage_on_canary(void *ctx, struct connection *c, const char *report, size_t n)
{
	struct stage *s = ctx;
	struct diag diag;

	(void)c;
	if (s->is_program)
		return probes_judge(report, n, "agent", &diag) == 0;
	return n == 2 && memcmp(report, "{}", 2) == 0;
}

static void stage_on_closed(void *ctx, struct connection *c)
{
	struct stage *s = ctx;

	(void)c;
	s->is_closed = true;
}

static void stage_child(int fd, const char *token)
{
	struct agent a;
	int r = agent_open(&a, fd, ROLE_AGENT, &provider_scripted);

	if (r == 0)
		r = agent_join(&a, token, "{}", 2);
	if (r == 0)
		r = agent_run(&a);
	agent_done(&a);
	_exit(r == 0 ? 0 : 1);
}

/* As the engine starts it: descriptor 3 is the stream, the environment has what it needs. */
static void stage_program(int fd, const char *token, const char *sandbox)
{
	auto_free char *program = NULL, *token_text = NULL, *sandbox_text = NULL;
	char *environment[3] = { NULL };

	if (asprintf(&program, "%s/interlock-agent", getenv("INTERLOCK_BUILD_ROOT")) < 0 ||
		asprintf(&token_text, "INTERLOCK_AGENT_TOKEN=%s", token) < 0 ||
		asprintf(&sandbox_text, "INTERLOCK_SANDBOX=%s", sandbox ? sandbox : "") < 0)
		_exit(99);
	environment[0] = token_text;
	environment[1] = sandbox ? sandbox_text : NULL;
	if (dup2(fd, 3) < 0 || (fd == 3 && fcntl(3, F_SETFD, 0) < 0))
		_exit(99);
	(void)execle(program, program, (char *)NULL, environment);
	_exit(99);
}

static void stage_open(struct stage *s, bool is_program)
{
	struct connection_child child = { .role = ROLE_AGENT, .needs_canary = true };
	struct connection_server_config config = {
		.loop = &s->wire.loop,
		.clock = &clock_system,
		.tokens = &s->wire.book,
		.ctx = s,
		.callbacks = { .on_ready = stage_on_ready,
			.on_canary = stage_on_canary,
			.on_message = stage_on_message,
			.on_closed = stage_on_closed },
	};
	int ours, theirs;

	memset(s, 0, sizeof(*s));
	s->said = BUF_INIT(1 << 20);
	s->is_program = is_program;
	assert_int_equal(uv_loop_init(&s->wire.loop), 0);
	assert_int_equal(token_book_init(&s->wire.book), 0);
	wire_add_token(&s->wire, ROLE_AGENT, true, s->wire.agent_token);
	assert_int_equal(connection_server_open(&config, &s->wire.server), 0);
	assert_int_equal(connection_pair(&ours, &theirs), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		(void)close(ours);
		if (is_program)
			stage_program(theirs, s->wire.agent_token, NULL);
		stage_child(theirs, s->wire.agent_token);
	}
	(void)close(theirs);
	child.pid = s->pid;
	assert_int_equal(connection_adopt(s->wire.server, ours, &child, &s->connection), 0);
	while (!s->is_ready && !s->is_closed)
		(void)uv_run(&s->wire.loop, UV_RUN_ONCE);
	assert_true(s->is_ready);
}

/* Gives the agent a message with this transcript, and waits for its end. */
static void stage_process(struct stage *s, const char *transcript)
{
	struct arena a;
	struct value *body;
	const struct value *steps;
	struct diag diag;

	arena_init(&a, 1 << 20);
	body = value_map(&a, 5);
	assert_int_equal(value_put(body, "session", value_text(&a, "s", 1)), 0);
	assert_int_equal(value_put(body, "message", value_text(&a, "m", 1)), 0);
	assert_int_equal(value_put(body, "content", value_text(&a, "do it", 5)), 0);
	assert_int_equal(value_put(body, "mode", value_text(&a, "normal", 6)), 0);
	if (transcript) {
		assert_int_equal(
			value_from_json(&a, transcript, strlen(transcript), &steps, &diag), 0);
		assert_int_equal(value_put(body, "transcript", steps), 0);
	}
	assert_int_equal(
		connection_open_stream(s->connection, MESSAGE_PROCESS, body, &s->process), 0);
	arena_done(&a);
	s->is_over = false;
	while (!s->is_over && !s->is_closed)
		(void)uv_run(&s->wire.loop, UV_RUN_ONCE);
	assert_true(s->is_over);
}

/* Stops the agent as the engine does and checks that it ended well. */
static void stage_done(struct stage *s)
{
	uint64_t stream;
	int status;

	assert_int_equal(connection_open_stream(s->connection, MESSAGE_SHUTDOWN, NULL, &stream), 0);
	while (connection_server_count(s->wire.server) > 0)
		(void)uv_run(&s->wire.loop, UV_RUN_ONCE);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_int_equal(status, 0);
	connection_server_close(s->wire.server);
	(void)uv_run(&s->wire.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->wire.loop), 0);
	buf_done(&s->said);
}

static void a_transcript_is_followed_to_its_end(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, false);
	stage_process(&s, "[{\"say\":\"I look. \"},"
			  "{\"propose\":{\"type\":\"read_file\",\"payload\":{\"path\":\"a\"}}},"
			  "{\"expect\":{\"status\":\"executed\",\"contains\":\"hello\"}},"
			  "{\"propose\":{\"type\":\"delete_file\",\"payload\":{\"path\":\"a\"}}},"
			  "{\"expect\":{\"status\":\"denied\"}},"
			  "{\"model\":{\"purpose\":\"chat\",\"body\":\"{}\"}},"
			  "{\"expect\":{\"status\":\"error\"}},"
			  "{\"say\":\"Done.\"}]");
	assert_true(s.over_is_good);
	assert_string_equal(buf_get_text(&s.said), "I look. Done.");
	assert_string_equal(s.ending, "I look. Done.");
	assert_int_equal(s.n_proposed, 2);
	stage_done(&s);
}

static void a_failed_expectation_is_told(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, false);
	stage_process(&s, "[{\"propose\":{\"type\":\"delete_file\",\"payload\":{}}},"
			  "{\"expect\":{\"status\":\"executed\"}},{\"say\":\"never\"}]");
	assert_false(s.over_is_good);
	assert_string_equal(
		s.ending, "EXPECTATION_FAILED: step 2: expected executed, got denied: no");
	assert_int_equal(s.said.size, 0);
	stage_done(&s);
}

static void bad_transcripts_are_refused_and_the_agent_lives_on(void **state)
{
	static const char *const bad[] = { "[{\"say\":1}]", "[{\"run\":\"x\"}]", "[{}]",
		"[{\"say\":\"a\",\"expect\":{}}]", "[{\"expect\":{\"status\":\"executed\"}}]",
		"[{\"propose\":{\"type\":\"x\"}}]" };
	struct stage s;

	(void)state;
	stage_open(&s, false);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		stage_process(&s, bad[i]);
		assert_false(s.over_is_good);
		assert_memory_equal(s.ending, "BAD_TRANSCRIPT", 14);
	}
	stage_process(&s, "[{\"say\":\"still here\"}]");
	assert_true(s.over_is_good);
	stage_done(&s);
}

static void without_a_model_it_says_so(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, false);
	stage_process(&s, NULL);
	assert_memory_equal(s.ending, "NO_MODEL", 8);
	stage_done(&s);
}

static void a_cancelled_directive_ends_there(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, false);
	s.cancel_at_proposal = true;
	stage_process(
		&s, "[{\"propose\":{\"type\":\"read_file\",\"payload\":{}}},{\"say\":\"never\"}]");
	assert_memory_equal(s.ending, "CANCELLED", 9);
	s.cancel_at_proposal = false;
	stage_process(&s, "[{\"say\":\"next\"}]");
	assert_true(s.over_is_good);
	stage_done(&s);
}

static void the_program_is_confined_and_proves_it(void **state)
{
	auto_free char *path = NULL;
	char status[4096] = { 0 };
	struct stage s;
	int fd;

	(void)state;
	stage_open(&s, true); /* ready: the report was judged */
	assert_true(asprintf(&path, "/proc/%d/status", (int)s.pid) > 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, status, sizeof(status) - 1) > 0);
	(void)close(fd);
	assert_non_null(strstr(status, "\nNoNewPrivs:\t1\n"));
	assert_non_null(strstr(status, "\nSeccomp:\t2\n"));
	assert_non_null(strstr(status, "\nThreads:\t1\n"));
	stage_process(&s, "[{\"say\":\"a\"},{\"propose\":{\"type\":\"read_file\",\"payload\":{}}},"
			  "{\"expect\":{\"status\":\"executed\"}}]");
	assert_true(s.over_is_good);
	stage_done(&s);
}

static int run_program(const char *token, const char *sandbox)
{
	int pair[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		stage_program(pair[1], token, sandbox);
	(void)close(pair[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(pair[0]);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void what_cannot_be_confined_does_not_run(void **state)
{
	static const char *const wide[] = { "{\"readable\":[\"/\"]}", "{\"profile\":\"command\"}",
		"{\"may_spawn\":true}", "[]", "x", "", "{\"readable\":[1]}",
		"{\"readable\":[\"relative\"]}" };
	char token[TOKEN_SIZE];

	(void)state;
	assert_int_equal(token_make(token), 0);
	for (size_t i = 0; i < N_ELEMENTS(wide); i++)
		assert_int_equal(run_program(token, wide[i]), EXIT_STATUS_UNCONFINED);
	assert_int_equal(run_program("short", NULL), EXIT_STATUS_USAGE);
}

static void a_report_is_judged_by_its_probes(void **state)
{
	struct probe_result results[PROBE_N_];
	struct diag diag;

	(void)state;
	for (unsigned i = 0; i < PROBE_N_; i++)
		results[i] = (struct probe_result){ .control = true, .error = EPERM };
	for (unsigned i = 0; i <= PROBE_N_; i++) {
		for (unsigned fault = 0; fault < 2; fault++) {
			struct buf b = BUF_INIT(8192);
			struct probe_result kept = { 0 };

			if (i < PROBE_N_) {
				kept = results[i];
				results[i].control = fault != 0;
				results[i].error = fault ? 0 : EPERM;
			}
			assert_int_equal(probes_report(&b, "agent", results), 0);
			assert_int_equal(probes_judge(buf_get_text(&b), b.size, "agent", &diag),
				i < PROBE_N_ ? -EPERM : 0);
			assert_int_equal(
				probes_judge(buf_get_text(&b), b.size, "fetch", &diag), -EPERM);
			if (i < PROBE_N_)
				results[i] = kept;
			buf_done(&b);
		}
	}
	assert_int_equal(probes_judge("{}", 2, "agent", &diag), -EBADMSG);
	assert_int_equal(probes_judge("x", 1, "agent", &diag), -EBADMSG);
	assert_int_equal(
		probes_judge("{\"profile\":\"agent\",\"probes\":[]}", 31, "agent", &diag), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_transcript_is_followed_to_its_end),
		cmocka_unit_test(a_failed_expectation_is_told),
		cmocka_unit_test(bad_transcripts_are_refused_and_the_agent_lives_on),
		cmocka_unit_test(without_a_model_it_says_so),
		cmocka_unit_test(a_cancelled_directive_ends_there),
		cmocka_unit_test(the_program_is_confined_and_proves_it),
		cmocka_unit_test(what_cannot_be_confined_does_not_run),
		cmocka_unit_test(a_report_is_judged_by_its_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
