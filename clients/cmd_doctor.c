/*
 * interlock doctor [--json] [NAME|DIR]
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "base/value.h"
#include "clients/commands.h"
#include "clients/doctor.h"

static const char *const state_names[] = {
	[FINDING_FAILED] = "FAILED",
	[FINDING_WARNING] = "warning",
	[FINDING_OK] = "ok",
};
_Static_assert(N_ELEMENTS(state_names) == FINDING_N_, "name every state");

static void put_text(struct buf *out, const char *key, const char *text)
{
	struct value v = { .kind = VALUE_TEXT, .text = text, .size = strlen(text) };

	buf_printf(out, "\"%s\":", key);
	value_to_json(out, &v);
}

static void show(struct buf *out, bool json, const char *name, const struct finding *f)
{
	if (!json) {
		buf_printf(out, "%-8s %-10s %s\n", state_names[f->state], name, f->what);
		if (f->remedy[0] != '\0')
			buf_printf(out, "%-19s → %s\n", "", f->remedy);
		return;
	}
	buf_text(out, out->size > 1 ? ",{" : "{");
	put_text(out, "check", name);
	buf_byte(out, ',');
	put_text(out, "state", state_names[f->state]);
	buf_byte(out, ',');
	put_text(out, "what", f->what);
	buf_byte(out, ',');
	put_text(out, "remedy", f->remedy);
	buf_byte(out, '}');
}

int cmd_doctor(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_buf struct buf out = BUF_INIT((size_t)1 << 20);
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
	const char *name = argv[json ? 2 : 1];
	unsigned n_failed = 0;

	if (argc > (json ? 3 : 2) || (name && name[0] == '-')) {
		(void)fputs("usage: interlock doctor [--json] [NAME|DIR]\n", stderr);
		return EXIT_STATUS_USAGE;
	}
	if (workspace_open(name, &w) != 0)
		return EXIT_STATUS_FAILED;
	if (json)
		buf_byte(&out, '[');
	for (const struct doctor_check *c = doctor_checks; c->name; c++) {
		struct finding f = { .state = FINDING_FAILED };

		c->check(&w, &f);
		n_failed += f.state == FINDING_FAILED;
		show(&out, json, c->name, &f);
	}
	if (json)
		buf_byte(&out, ']');
	if (buf_error(&out) != 0)
		return EXIT_STATUS_FAILED;
	puts(buf_get_text(&out));
	return n_failed == 0 ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
