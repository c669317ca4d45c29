/*
 * interlock audit verify | list | show | export | stats | prune | key
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "base/files.h"
#include "base/value.h"
#include "clients/audit_options.h"
#include "clients/commands.h"

#define KEY_FILE_MAX 1024

static void json_text(const char *text)
{
	auto_buf struct buf b = BUF_INIT(4096);
	struct value v = { .kind = VALUE_TEXT, .text = text, .size = strlen(text) };

	value_to_json(&b, &v);
	(void)fputs(buf_get_text(&b), stdout);
}

static void print_report_json(const struct il_audit_report *r)
{
	printf("{\"status\":%d,\"anchored\":%s,\"entries\":%" PRIu64 ",\"first\":%" PRIu64
	       ",\"last\":%" PRIu64 ",\"damage\":\"%s\",\"bad_entry\":%" PRIu64
	       ",\"window_ms\":%" PRId64 ",\"where\":",
		r->status, r->anchored ? "true" : "false", r->n_entries, r->first_seq, r->last_seq,
		il_audit_damage_name(r->damage), r->bad_seq, r->unratcheted_window_ms);
	json_text(r->where);
	(void)fputs(",\"text\":", stdout);
	json_text(r->text);
	puts("}");
}

static void print_report(const struct il_audit_report *r)
{
	if (r->status == EXIT_VERIFY_BROKEN) {
		printf("BROKEN: %s at %s: %s\n", il_audit_damage_name(r->damage), r->where,
			r->text);
		if (r->bad_seq != 0)
			printf("first bad entry: %" PRIu64 "\n", r->bad_seq);
		printf("entries checked before it: %" PRIu64 "\n", r->n_entries);
		return;
	}
	printf("%s\nentries: %" PRIu64 " (%" PRIu64 " to %" PRIu64 ")\n", r->text, r->n_entries,
		r->first_seq, r->last_seq);
	if (r->unratcheted_window_ms == 0)
		puts("every key that wrote it is erased: nothing of it can be rewritten unseen by "
		     "the kept key");
	else
		printf("who takes this machine now could rewrite the last %" PRId64
		       " ms, no more\n",
			r->unratcheted_window_ms);
}

static int verify(const struct audit_command *c)
{
	auto_free char *key = NULL;
	struct il_audit_verify_options o = { .dir = c->dir,
		.anchor_file = c->anchor_file,
		.from_seq = c->query.from_seq,
		.to_seq = c->to_seq,
		.reference_format = c->reference };
	struct il_audit_report report;
	size_t n;
	int r = 0;

	if (c->key_file)
		r = file_read(AT_FDCWD, c->key_file, KEY_FILE_MAX, &key, &n);
	if (r != 0) {
		(void)fprintf(stderr, "interlock audit: %s: %s\n", c->key_file, strerror(-r));
		return EXIT_VERIFY_CANNOT_TELL;
	}
	if (key)
		key[strcspn(key, "\r\n")] = '\0';
	o.key = key;
	r = il_audit_verify(&o, &report);
	if (r != 0) {
		(void)fprintf(stderr, "interlock audit: cannot tell: %s\n", strerror(-r));
		return EXIT_VERIFY_CANNOT_TELL;
	}
	if (c->json)
		print_report_json(&report);
	else
		print_report(&report);
	return report.status;
}

static int prune(const struct audit_command *c)
{
	struct diag diag = { 0 };
	uint64_t through = 0;
	int r = il_audit_prune(c->dir, c->before_ns, &through, &diag);

	if (r == IL_AUDIT_E_LOCKED)
		(void)fputs(
			"interlock audit: the engine writes this record; stop it first\n", stderr);
	else if (r > 0)
		(void)fprintf(stderr, "interlock audit: %s\n", diag.text);
	else if (r < 0)
		(void)fprintf(stderr, "interlock audit: %s\n", strerror(-r));
	else if (through == 0)
		puts("nothing is that old");
	else
		printf("pruned through entry %" PRIu64 "\n", through);
	return r == 0 ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}

/* The line itself on stdout, so that it can go straight to where it is kept. */
static int take_key(const struct audit_command *c)
{
	auto_free char *key = NULL;
	int r = il_audit_take_verification_key_of(c->dir, &key);

	if (r == 0) {
		puts(key);
		(void)fputs(
			"keep this line on another machine; it is not given out again\n", stderr);
		explicit_bzero(key, strlen(key));
		return EXIT_STATUS_OK;
	}
	(void)fprintf(stderr, "interlock audit: %s\n",
		r == -ENOENT ? "the key was taken already, or there is no record yet"
			     : strerror(-r));
	return EXIT_STATUS_FAILED;
}

static int find_log(struct audit_command *c)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;

	if (c->dir)
		return 0;
	if (workspace_open(c->workspace, &w) != 0)
		return EXIT_STATUS_FAILED;
	if (asprintf(&c->own_dir, "%s/audit", w.state_path) < 0)
		return EXIT_STATUS_FAILED;
	c->dir = c->own_dir;
	return 0;
}

static int run(const struct audit_command *c)
{
	if (strcmp(c->sub, "verify") == 0)
		return verify(c);
	if (strcmp(c->sub, "show") == 0)
		return audit_show(c);
	if (strcmp(c->sub, "export") == 0)
		return audit_export(c);
	if (strcmp(c->sub, "stats") == 0)
		return audit_stats(c);
	if (strcmp(c->sub, "key") == 0)
		return take_key(c);
	if (strcmp(c->sub, "prune") == 0)
		return prune(c);
	return audit_list(c);
}

int cmd_audit(int argc, char **argv)
{
	struct audit_command c = { 0 };
	int status = audit_options_read(argc, argv, &c);

	if (status != 0)
		return status < 0 ? EXIT_STATUS_OK : status;
	status = find_log(&c);
	if (status == 0)
		status = run(&c);
	else if (strcmp(c.sub, "verify") == 0)
		status = EXIT_VERIFY_CANNOT_TELL;
	if (fflush(stdout) != 0 && status == EXIT_STATUS_OK)
		status = EXIT_STATUS_FAILED;
	free(c.own_dir);
	return status;
}
