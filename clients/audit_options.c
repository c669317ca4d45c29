#include "clients/audit_options.h"

#include <stdio.h>
#include <string.h>

#include "base/exit.h"
#include "base/num.h"

#define LINES_DEFAULT 20

static const char usage_text[] =
	"usage: interlock audit SUBCOMMAND [WORKSPACE | --dir DIR] [OPTION]...\n"
	"\n"
	"  verify   check the whole record; 0 intact, 1 broken, 2 cannot tell\n"
	"             --key FILE  --anchor FILE  --from SEQ  --to SEQ  --format reference  --json\n"
	"  list     show entries, the newest first\n"
	"             --session ID  --event NAME  --action TYPE  --verdict WORD  --since TIME\n"
	"             --until TIME  --lines N (0: all, oldest first)  --follow  --json\n"
	"  show     one entry: show SEQ [WORKSPACE]\n"
	"  export   everything that list would choose: --format jsonl (or csv)\n"
	"  stats    counts by event and verdict\n"
	"  key      the verification key, handed out once: keep it on another machine\n"
	"  prune    remove whole files of the past, leaving a signed stub: --before DATE\n"
	"\n"
	"TIME and DATE are 2026-01-31 or 2026-01-31T23:59:59Z.\n"
	"Without a subcommand: --verify, --session, --type and --lines as list and verify take "
	"them.\n";

static int complain(const char *what, const char *word)
{
	(void)fprintf(stderr, "interlock audit: %s \"%s\"\n%s", what, word, usage_text);
	return EXIT_STATUS_USAGE;
}

static int take_time(const char *text, int64_t *ret_ns)
{
	char full[RFC3339_SIZE];
	int n;

	if (rfc3339_parse(text, ret_ns) == 0)
		return 0;
	n = snprintf(full, sizeof(full), "%sT00:00:00Z", text);
	return n == (int)strlen("2026-01-31T00:00:00Z") ? rfc3339_parse(full, ret_ns) : -EINVAL;
}

/* A name of the table, or its number. */
static int take_event(struct audit_command *c, const char *text)
{
	uint32_t id;

	c->query.event = text;
	if (num_parse_u32(text, 1, 100000, &id) == 0)
		c->query.event = il_audit_event_name(id);
	return c->query.event && il_audit_event_id(c->query.event) != 0 ? 0 : -EINVAL;
}

static int take_format(struct audit_command *c, const char *text)
{
	c->reference = strcmp(text, "reference") == 0;
	c->csv = strcmp(text, "csv") == 0;
	return c->reference || c->csv || strcmp(text, "jsonl") == 0 ? 0 : -EINVAL;
}

static int take_text(const char **ret_place, const char *text)
{
	*ret_place = text;
	return 0;
}

/* An option with a value. 0, -EINVAL for a bad value, -ENOENT when there is no such option. */
static int take_option(struct audit_command *c, const char *name, const char *text)
{
	struct il_audit_query *q = &c->query;

	if (strcmp(name, "--dir") == 0)
		return take_text(&c->dir, text);
	if (strcmp(name, "--key") == 0)
		return take_text(&c->key_file, text);
	if (strcmp(name, "--anchor") == 0)
		return take_text(&c->anchor_file, text);
	if (strcmp(name, "--session") == 0)
		return take_text(&q->session, text);
	if (strcmp(name, "--event") == 0 || strcmp(name, "--type") == 0)
		return take_event(c, text);
	if (strcmp(name, "--action") == 0)
		return take_text(&q->action_type, text);
	if (strcmp(name, "--verdict") == 0)
		return take_text(&q->verdict, text);
	if (strcmp(name, "--since") == 0)
		return take_time(text, &q->since_ns);
	if (strcmp(name, "--until") == 0)
		return take_time(text, &q->until_ns);
	if (strcmp(name, "--before") == 0) {
		c->has_before = true;
		return take_time(text, &c->before_ns);
	}
	if (strcmp(name, "--from") == 0)
		return num_parse_u64(text, 1, INT64_MAX, &q->from_seq);
	if (strcmp(name, "--to") == 0)
		return num_parse_u64(text, 1, INT64_MAX, &c->to_seq);
	if (strcmp(name, "--lines") == 0)
		return num_parse_u64(text, 0, 1000000, &c->lines);
	if (strcmp(name, "--format") == 0)
		return take_format(c, text);
	return -ENOENT;
}

static bool take_flag(struct audit_command *c, const char *name)
{
	if (strcmp(name, "--json") == 0)
		c->json = true;
	else if (strcmp(name, "--follow") == 0)
		c->follow = true;
	else if (strcmp(name, "--verify") == 0)
		c->sub = "verify";
	else
		return false;
	return true;
}

static int take_word(struct audit_command *c, const char *word, unsigned *n_words)
{
	bool wants_seq = strcmp(c->sub, "show") == 0 && *n_words == 0;

	(*n_words)++;
	if (wants_seq)
		return num_parse_u64(word, 1, INT64_MAX, &c->show_seq);
	if (c->workspace)
		return -EINVAL;
	c->workspace = word;
	return 0;
}

static int read_words(int argc, char **argv, int first, struct audit_command *c)
{
	unsigned n_words = 0;

	for (int i = first; i < argc; i++) {
		int r;

		if (argv[i][0] != '-') {
			if (take_word(c, argv[i], &n_words) != 0)
				return complain("one word too many, or no number:", argv[i]);
			continue;
		}
		if (take_flag(c, argv[i]))
			continue;
		r = i + 1 < argc ? take_option(c, argv[i], argv[i + 1]) : -ENOENT;
		if (r == -ENOENT)
			return complain("unknown option, or one without its value:", argv[i]);
		i++;
		if (r != 0)
			return complain("this value cannot be:", argv[i]);
	}
	if (strcmp(c->sub, "show") == 0 && c->show_seq == 0)
		return complain("which entry?", "show");
	if (strcmp(c->sub, "prune") == 0 && !c->has_before)
		return complain("before which date?", "prune");
	return 0;
}

int audit_options_read(int argc, char **argv, struct audit_command *ret_command)
{
	static const char *const subs[] = { "verify", "list", "show", "export", "stats", "prune",
		"key" };
	struct audit_command c = { .sub = "list", .lines = LINES_DEFAULT };
	int first = 1;
	int status;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			(void)fputs(usage_text, stdout);
			return -1;
		}
	}
	for (size_t i = 0; argc > 1 && i < N_ELEMENTS(subs); i++) {
		if (strcmp(argv[1], subs[i]) == 0) {
			c.sub = subs[i];
			first = 2;
		}
	}
	if (strcmp(c.sub, "export") == 0)
		c.lines = 0;
	status = read_words(argc, argv, first, &c);
	if (status == 0)
		*ret_command = c;
	return status;
}
