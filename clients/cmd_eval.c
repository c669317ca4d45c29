/*
 * interlock eval FILE.jsonl [--by FIELD] [--policy NAME|FILE] [--worst N] [--json]
 *
 * Rows are {cmd, label} or {type, payload, want, ...}; what the table of a corpus
 * calls `state` becomes facts. Nothing is read from this machine but the file.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "base/num.h"
#include "base/utf8.h"
#include "clients/commands.h"
#include "clients/judging.h"

#define ROWS_MAX   1000000
#define GROUPS_MAX 64

struct group {
	char name[96];
	uint32_t n, decided[3], as_wanted, passed;
	uint32_t writes_outside, reads_home, any_host, hosts; /* of the allowed ones */
};

struct evaluation {
	const char *path, *by, *policy;
	uint32_t worst, n_rows;
	struct judging judging;
	struct arena arena;
	struct group groups[GROUPS_MAX];
	size_t n_groups;
	uint64_t *times_ns;
	uint32_t by_schema;
	struct buf disagreements[3]; /* by how bad they are */
};

struct row {
	const struct value *value;
	struct il_action action;
	const char *label; /* as in the file */
	enum il_decision want;
	bool ok[3];
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static enum il_decision wanted(const char *label)
{
	if (strcasecmp(label, "deny") == 0 || strcasecmp(label, "block") == 0 ||
		strcasecmp(label, "malicious") == 0)
		return IL_DENY;
	if (strcasecmp(label, "ask") == 0 || strcasecmp(label, "escalate") == 0)
		return IL_ASK;
	return IL_ALLOW;
}

static void row_ok(struct row *row)
{
	const struct value *ok = value_get(row->value, "ok");

	if (!ok || ok->kind != VALUE_ARRAY) {
		row->ok[IL_DENY] = row->want == IL_DENY;
		row->ok[IL_ASK] = true;
		row->ok[IL_ALLOW] = row->want == IL_ALLOW;
		return;
	}
	for (size_t i = 0; i < ok->size; i++) {
		if (ok->items[i].kind == VALUE_TEXT)
			row->ok[wanted(ok->items[i].text)] = true;
	}
}

static int row_open(struct arena *a, const char *line, size_t n, struct row *row)
{
	struct diag diag = { 0 };
	const struct value *state;
	struct value *payload;
	const char *text;
	int r = value_from_json(a, line, n, &row->value, &diag);

	if (r != 0)
		return r;
	text = value_get_text(row->value, "cmd");
	row->action.type = text ? "execute_command" : value_get_text(row->value, "type");
	row->action.payload = value_get(row->value, "payload");
	if (text) {
		payload = value_map(a, 1);
		r = value_put(payload, "command", value_get(row->value, "cmd"));
		row->action.payload = payload;
	}
	if (r != 0 || !row->action.type || !row->action.payload)
		return -EINVAL;
	text = value_get_text(row->value, "home");
	row->action.home = text ? text : "/home/user";
	text = value_get_text(row->value, "workspace");
	row->action.workspace = text ? text : "/home/user/project";
	text = value_get_text(row->value, "cwd");
	row->action.cwd = text ? text : row->action.workspace;
	state = value_get(row->value, "state");
	row->action.case_insensitive = state && value_get(state, "case_insensitive_fs");
	row->label = value_get_text(row->value, "label");
	if (!row->label)
		row->label = value_get_text(row->value, "want");
	if (!row->label)
		row->label = "benign";
	row->want = wanted(row->label);
	row_ok(row);
	return 0;
}

static enum il_git_state git_state(const struct value *state)
{
	const char *git = state ? value_get_text(state, "git") : NULL;

	if (!git)
		return IL_GIT_UNKNOWN;
	return strcmp(git, "clean") == 0   ? IL_GIT_CLEAN
	       : strcmp(git, "dirty") == 0 ? IL_GIT_MODIFIED
					   : IL_GIT_UNTRACKED;
}

/* A link of the row's state that the path goes through. */
static const char *link_target(
	struct arena *a, const struct row *row, const struct value *links, const char *path)
{
	for (size_t i = 0; links && i < links->size; i++) {
		const char *link =
			arena_printf(a, "%s/%s", row->action.workspace, links->pairs[i].key);
		size_t n = link ? strlen(link) : 0;

		if (n > 0 && strncmp(path, link, n) == 0 && (path[n] == '/' || path[n] == '\0') &&
			links->pairs[i].value->kind == VALUE_TEXT)
			return arena_printf(a, "%s%s", links->pairs[i].value->text, path + n);
	}
	return path;
}

static int row_facts(struct arena *a, const struct row *row, const struct il_analysis *analysis,
	struct il_fact **ret_facts, size_t *ret_n)
{
	const struct value *state = value_get(row->value, "state");
	struct il_fact *facts = arena_alloc_array(a, analysis->n_wanted + 1, sizeof(*facts));

	*ret_n = 0;
	*ret_facts = facts;
	if (!facts)
		return -ENOMEM;
	for (size_t i = 0; state && i < analysis->n_wanted; i++) {
		struct il_fact *fact = &facts[(*ret_n)++];

		fact->kind = analysis->wanted[i].kind;
		fact->subject = analysis->wanted[i].subject;
		fact->known = fact->kind == IL_FACT_PATH || fact->kind == IL_FACT_GIT;
		fact->type = IL_FILE_REGULAR;
		fact->git = git_state(state);
		fact->dirty = fact->git == IL_GIT_MODIFIED;
		fact->resolved = link_target(a, row, value_get(state, "symlink"), fact->subject);
		if (!fact->resolved)
			return -ENOMEM;
	}
	return 0;
}

/* Files that the row's state calls secret carry a label in the session. */
static int row_flow(struct arena *a, const struct row *row, struct il_flow *flow)
{
	const struct value *state = value_get(row->value, "state");
	const struct value *labels = state ? value_get(state, "label") : NULL;
	struct il_flow_entry *entries;

	*flow = (struct il_flow){ 0 };
	if (!labels || labels->kind != VALUE_MAP)
		return 0;
	entries = arena_alloc_array(a, labels->size, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < labels->size; i++) {
		entries[i].path =
			arena_printf(a, "%s/%s", row->action.workspace, labels->pairs[i].key);
		entries[i].label = LABEL_CRITICAL;
		if (!entries[i].path)
			return -ENOMEM;
	}
	flow->entries = entries;
	flow->n_entries = labels->size;
	return 0;
}

static struct group *group_of(struct evaluation *e, const struct row *row)
{
	const char *by = e->by ? value_get_text(row->value, e->by) : NULL;
	char name[96];

	(void)snprintf(name, sizeof(name), "%s%s%s", row->label, by ? " " : "", by ? by : "");
	for (size_t i = 0; i < e->n_groups; i++) {
		if (strcmp(e->groups[i].name, name) == 0)
			return &e->groups[i];
	}
	if (e->n_groups == GROUPS_MAX)
		return &e->groups[GROUPS_MAX - 1];
	(void)snprintf(e->groups[e->n_groups].name, sizeof(name), "%s", name);
	return &e->groups[e->n_groups++];
}

static bool is_beneath(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* How much more than the workspace and temporary files an allow really gives. */
static bool count_width(struct group *g, const struct row *row, const struct grant *grant)
{
	bool writes = false, reads = false;

	for (size_t i = 0; i < grant->n_paths; i++) {
		const struct grant_path *p = &grant->paths[i];
		char root[8192];
		bool inside;

		/* The place itself, not only the root that it is named beneath. */
		(void)snprintf(root, sizeof(root), "%s%s%s",
			strcmp(grant->roots[p->root], "/") == 0 ? "" : grant->roots[p->root],
			p->path[0] ? "/" : "", p->path);
		inside = is_beneath(root, row->action.workspace) || is_beneath(root, "/tmp") ||
			      is_beneath(root, "/var/tmp");

		if (p->hide || inside)
			continue;
		writes = writes || (p->rights & (GRANT_WRITE | GRANT_CREATE | GRANT_DELETE));
		reads = reads || is_beneath(root, row->action.home) ||
			is_beneath(row->action.home, root) || is_beneath(root, "/root");
	}
	g->writes_outside += writes;
	g->reads_home += reads;
	g->any_host += grant->net == GRANT_NET_OPEN || grant->net == GRANT_NET_PREFLIGHT;
	g->hosts += grant->net == GRANT_NET_HOSTS;
	return writes || reads || grant->net == GRANT_NET_OPEN || grant->net == GRANT_NET_PREFLIGHT;
}

static void note_row(struct buf *b, const struct row *row, const struct il_verdict *v, const char *what)
{
	const char *command = value_get_text(row->action.payload, "command");
	const char *id = value_get_text(row->value, "id");

	buf_printf(b, "%s %s, %s [%s] %s ", row->label, what, il_decision_name(v->decision), v->rule,
		id ? id : "");
	if (command) {
		utf8_escape(b, command, strlen(command), 300);
	} else {
		struct buf json = BUF_INIT((size_t)4 << 20);

		value_to_json(&json, row->action.payload);
		buf_printf(b, "%s ", row->action.type);
		utf8_escape(b, buf_get_text(&json), json.size, 300);
		buf_done(&json);
	}
	buf_byte(b, '\n');
}

/* Worst: evil allowed; then good denied; then good asked about, or evil only asked about. */
static void note_disagreement(struct evaluation *e, const struct row *row, const struct il_verdict *v)
{
	int badness = row->want != IL_ALLOW && v->decision == IL_ALLOW ? 0 :
		      row->want == IL_ALLOW && v->decision == IL_DENY  ? 1 :
									 2;

	note_row(&e->disagreements[badness], row, v, "wanted");
}

static int judge_row(struct evaluation *e, const char *line, size_t n)
{
	struct row row = { 0 };
	struct il_analysis analysis;
	struct il_verdict v;
	struct il_fact *facts;
	size_t n_facts = 0;
	struct group *g;
	uint64_t begin, spent;
	int r;

	arena_reset(&e->arena);
	r = row_open(&e->arena, line, n, &row);
	if (r == 0)
		r = row_flow(&e->arena, &row, &e->judging.flow);
	begin = now_ns();
	if (r == 0)
		r = il_analyse(&e->arena, &row.action, &analysis);
	spent = now_ns() - begin;
	if (r == 0)
		r = row_facts(&e->arena, &row, &analysis, &facts, &n_facts);
	if (r != 0)
		return r;
	begin = now_ns();
	il_judge(&e->arena, &analysis, facts, n_facts, &e->judging.context, &v);
	e->times_ns[e->n_rows++] = spent + now_ns() - begin;
	g = group_of(e, &row);
	g->n++;
	g->decided[v.decision]++;
	g->as_wanted += v.decision == row.want;
	g->passed += row.ok[v.decision];
	e->by_schema += analysis.refused != NULL;
	if (v.decision == IL_ALLOW && count_width(g, &row, &v.grant))
		note_row(&e->disagreements[0], &row, &v, "wide grant");
	if (v.decision != row.want)
		note_disagreement(e, &row, &v);
	return 0;
}

static int compare_times(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

static void print_worst(struct evaluation *e)
{
	uint32_t left = e->worst;

	for (int i = 0; i < 3; i++) {
		const char *at = buf_get_text(&e->disagreements[i]);

		while (*at && left > 0) {
			size_t n = strcspn(at, "\n");

			printf("%.*s\n", (int)n, at);
			at += n + (at[n] == '\n');
			left--;
		}
	}
}

static void print_table(struct evaluation *e)
{
	printf("%-28s %6s %8s %8s %8s %8s  allowed: out-writes home any-host hosts\n", "label",
		"rows", "allow", "ask", "deny", "wanted");
	for (size_t i = 0; i < e->n_groups; i++) {
		const struct group *g = &e->groups[i];
		double n = g->n;

		printf("%-28s %6u %7.1f%% %7.1f%% %7.1f%% %7.1f%% %7.1f%%  %19u %4u %8u %5u\n", g->name,
			g->n, 100 * g->decided[IL_ALLOW] / n, 100 * g->decided[IL_ASK] / n,
			100 * g->decided[IL_DENY] / n, 100 * g->as_wanted / n, 100 * g->passed / n,
			g->writes_outside,
			g->reads_home, g->any_host, g->hosts);
	}
	if (e->n_rows == 0)
		return;
	qsort(e->times_ns, e->n_rows, sizeof(*e->times_ns), compare_times);
	printf("%u rows, %u refused by schema; a verdict takes p50 %.1f us, p99 %.1f us\n",
		e->n_rows, e->by_schema, (double)e->times_ns[e->n_rows / 2] / 1000,
		(double)e->times_ns[e->n_rows - 1 - e->n_rows / 100] / 1000);
}

static int read_rows(struct evaluation *e)
{
	auto_fclose FILE *f = fopen(e->path, "re");
	auto_free char *line = NULL;
	size_t capacity = 0, number = 0;
	ssize_t n;

	if (!f) {
		(void)fprintf(
			stderr, "interlock eval: cannot open %s: %s\n", e->path, strerror(errno));
		return -errno;
	}
	while ((n = getline(&line, &capacity, f)) > 0 && e->n_rows < ROWS_MAX) {
		int r = judge_row(e, line, (size_t)n);

		number++;
		if (r != 0) {
			(void)fprintf(stderr,
				"interlock eval: %s:%zu: not a row of a corpus (%s)\n", e->path,
				number, strerror(-r));
			return r;
		}
	}
	return 0;
}

static bool parse(int argc, char **argv, struct evaluation *e)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--by") == 0 && i + 1 < argc)
			e->by = argv[++i];
		else if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
			e->policy = argv[++i];
		else if (strcmp(argv[i], "--worst") == 0 && i + 1 < argc &&
			 num_parse_u32(argv[i + 1], 0, ROWS_MAX, &e->worst) == 0)
			i++;
		else if (argv[i][0] != '-' && !e->path)
			e->path = argv[i];
		else
			return false;
	}
	return e->path != NULL;
}

int cmd_eval(int argc, char **argv)
{
	auto_free struct evaluation *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return EXIT_STATUS_FAILED;
	e->worst = 20;
	if (!parse(argc, argv, e)) {
		(void)fputs("usage: interlock eval FILE.jsonl [--by FIELD] [--policy NAME|FILE] "
			    "[--worst N]\n",
			stderr);
		return EXIT_STATUS_USAGE;
	}
	for (int i = 0; i < 3; i++)
		e->disagreements[i] = BUF_INIT((size_t)16 << 20);
	e->times_ns = calloc(ROWS_MAX, sizeof(*e->times_ns));
	arena_init(&e->arena, (size_t)256 << 20);
	r = e->times_ns ? judging_open(&e->judging, e->policy ? e->policy : "default", NULL)
			: -ENOMEM;
	if (r == 0)
		r = read_rows(e);
	if (r == 0) {
		print_worst(e);
		print_table(e);
	}
	for (int i = 0; i < 3; i++)
		buf_done(&e->disagreements[i]);
	judging_done(&e->judging);
	arena_done(&e->arena);
	free(e->times_ns);
	return r == 0 ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}
