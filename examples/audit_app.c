/* A program of its own that keeps a record: cc audit_app.c $(pkg-config --cflags --libs interlock-audit) */
#include <stdio.h>
#include <string.h>

#include <interlock/audit/audit.h>

int main(int argc, char **argv)
{
	struct il_audit_options options = { .dir = argc > 1 ? argv[1] : "record" };
	struct il_audit_verify_options check = { .dir = options.dir };
	struct il_audit_entry entry = { .event = "ActionExecuted", .session = "example" };
	struct il_audit_report report;
	struct il_audit *log;
	struct arena arena;
	struct value *details;
	struct diag diag = { 0 };
	int r = il_audit_open(&options, &log, &diag);

	if (r != 0) {
		fprintf(stderr, "cannot open: %d %s\n", r, diag.text);
		return 1;
	}
	arena_init(&arena, 64 * 1024);
	details = value_map(&arena, 1);
	if (value_put(details, "what", value_text(&arena, "lamp on", 7)) == 0)
		entry.details = details;
	r = il_audit_append_wait(log, &entry, NULL); /* on disk when this returns 0 */
	arena_done(&arena);
	il_audit_close(log);
	if (r != 0 || il_audit_verify(&check, &report) != 0)
		return 1;
	printf("%s, %llu entries\n", report.text, (unsigned long long)report.n_entries);
	return report.status;
}
