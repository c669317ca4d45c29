#include "base/mp.h"
#include "tests/ipc/wire.h"

static void a_client_with_the_token_is_welcome(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct wire w;
	struct message m;

	(void)state;
	wire_open(&w, NULL);
	wire_join(&w, &c, ROLE_CLIENT);
	assert_int_equal(w.n_ready, 1);
	assert_int_equal(connection_role(w.last), ROLE_CLIENT);
	assert_string_equal(connection_program(w.last), "test");
	assert_int_equal(connection_peer(w.last)->pid, getpid());

	wire_say(&w, c.fd, MESSAGE_HEALTH, 1, "{}");
	m = wire_hear(&w, &c);
	assert_int_equal(m.kind, MESSAGE_OK);
	assert_int_equal(m.stream, 1);
	wire_done(&w);
}

static void what_has_no_feature_is_unavailable_by_name(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct wire w;
	struct message m;

	(void)state;
	wire_open(&w, NULL);
	wire_join(&w, &c, ROLE_CLIENT);
	wire_say(&w, c.fd, MESSAGE_AUDIT_VERIFY, 1, "{}");
	m = wire_hear(&w, &c);
	assert_int_equal(m.kind, MESSAGE_ERROR);
	assert_int_equal(m.stream, 1);
	assert_true(message_bool(&m, "unavailable", false));
	assert_string_equal(message_text(&m, "message"), "audit_verify");
	wire_say(&w, c.fd, MESSAGE_HEALTH, 3, "{}");
	assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_OK);
	wire_done(&w);
}

static void wrong_tokens_and_doors_are_refused(void **state)
{
	static const struct {
		const char *name, *role;
		bool at_agent_door;
		int token; /* 0: wrong, 1: client's, 2: approver's, 3: agent's */
	} cases[] = {
		{ "a wrong token", "client", false, 0 },
		{ "the client's token for the approver", "approver", false, 1 },
		{ "the agent's token for a client", "client", false, 3 },
		{ "a client at the agents' door", "client", true, 1 },
		{ "an approver at the agents' door", "approver", true, 2 },
		{ "an agent at the clients' door", "agent", false, 3 },
		{ "a worker from outside", "worker", true, 3 },
		{ "a judge from outside", "judge", true, 3 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		auto_client struct client c = CLIENT_NONE;
		struct wire w;
		const char *tokens[4];

		wire_open(&w, NULL);
		tokens[0] = "00000000000000000000000000000000";
		tokens[1] = w.client_token;
		tokens[2] = w.approver_token;
		tokens[3] = w.agent_token;
		wire_client(&c, wire_dial(cases[i].at_agent_door ? w.agent_path : w.engine_path));
		wire_hello(&w, c.fd, cases[i].role, tokens[cases[i].token]);
		assert_refused(&w, &c, MESSAGE_ERROR_UNAUTHORIZED);
		assert_int_equal(w.n_ready, 0);
		assert_int_equal(w.n_refused, 1);
		wire_done(&w);
	}
}

static void an_agents_token_works_once(void **state)
{
	auto_client struct client first = CLIENT_NONE, second = CLIENT_NONE;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	wire_join(&w, &first, ROLE_AGENT);
	wire_client(&second, wire_dial(w.agent_path));
	wire_hello(&w, second.fd, "agent", w.agent_token);
	assert_refused(&w, &second, MESSAGE_ERROR_UNAUTHORIZED);
	assert_int_equal(connection_server_count(w.server), 1); /* the first one stays */
	wire_done(&w);
}

static void silence_is_dropped_at_the_deadline(void **state)
{
	struct connection_quota quota = { .hello_ms = 5 };
	auto_client struct client c = CLIENT_NONE;
	struct wire w;

	(void)state;
	wire_open(&w, &quota);
	wire_client(&c, wire_dial(w.agent_path));
	while (w.n_closed == 0)
		(void)uv_run(&w.loop, UV_RUN_ONCE);
	assert_refused(&w, &c, MESSAGE_ERROR_TIMEOUT);
	wire_done(&w);
}

static void nothing_but_hello_before_hello(void **state)
{
	(void)state;
	for (unsigned kind = MESSAGE_NONE + 1; kind < MESSAGE_N_; kind++) {
		auto_client struct client c = CLIENT_NONE;
		struct wire w;

		if (kind == MESSAGE_HELLO)
			continue;
		wire_open(&w, NULL);
		wire_client(&c, wire_dial(w.engine_path));
		wire_say(&w, c.fd, (enum message_kind)kind, 1, "{}");
		assert_refused(&w, &c, MESSAGE_ERROR_OUT_OF_TURN);
		assert_int_equal(w.n_seen, 0);
		wire_done(&w);
	}
}

/* Every message against every role that arrives by a path: only what the table gives is let
 * through. */
static void no_role_oversteps_the_table(void **state)
{
	static const enum role roles[] = { ROLE_AGENT, ROLE_CLIENT, ROLE_APPROVER };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(roles); i++) {
		for (unsigned kind = MESSAGE_NONE + 1; kind < MESSAGE_N_; kind++) {
			auto_client struct client c = CLIENT_NONE;
			struct wire w;

			if (message_types[kind].senders & ROLE_BIT(roles[i]))
				continue;
			wire_open(&w, NULL);
			wire_join(&w, &c, roles[i]);
			wire_say(&w, c.fd, (enum message_kind)kind, 1, "{}");
			assert_refused(&w, &c, MESSAGE_ERROR_FORBIDDEN);
			assert_int_equal(w.refused_kind, kind);
			assert_int_equal(w.n_seen, 0);
			wire_done(&w);
		}
	}
}

/* The rows that matter most, by name, so that a slip in the table is seen. */
static void agents_never_approve_configure_or_stop(void **state)
{
	static const enum message_kind never[] = { MESSAGE_APPROVAL_ANSWER, MESSAGE_SHUTDOWN,
		MESSAGE_RELOAD, MESSAGE_RESTART, MESSAGE_PAUSE, MESSAGE_RESUME, MESSAGE_PANIC,
		MESSAGE_TOKEN_CREATE, MESSAGE_EVALUATE, MESSAGE_HISTORY, MESSAGE_SESSIONS,
		MESSAGE_AUDIT_QUERY, MESSAGE_CHRONICLE_ROLLBACK, MESSAGE_SUBSCRIBE,
		MESSAGE_COMMAND_KILL, MESSAGE_RESULT, MESSAGE_TOOL_RESULT, MESSAGE_CONNECT };
	const unsigned agents = ROLE_BIT(ROLE_AGENT) | ROLE_BIT(ROLE_SUB_AGENT) |
				ROLE_BIT(ROLE_JUDGE) | ROLE_BIT(ROLE_WORKER);

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(never); i++) {
		if (never[i] != MESSAGE_CONNECT)
			assert_int_equal(message_types[never[i]].senders & agents, 0);
	}
	assert_int_equal(message_types[MESSAGE_APPROVAL_ANSWER].senders, ROLE_BIT(ROLE_APPROVER));
	assert_int_equal(message_types[MESSAGE_CONNECT].senders, ROLE_BIT(ROLE_WORKER));
}

static void garbage_closes_its_connection_and_no_other(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum message_error error;
	} cases[] = {
		{ "\0\0\0\0", 4, MESSAGE_ERROR_OVERSIZE },
		{ "\0\x10\0\1", 4, MESSAGE_ERROR_OVERSIZE },
		{ "GET / HTTP/1.1\r\n", 16, MESSAGE_ERROR_OVERSIZE },
		{ "\0\0\0\1\xc0", 5, MESSAGE_ERROR_MALFORMED },
		{ "\0\0\0\5\x93\xa1x\0\x80", 9, MESSAGE_ERROR_UNKNOWN_MESSAGE },
		{ "\0\0\0\6\x93\xa1x\0\x80\xc0", 10, MESSAGE_ERROR_MALFORMED }, /* trailing */
	};
	auto_client struct client honest = CLIENT_NONE;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	wire_join(&w, &honest, ROLE_APPROVER);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		auto_client struct client c = CLIENT_NONE;

		wire_join(&w, &c, ROLE_CLIENT);
		wire_put(&w, c.fd, cases[i].bytes, cases[i].n);
		assert_refused(&w, &c, cases[i].error);
		wire_say(&w, honest.fd, MESSAGE_HEALTH, 2 * i + 1, "{}");
		assert_int_equal(wire_hear(&w, &honest).kind, MESSAGE_OK);
	}
	wire_done(&w);
}

static void before_hello_a_frame_has_four_kibibytes(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	wire_client(&c, wire_dial(w.engine_path));
	wire_put(&w, c.fd, "\0\0\x10\1", 4);
	assert_refused(&w, &c, MESSAGE_ERROR_OVERSIZE);
	wire_done(&w);
}

static void bad_fields_are_named(void **state)
{
	static const struct {
		const char *json, *field;
	} cases[] = {
		{ "{\"payload\":{}}", "type" },
		{ "{\"type\":1,\"payload\":{}}", "type" },
		{ "{\"type\":\"x\",\"payload\":[]}", "payload" },
		{ "{\"type\":\"x\",\"payload\":{},\"extra\":1}", "body" },
		{ "{\"type\":\"x\",\"payload\":{},\"label\":\"secret\"}", "label" },
		{ "{\"type\":\"x\",\"payload\":{},\"label\":\"\"}", "label" },
		{ "{\"type\":\"x\",\"payload\":{},\"label\":\"public internal\"}", "label" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		auto_client struct client c = CLIENT_NONE;
		struct message m;
		struct wire w;

		wire_open(&w, NULL);
		wire_join(&w, &c, ROLE_CLIENT);
		wire_say(&w, c.fd, MESSAGE_PROPOSE, 1, cases[i].json);
		m = wire_hear(&w, &c);
		assert_string_equal(message_text(&m, "name"), "bad_field");
		assert_memory_equal(
			message_text(&m, "message"), cases[i].field, strlen(cases[i].field));
		assert_int_equal(w.n_seen, 0);
		wire_done(&w);
	}
}

static void stream_numbers_only_rise_and_are_odd(void **state)
{
	static const uint64_t wrong[] = { 0, 2, 5, 3 };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		auto_client struct client c = CLIENT_NONE;
		struct wire w;

		wire_open(&w, NULL);
		wire_join(&w, &c, ROLE_CLIENT);
		wire_say(&w, c.fd, MESSAGE_HEALTH, 5, "{}");
		assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_OK);
		wire_say(&w, c.fd, MESSAGE_HEALTH, wrong[i], "{}");
		assert_refused(&w, &c, MESSAGE_ERROR_OUT_OF_TURN);
		wire_done(&w);
	}
}

static void a_late_cancel_is_no_fault(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	wire_join(&w, &c, ROLE_CLIENT);
	wire_say(&w, c.fd, MESSAGE_HEALTH, 1, "{}");
	assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_OK);
	wire_say(&w, c.fd, MESSAGE_CANCEL, 1, "{}");
	assert_int_equal(w.n_cancelled, 0);
	wire_say(&w, c.fd, MESSAGE_HEALTH, 3, "{}");
	assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_OK);
	wire_done(&w);
}

static void a_closed_connection_withdraws_its_streams(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	w.answer = false;
	wire_join(&w, &c, ROLE_CLIENT);
	wire_say(&w, c.fd, MESSAGE_PROPOSE, 1, "{\"type\":\"x\",\"payload\":{}}");
	wire_say(&w, c.fd, MESSAGE_PROPOSE, 3, "{\"type\":\"x\",\"payload\":{}}");
	wire_say(&w, c.fd, MESSAGE_CANCEL, 3, "{}");
	assert_int_equal(w.n_cancelled, 1);
	client_done(&c);
	settle(&w);
	assert_int_equal(w.n_cancelled, 3); /* stream 3 was not ended yet: told again */
	assert_int_equal(w.n_closed, 1);
	wire_done(&w);
}

static void work_in_flight_is_bounded(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct message m;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	w.answer = false;
	wire_join(&w, &c, ROLE_CLIENT);
	for (uint64_t i = 0; i < 65; i++)
		wire_say(&w, c.fd, MESSAGE_PROPOSE, 2 * i + 1, "{\"type\":\"x\",\"payload\":{}}");
	assert_int_equal(w.n_seen, 64);
	m = wire_hear(&w, &c);
	assert_int_equal(m.stream, 129);
	assert_string_equal(message_text(&m, "name"), "quota");
	assert_int_equal(connection_server_count(w.server), 1);
	wire_done(&w);
}

static void streams_are_bounded(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	w.answer = false;
	wire_join(&w, &c, ROLE_CLIENT);
	for (uint64_t i = 0; i < 257; i++)
		wire_say(&w, c.fd, MESSAGE_HEALTH, 2 * i + 1, "{}");
	assert_int_equal(w.n_seen, 256);
	assert_refused(&w, &c, MESSAGE_ERROR_QUOTA);
	assert_int_equal(w.n_cancelled, 256);
	wire_done(&w);
}

/* A flood waits in its own socket; it is not answered, and the server does nothing for it. */
static void a_flood_is_only_read_at_its_rate(void **state)
{
	struct connection_quota quota = { .messages_per_second = 50 };
	auto_client struct client c = CLIENT_NONE;
	struct buf b = BUF_INIT(1 << 20);
	struct wire w;

	(void)state;
	wire_open(&w, &quota);
	wire_join(&w, &c, ROLE_CLIENT);
	for (uint64_t i = 0; i < 2000; i++)
		assert_int_equal(
			message_encode(&b, MESSAGE_HEALTH, 2 * i + 1, NULL, FRAME_LIMIT, NULL), 0);
	assert_true(send(c.fd, b.data, b.size, MSG_DONTWAIT) > 0);
	settle(&w);
	/* One turn's bytes may go into debt, then reading stops. */
	assert_true(w.n_seen >= 50);
	assert_true(w.n_seen < 1000);
	assert_int_equal(w.n_refused, 0);
	buf_done(&b);
	wire_done(&w);
}

static void who_does_not_read_is_not_read_and_holds_little(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct buf b = BUF_INIT(8 << 20);
	size_t at = 0;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	wire_join(&w, &c, ROLE_CLIENT);
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(
			message_encode(&b, MESSAGE_HEALTH, 2 * i + 1, NULL, FRAME_LIMIT, NULL), 0);
	for (unsigned idle = 0; idle < 3 && at < b.size;) {
		ssize_t n = send(c.fd, b.data + at, b.size - at, MSG_DONTWAIT | MSG_NOSIGNAL);

		settle(&w);
		idle = n > 0 ? 0 : idle + 1;
		at += n > 0 ? (size_t)n : 0;
	}
	assert_true(at < b.size); /* it was held back */
	assert_non_null(w.last);
	assert_true(connection_queued(w.last) < (512u << 10));
	buf_done(&b);
	wire_done(&w);
}

static void a_large_result_waits_for_credit(void **state)
{
	auto_free uint8_t *bulk = calloc(1, 1 << 20);
	auto_client struct client c = CLIENT_NONE;
	struct message m;
	struct wire w;
	size_t got = 0;

	(void)state;
	assert_non_null(bulk);
	wire_open(&w, NULL);
	w.bulk = bulk;
	w.n_bulk = 1 << 20;
	wire_join(&w, &c, ROLE_CLIENT);
	wire_say(&w, c.fd, MESSAGE_PROPOSE, 1, "{\"type\":\"x\",\"payload\":{}}");
	while ((m = wire_hear(&w, &c)).kind == MESSAGE_CHUNK) {
		assert_int_equal(message_int(&m, "at", -1), got);
		got += message_value(&m, "data")->size;
	}
	assert_int_equal(got, 256 << 10); /* no more without credit */
	assert_int_equal(w.n_credit, 0);
	wire_say(&w, c.fd, MESSAGE_CREDIT, 1, "{\"bytes\":1048576}");
	while ((m = wire_hear(&w, &c)).kind == MESSAGE_CHUNK)
		got += message_value(&m, "data")->size;
	assert_int_equal(got, 1 << 20);
	assert_true(w.n_credit > 0);
	wire_done(&w);
}

static void a_callback_may_close_its_own_connection(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct message m;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	w.close_on_message = true;
	wire_join(&w, &c, ROLE_CLIENT);
	wire_say(&w, c.fd, MESSAGE_HEALTH, 1, "{}");
	assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_OK); /* what was queued still left */
	assert_int_equal(client_receive(&c, 1000, &m), CLIENT_E_CLOSED);
	assert_int_equal(w.n_closed, 1);
	wire_done(&w);
}

static void descriptors_from_peers_are_refused(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct wire w;
	size_t sent;

	(void)state;
	wire_open(&w, NULL);
	wire_join(&w, &c, ROLE_CLIENT);
	assert_int_equal(peer_send(c.fd, "\0\0\0\1", 4, c.fd, &sent), 0);
	settle(&w);
	wire_done(&w);
}

static void a_child_is_known_by_its_pid_and_shows_its_canary(void **state)
{
	static const bool good[] = { true, false };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(good); i++) {
		struct connection_child child = {
			.role = ROLE_AGENT, .pid = getpid(), .needs_canary = true
		};
		auto_client struct client c = CLIENT_NONE;
		struct connection *made;
		int ours, theirs;
		struct wire w;

		wire_open(&w, NULL);
		w.canary_good = good[i];
		assert_int_equal(connection_pair(&ours, &theirs), 0);
		assert_int_equal(connection_adopt(w.server, ours, &child, &made), 0);
		wire_client(&c, theirs);
		wire_hello(&w, c.fd, "agent", w.agent_token);
		assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_WELCOME);
		assert_int_equal(w.n_ready, 0); /* not before the canary */
		wire_say(&w, c.fd, MESSAGE_CANARY, 0, "{\"report\":\"{}\"}");
		assert_int_equal(w.n_canary, 1);
		assert_int_equal(w.n_ready, good[i] ? 1 : 0);
		if (!good[i])
			assert_refused(&w, &c, MESSAGE_ERROR_UNAUTHORIZED);
		wire_done(&w);
	}
}

static void before_the_canary_an_agent_may_do_nothing(void **state)
{
	struct connection_child child = {
		.role = ROLE_AGENT, .pid = getpid(), .needs_canary = true
	};
	auto_client struct client c = CLIENT_NONE;
	struct connection *made;
	int ours, theirs;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	assert_int_equal(connection_pair(&ours, &theirs), 0);
	assert_int_equal(connection_adopt(w.server, ours, &child, &made), 0);
	wire_client(&c, theirs);
	wire_hello(&w, c.fd, "agent", w.agent_token);
	assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_WELCOME);
	wire_say(&w, c.fd, MESSAGE_PROPOSE, 1, "{\"type\":\"x\",\"payload\":{}}");
	assert_refused(&w, &c, MESSAGE_ERROR_OUT_OF_TURN);
	assert_int_equal(w.n_seen, 0);
	wire_done(&w);
}

static void a_child_with_another_pid_is_refused(void **state)
{
	struct connection_child child = { .role = ROLE_AGENT, .pid = getppid() };
	auto_client struct client c = CLIENT_NONE;
	struct connection *made;
	int ours, theirs;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	assert_int_equal(connection_pair(&ours, &theirs), 0);
	assert_int_equal(connection_adopt(w.server, ours, &child, &made), 0);
	wire_client(&c, theirs);
	wire_hello(&w, c.fd, "agent", w.agent_token);
	assert_refused(&w, &c, MESSAGE_ERROR_UNAUTHORIZED);
	wire_done(&w);
}

static void a_worker_gets_one_descriptor_with_its_answer(void **state)
{
	struct connection_child child = { .role = ROLE_WORKER, .pid = getpid() };
	auto_client struct client c = CLIENT_NONE;
	char token[TOKEN_SIZE], letter = 0;
	struct connection *made;
	int ours, theirs, pipe_ends[2], got;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	w.answer = false;
	wire_add_token(&w, ROLE_WORKER, true, token);
	assert_int_equal(connection_pair(&ours, &theirs), 0);
	assert_int_equal(connection_adopt(w.server, ours, &child, &made), 0);
	wire_client(&c, theirs);
	wire_hello(&w, c.fd, "worker", token);
	assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_WELCOME);
	wire_say(&w, c.fd, MESSAGE_CONNECT, 1, "{\"host\":\"example.org\",\"port\":443}");
	assert_int_equal(w.seen[0], MESSAGE_CONNECT);
	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(connection_send_fd(made, MESSAGE_CONNECTED, 1, NULL, pipe_ends[0]), 0);
	assert_int_equal(wire_hear(&w, &c).kind, MESSAGE_CONNECTED);
	got = client_take_fd(&c);
	assert_true(got >= 0);
	assert_int_equal(write(pipe_ends[1], "x", 1), 1);
	assert_int_equal(read(got, &letter, 1), 1);
	assert_int_equal(letter, 'x');
	(void)close(got);
	(void)close(pipe_ends[1]);
	wire_done(&w);
}

static void nobody_else_gets_a_descriptor(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	wire_join(&w, &c, ROLE_CLIENT);
	assert_int_equal(connection_send_fd(w.last, MESSAGE_OK, 1, NULL, 0), -EPERM);
	wire_done(&w);
}

static void the_engine_cannot_send_out_of_place(void **state)
{
	auto_client struct client c = CLIENT_NONE;
	uint64_t stream;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	w.answer = false;
	wire_join(&w, &c, ROLE_CLIENT);
	wire_say(&w, c.fd, MESSAGE_HEALTH, 1, "{}");
	assert_int_equal(connection_send(w.last, MESSAGE_OK, 3, NULL), -EINVAL);
	assert_int_equal(connection_send(w.last, MESSAGE_VERDICT, 1, NULL), -EINVAL);
	assert_int_equal(connection_send(w.last, MESSAGE_PROPOSE, 1, NULL), -EINVAL);
	assert_int_equal(connection_open_stream(w.last, MESSAGE_PROCESS, NULL, &stream), -EINVAL);
	assert_int_equal(connection_send(w.last, MESSAGE_OK, 1, NULL), 0);
	assert_int_equal(connection_send(w.last, MESSAGE_OK, 1, NULL), -EINVAL); /* ended */
	wire_done(&w);
}

static void a_live_socket_is_never_replaced(void **state)
{
	struct listener *second;
	struct stat st;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	assert_int_equal(stat(w.engine_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(listener_open(w.server, w.engine_path, 0, &second), -EADDRINUSE);
	wire_done(&w);
}

static void a_dead_socket_is_replaced(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct listener *l;
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/dead.sock", w.directory);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)close(fd);
	assert_int_equal(listener_open(w.server, address.sun_path, 0, &l), 0);
	wire_done(&w);
}

static void an_open_directory_is_no_place_for_a_socket(void **state)
{
	struct listener *l;
	char path[128];
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	(void)snprintf(path, sizeof(path), "%s/x.sock", w.directory);
	assert_int_equal(chmod(w.directory, 0750), 0);
	assert_int_equal(listener_open(w.server, path, 0, &l), -EPERM);
	assert_int_equal(chmod(w.directory, 0700), 0);
	wire_done(&w);
}

static void strangers_make_room_for_each_other(void **state)
{
	auto_client struct client honest = CLIENT_NONE;
	int fds[200];
	struct wire w;

	(void)state;
	wire_open(&w, NULL);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
		fds[i] = wire_dial(w.engine_path);
		settle(&w);
	}
	settle(&w);
	assert_true(connection_server_count(w.server) <= 129);
	wire_join(&w, &honest, ROLE_CLIENT);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		(void)close(fds[i]);
	wire_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_with_the_token_is_welcome),
		cmocka_unit_test(what_has_no_feature_is_unavailable_by_name),
		cmocka_unit_test(wrong_tokens_and_doors_are_refused),
		cmocka_unit_test(an_agents_token_works_once),
		cmocka_unit_test(silence_is_dropped_at_the_deadline),
		cmocka_unit_test(nothing_but_hello_before_hello),
		cmocka_unit_test(no_role_oversteps_the_table),
		cmocka_unit_test(agents_never_approve_configure_or_stop),
		cmocka_unit_test(garbage_closes_its_connection_and_no_other),
		cmocka_unit_test(before_hello_a_frame_has_four_kibibytes),
		cmocka_unit_test(bad_fields_are_named),
		cmocka_unit_test(stream_numbers_only_rise_and_are_odd),
		cmocka_unit_test(a_late_cancel_is_no_fault),
		cmocka_unit_test(a_closed_connection_withdraws_its_streams),
		cmocka_unit_test(work_in_flight_is_bounded),
		cmocka_unit_test(streams_are_bounded),
		cmocka_unit_test(a_flood_is_only_read_at_its_rate),
		cmocka_unit_test(who_does_not_read_is_not_read_and_holds_little),
		cmocka_unit_test(a_large_result_waits_for_credit),
		cmocka_unit_test(a_callback_may_close_its_own_connection),
		cmocka_unit_test(descriptors_from_peers_are_refused),
		cmocka_unit_test(a_child_is_known_by_its_pid_and_shows_its_canary),
		cmocka_unit_test(before_the_canary_an_agent_may_do_nothing),
		cmocka_unit_test(a_child_with_another_pid_is_refused),
		cmocka_unit_test(a_worker_gets_one_descriptor_with_its_answer),
		cmocka_unit_test(nobody_else_gets_a_descriptor),
		cmocka_unit_test(the_engine_cannot_send_out_of_place),
		cmocka_unit_test(a_live_socket_is_never_replaced),
		cmocka_unit_test(a_dead_socket_is_replaced),
		cmocka_unit_test(an_open_directory_is_no_place_for_a_socket),
		cmocka_unit_test(strangers_make_room_for_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
