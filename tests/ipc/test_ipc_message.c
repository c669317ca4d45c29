#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/mp.h"
#include "ipc/frame.h"
#include "ipc/message.h"
#include "ipc/message_fields.h"
#include "ipc/probes.h"
#include "tests/support/cmocka.h"

/* ---- docs/protocol.md against the table ---- */

struct page {
	char *text;
	size_t n;
};

static void page_open(struct page *p)
{
	auto_free char *path = NULL;

	assert_true(asprintf(&path, "%s/docs/protocol.md", getenv("INTERLOCK_SOURCE_ROOT")) > 0);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &p->text, &p->n), 0);
}

/* The section of a message: from its title to the next one. Caller frees. */
static char *section(const struct page *p, const char *name)
{
	auto_free char *title = NULL;
	const char *start, *end;

	assert_true(asprintf(&title, "\n### `%s`\n", name) > 0);
	start = strstr(p->text, title);
	if (!start)
		fail_msg("docs/protocol.md has no section for %s", name);
	end = strstr(start + strlen(title), "\n### ");
	return end ? strndup(start, (size_t)(end - start)) : strdup(start);
}

/* The bytes of its ```hex block. */
static size_t vector_of(const char *text, uint8_t *bytes, size_t size)
{
	const char *at = strstr(text, "```hex\n");
	size_t n = 0;

	assert_non_null(at);
	for (at += 7; *at != '`'; at++) {
		char pair[3] = { at[0], 0, 0 };

		if (*at == '\n')
			continue;
		pair[1] = *++at;
		assert_true(n < size);
		assert_int_equal(hex_decode(pair, &bytes[n++], 1), 0);
	}
	return n;
}

static void every_message_has_its_vector_and_fields_in_the_docs(void **state)
{
	struct page p;

	(void)state;
	page_open(&p);
	for (unsigned kind = MESSAGE_NONE + 1; kind < MESSAGE_N_; kind++) {
		auto_free char *text = section(&p, message_types[kind].name);
		struct buf again = BUF_INIT(1 << 20);
		uint8_t bytes[4096];
		size_t n = vector_of(text, bytes, sizeof(bytes));
		struct diag diag = { 0 };
		struct message m;
		struct arena a;

		arena_init(&a, 1 << 20);
		if (message_decode(&a, bytes + 4, n - 4, &m, &diag) != 0)
			fail_msg("%s: %s", message_types[kind].name, diag.text);
		assert_int_equal(m.kind, kind);
		assert_int_equal(
			message_encode(&again, m.kind, m.stream, m.body, FRAME_LIMIT, NULL), 0);
		assert_int_equal(again.size, n);
		assert_memory_equal(again.data, bytes, n);
		for (const struct message_field *f = message_types[kind].fields; f->name; f++) {
			auto_free char *row = NULL;

			assert_true(asprintf(&row, "| `%s` | ", f->name) > 0);
			if (!strstr(text, row))
				fail_msg("docs: %s has no field %s", message_types[kind].name,
					f->name);
		}
		buf_done(&again);
		arena_done(&a);
	}
	free(p.text);
}

static void every_error_event_and_probe_is_in_the_docs(void **state)
{
	struct page p;

	(void)state;
	page_open(&p);
	for (unsigned i = 0; i < MESSAGE_ERROR_N_; i++) {
		auto_free char *word = NULL;

		assert_true(asprintf(&word, "`%s`", message_error_name((enum message_error)i)) > 0);
		assert_non_null(strstr(p.text, word));
	}
	for (unsigned i = 0; i < EVENT_N_; i++) {
		auto_free char *row = NULL;

		assert_true(asprintf(&row, "\n| `%s` | ", event_name((enum event_kind)i)) > 0);
		assert_non_null(strstr(p.text, row));
	}
	for (unsigned i = 0; i < PROBE_N_; i++) {
		auto_free char *word = NULL;

		assert_true(asprintf(&word, "`%s`", probe_name((enum probe)i)) > 0);
		assert_non_null(strstr(p.text, word));
	}
	free(p.text);
}

/* ---- the table against itself ---- */

static void the_table_is_whole(void **state)
{
	(void)state;
	for (unsigned kind = MESSAGE_NONE + 1; kind < MESSAGE_N_; kind++) {
		const struct message_type *t = &message_types[kind];
		size_t n = 0;

		assert_non_null(t->name);
		assert_non_null(t->fields);
		assert_true(t->senders != 0);
		assert_int_equal(t->senders & ROLE_BIT(ROLE_NONE), 0);
		assert_int_equal(message_kind_find(t->name, strlen(t->name)), kind);
		assert_true(strlen(t->name) <= FRAME_KIND_MAX);
		for (const struct message_field *f = t->fields; f->name; f++, n++) {
			assert_true(f->type != MESSAGE_FIELD_WORD || f->words);
			for (const struct message_field *g = t->fields; g != f; g++)
				assert_string_not_equal(f->name, g->name);
		}
		assert_true(n <= MESSAGE_FIELDS_MAX);
	}
	assert_int_equal(message_kind_find("hell", 4), MESSAGE_NONE);
	assert_int_equal(message_kind_find("hello!", 6), MESSAGE_NONE);
	assert_int_equal(message_kind_find("", 0), MESSAGE_NONE);
}

/* Every (role, state) pair: nothing but hello before hello, nothing but the canary before it. */
static void states_are_narrow(void **state)
{
	(void)state;
	for (unsigned kind = MESSAGE_NONE + 1; kind < MESSAGE_N_; kind++) {
		for (unsigned role = ROLE_AGENT; role < ROLE_ENGINE; role++) {
			enum message_kind k = (enum message_kind)kind;

			if (message_right(k, (enum role)role, MESSAGE_STATE_HELLO) ==
				MESSAGE_RIGHT_YES)
				assert_int_equal(kind, MESSAGE_HELLO);
			if (message_right(k, (enum role)role, MESSAGE_STATE_CANARY) ==
				MESSAGE_RIGHT_YES)
				assert_int_equal(kind, MESSAGE_CANARY);
			assert_int_not_equal(
				message_right(k, (enum role)role, MESSAGE_STATE_CLOSED),
				MESSAGE_RIGHT_YES);
			assert_int_equal(message_right(k, ROLE_NONE, MESSAGE_STATE_READY),
				MESSAGE_RIGHT_NO_ROLE);
		}
	}
}

/* ---- strictness ---- */

static void what_is_not_strict_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		int result;
	} cases[] = {
		{ "\x93\xa6health\x01\x80", 10, 0 },
		{ "\x93\xa6health\x01\x80\xc0", 11, MESSAGE_E_MALFORMED },
		{ "\x93\xa6health\x01", 9, MESSAGE_E_MALFORMED },
		{ "\x92\xa6health\x01", 9, MESSAGE_E_MALFORMED },
		{ "\x93\xa6health\xff\x80", 10, MESSAGE_E_MALFORMED },     /* stream -1 */
		{ "\x93\xa6health\xcc\x01\x80", 11, MESSAGE_E_MALFORMED }, /* long form of 1 */
		{ "\x93\xa6health\x01\x90", 10, MESSAGE_E_MALFORMED },     /* no map */
		{ "\x93\xa6healtx\x01\x80", 10, MESSAGE_E_UNKNOWN },
		{ "\x93\xa6health\x01\x81\xa1x\x01", 13, MESSAGE_E_FIELD },
		{ "\x93\xa6health\x01\xde\x00\x00", 12, MESSAGE_E_MALFORMED }, /* long empty map */
		{ "\x93\xa3why\x01\x82\xa6"
		  "action\x01\xa6"
		  "action\x02",
			23, MESSAGE_E_MALFORMED }, /* the same key twice */
		{ "\x93\xa3why\x01\x81\xa6"
		  "action\xcb\0\0\0\0\0\0\0\0",
			23, MESSAGE_E_MALFORMED }, /* a float */
		{ "\x93\xa3why\x01\x81\xa6"
		  "action\xff",
			15, MESSAGE_E_FIELD }, /* negative */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct diag diag;
		struct message m;
		struct arena a;
		int r;

		arena_init(&a, 65536);
		r = message_decode(&a, (const uint8_t *)cases[i].bytes, cases[i].n, &m, &diag);
		if (r != cases[i].result)
			fail_msg("case %zu: %d", i, r);
		arena_done(&a);
	}
}

static void a_wide_message_is_bounded(void **state)
{
	struct buf b = BUF_INIT(2 << 20);
	struct message m;
	struct arena a;
	size_t start;

	(void)state;
	start = frame_write_start(&b, "evaluate", 1);
	mp_write_map(&b, 2);
	mp_write_text(&b, "type");
	mp_write_text(&b, "x");
	mp_write_text(&b, "payload");
	mp_write_map(&b, 1);
	mp_write_text(&b, "a");
	mp_write_array(&b, 1000000);
	for (size_t i = 0; i < 1000000; i++)
		mp_write_nil(&b);
	assert_int_equal(frame_write_end(&b, start, FRAME_LIMIT), 0);
	arena_init(&a, MESSAGE_ARENA_LIMIT);
	assert_int_equal(message_decode(&a, b.data + 4, b.size - 4, &m, NULL), MESSAGE_E_MALFORMED);
	assert_true(a.used <= MESSAGE_ARENA_LIMIT);
	arena_done(&a);
	buf_done(&b);
}

/* ---- frames ---- */

static void every_split_gives_the_same_frames(void **state)
{
	static const char bytes[] = "\0\0\0\3abc\0\0\0\1x\0\0\0\5hello";

	(void)state;
	for (size_t cut = 0; cut < sizeof(bytes); cut++) {
		static const char *const expected[] = { "abc", "x", "hello" };
		struct frame_decoder d;
		size_t n_seen = 0;

		frame_decoder_init(&d, 16);
		for (unsigned part = 0; part < 2; part++) {
			const uint8_t *in = (const uint8_t *)bytes + (part ? cut : 0), *payload;
			size_t n = part ? sizeof(bytes) - 1 - cut : cut, size;

			if (part && cut == sizeof(bytes) - 1)
				n = 0;
			while (frame_decoder_push(&d, &in, &n, &payload, &size) == 0) {
				assert_int_equal(size, strlen(expected[n_seen]));
				assert_memory_equal(payload, expected[n_seen], size);
				n_seen++;
			}
			if (cut >= sizeof(bytes) - 1)
				break;
		}
		assert_int_equal(n_seen, 3);
		assert_true(frame_decoder_is_idle(&d));
		frame_decoder_done(&d);
	}
}

/* A length alone pins no memory. */
static void memory_follows_the_bytes_that_came(void **state)
{
	const uint8_t *in = (const uint8_t *)"\0\x10\0\0abc", *payload;
	struct frame_decoder d;
	size_t n = 7, size;

	(void)state;
	frame_decoder_init(&d, FRAME_LIMIT);
	assert_int_equal(frame_decoder_push(&d, &in, &n, &payload, &size), FRAME_E_MORE);
	assert_true(d.payload.capacity < 4096);
	assert_false(frame_decoder_is_idle(&d));
	frame_decoder_done(&d);
}

static void an_oversize_message_leaves_no_trace(void **state)
{
	struct buf b = BUF_INIT(2 << 20);
	struct value text = { .kind = VALUE_TEXT, .text = "abcdefghijklmnop", .size = 16 };
	struct value_pair pair = { .key = "reason", .n_key = 6, .value = &text };
	struct value body = { .kind = VALUE_MAP, .size = 1, .pairs = &pair };

	(void)state;
	assert_int_equal(message_encode(&b, MESSAGE_PAUSE, 1, &body, 100, NULL), 0);
	{
		size_t before = b.size;

		assert_int_equal(message_encode(&b, MESSAGE_PAUSE, 3, &body, 16, NULL), -E2BIG);
		assert_int_equal(b.size, before);
	}
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_has_its_vector_and_fields_in_the_docs),
		cmocka_unit_test(every_error_event_and_probe_is_in_the_docs),
		cmocka_unit_test(the_table_is_whole),
		cmocka_unit_test(states_are_narrow),
		cmocka_unit_test(what_is_not_strict_is_refused),
		cmocka_unit_test(a_wide_message_is_bounded),
		cmocka_unit_test(every_split_gives_the_same_frames),
		cmocka_unit_test(memory_follows_the_bytes_that_came),
		cmocka_unit_test(an_oversize_message_leaves_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
