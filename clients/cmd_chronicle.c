/*
 * interlock chronicle list | show | diff | rollback | undo | redo | history | cat | verify | prune
 * | forget | stats: on the store itself, under its lock where something is written.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "clients/chronicle_options.h"
#include "clients/commands.h"

int chronicle_result(const char *what, int r, const struct diag *diag)
{
	static const char *const conditions[] = {
		[IL_CHRONICLE_E_LOCKED] = "the engine (or another command) writes to this store; "
					  "stop it first, or wait",
		[IL_CHRONICLE_E_BROKEN] = "the store does not verify",
		[IL_CHRONICLE_E_QUOTA] = "the store is full of what may not be pruned",
		[IL_CHRONICLE_E_CONFLICT] = "the present state is not what the action left",
		[IL_CHRONICLE_E_UNKNOWN] = "no such snapshot, or it has no such side",
		[IL_CHRONICLE_E_ERASED] = "that content was forgotten",
	};

	if (r == 0)
		return EXIT_STATUS_OK;
	if (diag && diag->text[0] != '\0')
		(void)fprintf(stderr, "interlock chronicle: %s\n", diag->text);
	else if (r > 0 && (size_t)r < N_ELEMENTS(conditions))
		(void)fprintf(stderr, "interlock chronicle %s: %s\n", what, conditions[r]);
	else
		(void)fprintf(stderr, "interlock chronicle %s: %s\n", what, strerror(-r));
	return EXIT_STATUS_FAILED;
}

struct search {
	const char *text;
	unsigned n;
	char *id;
};

static int match_id(void *ctx, const struct il_snapshot *s)
{
	struct search *f = ctx;
	bool last = strcmp(f->text, "last") == 0;

	if (last || strncmp(s->id, f->text, strlen(f->text)) == 0) {
		memcpy(f->id, s->id, IL_SNAPSHOT_ID_SIZE);
		f->n = last ? 1 : f->n + 1;
	}
	return 0;
}

int chronicle_find(
	struct chronicle_command *c, const char *text, char ret_id[static IL_SNAPSHOT_ID_SIZE])
{
	struct search f = { .text = text, .id = ret_id };
	int r = il_chronicle_list(c->c, match_id, &f);

	if (r != 0)
		return chronicle_result("list", r, NULL);
	if (f.n == 1)
		return 0;
	(void)fprintf(stderr, "interlock chronicle: %s snapshot \"%.64s\"\n",
		f.n == 0 ? "there is no" : "there is more than one", text);
	return EXIT_STATUS_FAILED;
}

static int verify(struct chronicle_command *c)
{
	struct il_chronicle_report report;
	int r = il_chronicle_verify(c->c, &report);

	if (r != 0) {
		(void)chronicle_result("verify", r, NULL);
		return EXIT_VERIFY_CANNOT_TELL;
	}
	if (c->json)
		printf("{\"status\":%d,\"snapshots\":%" PRIu64 ",\"contents\":%" PRIu64
		       ",\"bytes\":%" PRIu64 ",\"snapshot\":\"%s\",\"text\":\"%s\"}\n",
			report.status, report.n_snapshots, report.n_blobs, report.n_bytes,
			report.snapshot, report.text);
	else
		printf("%s%s%s%s\n", report.status == EXIT_VERIFY_BROKEN ? "BROKEN: " : "",
			report.text, report.snapshot[0] ? "; first needed by snapshot " : "",
			report.snapshot);
	return report.status;
}

static int cat(struct chronicle_command *c)
{
	char id[IL_SNAPSHOT_ID_SIZE];
	int r = chronicle_find(c, c->id, id);

	if (r != 0)
		return r;
	return chronicle_result(
		"cat", il_chronicle_cat(c->c, id, c->paths[0], c->side, STDOUT_FILENO), NULL);
}

static int prune(struct chronicle_command *c)
{
	uint64_t n = 0;
	int r = il_chronicle_prune(c->c, NULL, 0, &n);

	if (r == 0)
		printf("%" PRIu64 " snapshots pruned\n", n);
	return chronicle_result("prune", r, NULL);
}

static int forget(struct chronicle_command *c)
{
	uint64_t n = 0;
	int r = il_chronicle_forget(c->c, c->paths[0], &n);

	if (r == 0)
		printf("%" PRIu64 " contents erased\n", n);
	return chronicle_result("forget", r, NULL);
}

/* In the order of the usage text. */
static const struct {
	const char *name;
	int (*run)(struct chronicle_command *c);
	bool writes;
} subs[] = {
	{ "list", chronicle_list, false },
	{ "show", chronicle_show, false },
	{ "diff", chronicle_diff, false },
	{ "rollback", chronicle_back, true },
	{ "undo", chronicle_undo, true },
	{ "redo", chronicle_redo, true },
	{ "history", chronicle_history, false },
	{ "cat", cat, false },
	{ "verify", verify, false },
	{ "prune", prune, true },
	{ "forget", forget, true },
	{ "stats", chronicle_stats, false },
};

static int find_store(struct chronicle_command *c, char **ret_dir)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;

	if (c->dir)
		return (*ret_dir = strdup(c->dir)) ? 0 : EXIT_STATUS_FAILED;
	if (workspace_open(c->workspace, &w) != 0 ||
		asprintf(ret_dir, "%s/chronicle", w.state_path) < 0)
		return EXIT_STATUS_FAILED;
	return 0;
}

int cmd_chronicle(int argc, char **argv)
{
	struct chronicle_command c = { 0 };
	struct il_chronicle_options options = { 0 };
	auto_free char *dir = NULL;
	struct diag diag = { 0 };
	int status = chronicle_options_read(argc, argv, &c);
	size_t i = 0;
	int r;

	if (status != 0)
		return status < 0 ? EXIT_STATUS_OK : status;
	status = find_store(&c, &dir);
	if (status != 0)
		return status;
	while (strcmp(subs[i].name, c.sub) != 0)
		i++;
	options.dir = dir;
	options.read_only = !subs[i].writes;
	r = il_chronicle_open(&options, &c.c, &diag);
	if (r == -ENOENT && options.read_only) {
		(void)fputs("interlock chronicle: nothing was recorded yet\n", stderr);
		return EXIT_STATUS_FAILED;
	}
	if (r != 0) {
		status = chronicle_result(c.sub, r, &diag);
		return subs[i].run == verify ? EXIT_VERIFY_CANNOT_TELL : status;
	}
	status = subs[i].run(&c);
	il_chronicle_close(c.c);
	return status;
}
