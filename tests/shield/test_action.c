#include "tests/shield/world.h"

static int check(struct arena *a, const char *type, const char *json, struct diag *diag)
{
	const struct il_action_type *found;
	const struct value *payload, *brought;

	*diag = (struct diag){ 0 };
	assert_int_equal(value_from_json(a, json, strlen(json), &payload, NULL), 0);
	return il_action_check(a, type, payload, &found, &brought, diag);
}

static void the_table_has_the_67_names_and_22_that_run(void **state)
{
	size_t n, n_run = 0;
	const struct il_action_type *types = il_action_types(&n);

	(void)state;
	assert_int_equal(n, 67);
	for (size_t i = 0; i < n; i++) {
		n_run += types[i].executable;
		assert_ptr_equal(il_action_type_find(types[i].name), &types[i]);
		assert_non_null(types[i].description);
		assert_false(types[i].mutates && types[i].otr_safe);
	}
	assert_int_equal(n_run, 22);
}

static void aliases_lead_to_their_action_and_field(void **state)
{
	struct arena a;
	const struct il_action_type *type;
	const struct value *payload, *brought;
	static const char json[] = "{\"cmd\":\"ls\"}";

	(void)state;
	arena_init(&a, 1 << 20);
	assert_int_equal(value_from_json(&a, json, strlen(json), &payload, NULL), 0);
	assert_int_equal(il_action_check(&a, "shell_command", payload, &type, &brought, NULL), 0);
	assert_string_equal(type->name, "execute_command");
	assert_string_equal(value_get_text(brought, "command"), "ls");
	arena_done(&a);
}

static void a_wrong_payload_is_refused_with_the_field(void **state)
{
	static const struct {
		const char *type, *json, *field;
	} cases[] = {
		{ "read_file", "{}", "\"path\"" },
		{ "read_file", "{\"path\":1}", "\"path\"" },
		{ "read_file", "{\"path\":\"\"}", "\"path\"" },
		{ "read_file", "{\"path\":\"a\",\"x\":1}", "\"x\"" },
		{ "read_file", "{\"path\":\"a\",\"file_path\":\"b\"}", "\"path\"" },
		{ "read_file", "{\"path\":\"a\",\"limit\":-1}", "\"limit\"" },
		{ "write_file", "{\"path\":\"a\",\"content\":[]}", "\"content\"" },
		{ "write_file", "{\"path\":\"a\",\"content\":\"\",\"append\":1}", "\"append\"" },
		{ "execute_command", "{\"command\":[]}", "\"command\"" },
		{ "execute_command", "{\"command\":[1]}", "\"command\"" },
		{ "git_commit", "{\"message\":\"x\",\"files\":\"a\"}", "\"files\"" },
	};
	struct arena a;
	struct diag diag;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		assert_int_equal(check(&a, cases[i].type, cases[i].json, &diag), IL_ACTION_E_FIELD);
		if (!strstr(diag.text, cases[i].field))
			fail_msg("%s -> %s", cases[i].json, diag.text);
	}
	assert_int_equal(check(&a, "fly", "{}", &diag), IL_ACTION_E_UNKNOWN);
	arena_done(&a);
}

static void a_nul_byte_is_refused(void **state)
{
	struct value text = { .kind = VALUE_TEXT, .text = "a\0b", .size = 3 };
	struct value_pair pair = { .key = "path", .n_key = 4, .value = &text };
	struct value map = { .kind = VALUE_MAP, .size = 1, .pairs = &pair };
	const struct il_action_type *type;
	const struct value *brought;
	struct arena a;
	struct diag diag = { 0 };

	(void)state;
	arena_init(&a, 1 << 20);
	assert_int_equal(il_action_check(&a, "read_file", &map, &type, &brought, &diag),
		IL_ACTION_E_FIELD);
	assert_non_null(strstr(diag.text, "NUL"));
	arena_done(&a);
}

static void every_schema_is_json_that_names_its_fields(void **state)
{
	size_t n;
	const struct il_action_type *types = il_action_types(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		auto_buf struct buf b = BUF_INIT(65536);
		struct arena a;
		const struct value *v;

		arena_init(&a, 1 << 20);
		il_action_schema(&b, &types[i]);
		assert_int_equal(buf_error(&b), 0);
		assert_int_equal(value_from_json(&a, buf_get_text(&b), b.size, &v, NULL), 0);
		for (const struct il_field *f = types[i].fields; f->name; f++)
			assert_non_null(value_get(value_get(v, "properties"), f->name));
		arena_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_has_the_67_names_and_22_that_run),
		cmocka_unit_test(aliases_lead_to_their_action_and_field),
		cmocka_unit_test(a_wrong_payload_is_refused_with_the_field),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(every_schema_is_json_that_names_its_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
