#include "shield/detect.h"
#include "tests/shield/world.h"

static bool row_matches(const struct detect_row *row, const char *text)
{
	size_t n = strlen(text);
	char *folded = malloc(n + 1);
	size_t at, size;
	bool found;

	assert_non_null(folded);
	detect_fold(text, n, folded);
	found = is_detect_match(row, folded, n, &at, &size);
	free(folded);
	return found;
}

static void every_row_matches_its_example_and_spares_the_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < detect_n_rows; i++) {
		const struct detect_row *row = &detect_rows[i];

		if (!row_matches(row, row->yes))
			fail_msg("%s does not match \"%s\"", row->id, row->yes);
		if (row_matches(row, row->no))
			fail_msg("%s matches \"%s\"", row->id, row->no);
		assert_true(row->decision == IL_DENY || row->decision == IL_ASK);
	}
}

static void every_call_row_matches_its_example_and_spares_the_other(void **state)
{
	size_t size;

	(void)state;
	for (size_t i = 0; i < detect_n_calls; i++) {
		const struct detect_row *row = &detect_calls[i];

		if (!is_detect_pattern(row->pattern, row->yes, strlen(row->yes), &size))
			fail_msg("%s does not match \"%s\"", row->id, row->yes);
		if (is_detect_pattern(row->pattern, row->no, strlen(row->no), &size))
			fail_msg("%s matches \"%s\"", row->id, row->no);
	}
}

static void row_ids_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < detect_n_rows; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(detect_rows[i].id, detect_rows[k].id);
	}
	for (size_t i = 0; i < detect_n_calls; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(detect_calls[i].id, detect_calls[k].id);
	}
}

/* Built here, so that no scanner takes the test itself for a leak. */
static void secrets_are_found_by_their_form(void **state)
{
	static const struct {
		const char *prefix, *rest, *kind;
	} secrets[] = {
		{ "AKIA", "Q3ZR7T2LM5XW9KPD", "aws-access-key" },
		{ "sk-ant-", "api03-aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY", "anthropic-key" },
		{ "glpat-", "Zx8Yw7Vu6Ts5Rq4Po3Nm", "gitlab-token" },
		{ "-----BEGIN ", "OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----",
			"private-key" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(secrets); i++) {
		struct detect_secret found;
		char text[256];
		int n = snprintf(text, sizeof(text), "key = %s%s\n", secrets[i].prefix, secrets[i].rest);

		assert_true(detect_secret_find(text, (size_t)n, 0, &found));
		assert_string_equal(found.kind, secrets[i].kind);
		assert_int_equal(found.at, 6);
	}
}

static void examples_of_secrets_pass(void **state)
{
	static const char *const texts[] = { "AKIAXXXXXXXXXXXXXXXX", "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"-----BEGIN PUBLIC KEY-----", "skip-this-and-that-and-more-words-in-a-slug-here",
		"X-Amz-Signature=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"5ba9f1a2c3d4e5f60718293a4b5c6d7e8f901234" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		struct detect_secret found;

		assert_false(detect_secret_find(texts[i], strlen(texts[i]), 0, &found));
	}
}

static void a_secret_that_is_sent_is_refused_and_one_that_is_written_is_asked_about(void **state)
{
	struct world w;
	struct il_verdict v;

	(void)state;
	world_init(&w, NULL);
	v = world_judge(&w, "http_request",
		"{\"url\":\"https://api.github.com/x\",\"method\":\"POST\",\"body\":\"AKIA"
		"Q3ZR7T2LM5XW9KPD\"}");
	assert_int_equal(v.decision, IL_DENY);
	assert_true(has_finding(&v, "DET-SECRET"));
	v = world_judge(&w, "write_file",
		"{\"path\":\"a.py\",\"content\":\"k='AKIA"
		"Q3ZR7T2LM5XW9KPD'\"}");
	assert_int_equal(v.decision, IL_ASK);
	v = world_judge(&w, "write_file", "{\"path\":\".env.example\",\"content\":\"KEY=changeme\"}");
	assert_int_equal(v.decision, IL_ALLOW);
	world_done(&w);
}

static void redaction_leaves_no_secret_and_tells_equal_ones(void **state)
{
	struct arena a;
	const struct value *v, *redacted;
	static const char json[] = "{\"a\":[\"x AKIA"
				   "Q3ZR7T2LM5XW9KPD y\"],\"b\":\"AKIA"
				   "Q3ZR7T2LM5XW9KPD\",\"c\":1}";
	struct buf b = BUF_INIT(4096);

	(void)state;
	arena_init(&a, 1 << 20);
	assert_int_equal(value_from_json(&a, json, strlen(json), &v, NULL), 0);
	redacted = il_redact(&a, v, (const uint8_t *)"key", 3);
	assert_non_null(redacted);
	value_to_json(&b, redacted);
	assert_null(strstr(buf_get_text(&b), "Q3ZR7T2L"));
	assert_non_null(strstr(buf_get_text(&b), "x <secret:aws-access-key:"));
	assert_memory_equal(value_get_text(redacted, "b"),
		value_get(redacted, "a")->items[0].text + 2, strlen("<secret:aws-access-key:") + 12);
	buf_done(&b);
	arena_done(&a);
}

static void internal_addresses_are_found_in_every_notation(void **state)
{
	static const char *const urls[] = { "http://169.254.169.254/", "http://[::ffff:169.254.169.254]/",
		"http://0xA9FEA9FE/", "http://2852039166/", "http://0251.0376.0251.0376/",
		"http://169.254.43518/", "http://169.254.169.254.nip.io/",
		"http://metadata.google.internal/", "http://[fd00:ec2::254]/", "http://[64:ff9b::a9fe:a9fe]/" };
	struct world w;

	(void)state;
	world_init(&w, NULL);
	for (size_t i = 0; i < N_ELEMENTS(urls); i++) {
		char json[256];
		struct il_verdict v;

		(void)snprintf(json, sizeof(json), "{\"url\":\"%s\",\"method\":\"GET\"}", urls[i]);
		v = world_judge(&w, "http_request", json);
		assert_int_equal(v.decision, IL_DENY);
		assert_true(has_finding(&v, "DET-METADATA"));
	}
	world_done(&w);
}

static void time_stays_linear_in_hostile_content(void **state)
{
	size_t n = 1000000;
	char *json = malloc(n + 256);
	size_t at;
	struct world w;

	(void)state;
	assert_non_null(json);
	world_init(&w, NULL);
	at = (size_t)snprintf(json, n + 64, "{\"path\":\"a\",\"content\":\"");
	for (size_t i = 0; at < n; i++)
		at += (size_t)snprintf(json + at, 64, "curl ignore previous %s", i % 2 ? "wget " : "rm -rf ");
	(void)snprintf(json + at, 64, "\"}");
	/* Ends at all: a quadratic matcher would run for hours. */
	(void)world_judge(&w, "write_file", json);
	world_done(&w);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_matches_its_example_and_spares_the_other),
		cmocka_unit_test(every_call_row_matches_its_example_and_spares_the_other),
		cmocka_unit_test(row_ids_are_unique),
		cmocka_unit_test(secrets_are_found_by_their_form),
		cmocka_unit_test(examples_of_secrets_pass),
		cmocka_unit_test(a_secret_that_is_sent_is_refused_and_one_that_is_written_is_asked_about),
		cmocka_unit_test(redaction_leaves_no_secret_and_tells_equal_ones),
		cmocka_unit_test(internal_addresses_are_found_in_every_notation),
		cmocka_unit_test(time_stays_linear_in_hostile_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
