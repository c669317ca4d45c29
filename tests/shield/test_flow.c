#include "tests/shield/world.h"

static void a_session_that_saw_secrets_sends_nothing_out(void **state)
{
	struct world w;
	static const char get[] = "{\"url\":\"https://api.github.com/x\",\"method\":\"GET\"}";

	(void)state;
	world_init(&w, NULL);
	assert_int_not_equal(world_judge(&w, "http_request", get).decision, IL_DENY);
	w.flow.session = LABEL_CRITICAL;
	struct il_verdict v = world_judge(&w, "http_request", get);

	assert_int_equal(v.decision, IL_DENY);
	assert_true(has_finding(&v, "FLOW-SESSION"));
	assert_int_equal(world_judge(&w, "read_file", "{\"path\":\"a\"}").decision, IL_ALLOW);
	world_done(&w);
}

static void labels_follow_data_into_files(void **state)
{
	struct world w;
	struct il_verdict v;
	struct il_flow after;
	struct il_flow_entry kept;

	(void)state;
	world_init(&w, NULL);
	v = world_judge(&w, "copy_file", "{\"source\":\".env\",\"destination\":\"notes.txt\"}");
	assert_int_equal(v.decision, IL_ASK);
	assert_true(has_finding(&v, "FLOW-COPY"));
	assert_int_equal(il_flow_after(&w.arena, &w.flow, &v, &after), 0);
	assert_int_equal(after.session, LABEL_CRITICAL);
	assert_int_equal(after.n_entries, 1);
	assert_string_equal(after.entries[0].path, WORKSPACE "/notes.txt");
	kept = (struct il_flow_entry){ .path = WORKSPACE "/notes.txt", .label = after.entries[0].label };
	w.flow = (struct il_flow){ .entries = &kept, .n_entries = 1 };
	v = world_judge(&w, "read_file", "{\"path\":\"notes.txt\"}");
	assert_int_equal(v.label, LABEL_CRITICAL);
	assert_int_equal(v.decision, IL_ASK);
	world_done(&w);
}

static void a_label_follows_the_inode_too(void **state)
{
	struct world w;
	struct il_flow_entry entry = { .path = WORKSPACE "/old", .device = 1, .inode = 42,
				       .label = LABEL_CRITICAL };
	struct il_fact fact = { .kind = IL_FACT_PATH, .subject = WORKSPACE "/new", .known = true,
				.type = IL_FILE_REGULAR, .resolved = WORKSPACE "/new", .device = 1,
				.inode = 42 };

	(void)state;
	world_init(&w, NULL);
	w.flow = (struct il_flow){ .entries = &entry, .n_entries = 1 };
	assert_int_equal(world_judge(&w, "read_file", "{\"path\":\"new\"}").decision, IL_ALLOW);
	w.facts = &fact;
	w.n_facts = 1;
	assert_int_equal(world_judge(&w, "read_file", "{\"path\":\"new\"}").decision, IL_ASK);
	world_done(&w);
}

static void names_are_labelled_by_whole_words(void **state)
{
	static const struct {
		const char *path;
		enum label label;
	} cases[] = {
		{ "syntax.md", LABEL_PUBLIC }, { "taxonomy.csv", LABEL_PUBLIC },
		{ "passport.js", LABEL_PUBLIC }, { "tax-2024.pdf", LABEL_RESTRICTED },
		{ "invoices.csv", LABEL_RESTRICTED }, { ".env", LABEL_CRITICAL },
		{ ".env.example", LABEL_PUBLIC }, { "sample.pem", LABEL_PUBLIC },
		{ "server.pem", LABEL_CRITICAL }, { "secrets-manager.go", LABEL_PUBLIC },
		{ "password-reset.html", LABEL_PUBLIC }, { "calendar.txt", LABEL_PUBLIC },
	};
	struct world w;

	(void)state;
	world_init(&w, NULL);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char json[128];

		(void)snprintf(json, sizeof(json), "{\"path\":\"%s\"}", cases[i].path);
		if (world_judge(&w, "read_file", json).label != cases[i].label)
			fail_msg("%s", cases[i].path);
	}
	world_done(&w);
}

static void a_public_provider_counts_as_a_host(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, NULL);
	assert_int_equal(world_judge(&w, "read_file", "{\"path\":\"invoice-7.pdf\"}").decision, IL_ALLOW);
	w.flow.provider_public = true;
	assert_int_equal(world_judge(&w, "read_file", "{\"path\":\"invoice-7.pdf\"}").decision, IL_ASK);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_that_saw_secrets_sends_nothing_out),
		cmocka_unit_test(labels_follow_data_into_files),
		cmocka_unit_test(a_label_follows_the_inode_too),
		cmocka_unit_test(names_are_labelled_by_whole_words),
		cmocka_unit_test(a_public_provider_counts_as_a_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
