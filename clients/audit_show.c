/*
 * interlock audit list, show, export, stats. Everything that came from outside is escaped before a
 * terminal sees it; --json and export give the lines as they are recorded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/exit.h"
#include "base/utf8.h"
#include "clients/audit_options.h"

#define OUT_MAX       ((size_t)16 << 20)
#define DETAILS_SHOWN 160
#define FOLLOW_MS     250
#define EVENT_ID_MAX  256

struct showing {
	const struct audit_command *command;
	uint64_t last_seq;
	uint64_t n;
};

static int failed(int r)
{
	if (r == 0)
		return EXIT_STATUS_OK;
	(void)fprintf(stderr, "interlock audit: the record cannot be read: %s\n", strerror(-r));
	return EXIT_STATUS_FAILED;
}

static uint64_t entry_seq(const struct value *entry)
{
	const struct value *seq = value_get(entry, "seq");

	return seq && seq->kind == VALUE_INT ? (uint64_t)seq->integer : 0;
}

static void put_field(struct buf *b, const struct value *entry, const char *key, int width)
{
	const char *text = value_get_text(entry, key);
	auto_buf struct buf safe = BUF_INIT(1024);

	utf8_escape(&safe, text ? text : "-", text ? strlen(text) : 1, 64);
	buf_printf(b, "%-*s ", width, buf_get_text(&safe));
}

static void put_entry(struct buf *b, const struct value *entry)
{
	const struct value *details = value_get(entry, "details");
	auto_buf struct buf json = BUF_INIT(OUT_MAX);

	buf_printf(b, "%8" PRIu64 " ", entry_seq(entry));
	put_field(b, entry, "time", 30);
	put_field(b, entry, "event", 18);
	put_field(b, entry, "verdict", 5);
	put_field(b, entry, "action_type", 14);
	put_field(b, entry, "session", 8);
	if (details) {
		value_to_canonical_json(&json, details);
		utf8_escape(b, json.data, json.size, DETAILS_SHOWN);
	}
	buf_byte(b, '\n');
}

static int flush_out(const struct buf *b)
{
	int r = buf_error(b);

	if (r == 0 && b->size > 0 && fwrite(b->data, 1, b->size, stdout) != b->size)
		r = -EPIPE;
	return r;
}

static int on_listed(void *ctx, const char *line, size_t n, const struct value *entry)
{
	struct showing *s = ctx;
	auto_buf struct buf b = BUF_INIT(OUT_MAX);

	s->n++;
	if (entry_seq(entry) > s->last_seq)
		s->last_seq = entry_seq(entry);
	if (s->command->json) {
		buf_bytes(&b, line, n);
		buf_byte(&b, '\n');
	} else {
		put_entry(&b, entry);
	}
	return flush_out(&b);
}

/* New entries as they come, until a signal ends it. */
static int follow(struct showing *s, struct il_audit_query *query)
{
	const struct timespec pause = { .tv_nsec = FOLLOW_MS * 1000000L };
	int r = 0;

	query->limit = 0;
	query->newest_first = false;
	while (r == 0) {
		if (fflush(stdout) != 0)
			return -EPIPE;
		(void)nanosleep(&pause, NULL); /* woken early is fine */
		query->from_seq = s->last_seq + 1;
		r = il_audit_read(s->command->dir, query, on_listed, s);
	}
	return r;
}

int audit_list(const struct audit_command *c)
{
	struct showing s = { .command = c };
	struct il_audit_query query = c->query;
	int r;

	query.limit = c->lines;
	query.newest_first = c->lines != 0;
	r = il_audit_read(c->dir, &query, on_listed, &s);
	if (r == 0 && c->follow)
		r = follow(&s, &query);
	if (r == 0 && s.n == 0)
		(void)fputs("no entry matches\n", stderr);
	return failed(r);
}

static int on_shown(void *ctx, const char *line, size_t n, const struct value *entry)
{
	struct showing *s = ctx;
	auto_buf struct buf b = BUF_INIT(OUT_MAX);

	if (entry_seq(entry) != s->command->show_seq)
		return 1;
	s->n++;
	if (s->command->json) {
		buf_bytes(&b, line, n);
		buf_byte(&b, '\n');
		return flush_out(&b);
	}
	for (size_t i = 0; i < entry->size; i++) {
		auto_buf struct buf json = BUF_INIT(OUT_MAX);

		value_to_canonical_json(&json, entry->pairs[i].value);
		buf_printf(&b, "%-14s ", entry->pairs[i].key);
		utf8_escape(&b, json.data, json.size, OUT_MAX / 8);
		buf_byte(&b, '\n');
	}
	return flush_out(&b);
}

int audit_show(const struct audit_command *c)
{
	struct showing s = { .command = c };
	struct il_audit_query query = { .from_seq = c->show_seq, .limit = 1 };
	int r = il_audit_read(c->dir, &query, on_shown, &s);

	if (r == 0 && s.n == 0) {
		(void)fprintf(
			stderr, "interlock audit: there is no entry %" PRIu64 "\n", c->show_seq);
		return EXIT_STATUS_FAILED;
	}
	return failed(r);
}

/* RFC 4180: every field in quotes. */
static void put_csv(struct buf *b, const char *text, size_t n)
{
	buf_byte(b, '"');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			buf_byte(b, '"');
		buf_byte(b, (uint8_t)text[i]);
	}
	buf_byte(b, '"');
}

static const char *const csv_columns[] = { "time", "event", "session", "origin", "action_type",
	"verdict", "action_hash", "grant_hash", "snapshot", "hash" };

static int on_csv(void *ctx, const char *line, size_t n, const struct value *entry)
{
	auto_buf struct buf b = BUF_INIT(OUT_MAX);
	auto_buf struct buf json = BUF_INIT(OUT_MAX);
	const struct value *details = value_get(entry, "details");

	(void)ctx;
	(void)line;
	(void)n;
	buf_printf(&b, "%" PRIu64, entry_seq(entry));
	for (size_t i = 0; i < N_ELEMENTS(csv_columns); i++) {
		const char *text = value_get_text(entry, csv_columns[i]);

		buf_byte(&b, ',');
		put_csv(&b, text ? text : "", text ? strlen(text) : 0);
	}
	if (details)
		value_to_canonical_json(&json, details);
	buf_byte(&b, ',');
	put_csv(&b, buf_get_text(&json), json.size);
	buf_text(&b, "\r\n");
	return flush_out(&b);
}

int audit_export(const struct audit_command *c)
{
	struct audit_command lines = *c;
	struct showing s = { .command = &lines };
	struct il_audit_query query = c->query;

	query.limit = c->lines;
	lines.json = true;
	if (!c->csv)
		return failed(il_audit_read(c->dir, &query, on_listed, &s));
	(void)fputs("seq", stdout);
	for (size_t i = 0; i < N_ELEMENTS(csv_columns); i++)
		printf(",%s", csv_columns[i]);
	(void)fputs(",details\r\n", stdout);
	return failed(il_audit_read(c->dir, &query, on_csv, &s));
}

struct counting {
	uint64_t n, bytes;
	uint64_t events[EVENT_ID_MAX];
	uint64_t allowed, asked, denied;
	char first[RFC3339_SIZE], last[RFC3339_SIZE];
};

static int on_counted(void *ctx, const char *line, size_t n, const struct value *entry)
{
	struct counting *k = ctx;
	const char *event = value_get_text(entry, "event");
	const char *verdict = value_get_text(entry, "verdict");
	const char *time = value_get_text(entry, "time");
	unsigned id = event ? il_audit_event_id(event) : 0;

	(void)line;
	k->n++;
	k->bytes += n + 1;
	if (id < EVENT_ID_MAX)
		k->events[id]++;
	if (verdict) {
		k->allowed += strcmp(verdict, "allow") == 0;
		k->asked += strcmp(verdict, "ask") == 0;
		k->denied += strcmp(verdict, "deny") == 0;
	}
	if (time && strlen(time) < sizeof(k->last)) {
		(void)snprintf(k->last, sizeof(k->last), "%s", time);
		if (k->n == 1)
			memcpy(k->first, k->last, sizeof(k->first));
	}
	return 0;
}

static void print_stats_json(const struct counting *k)
{
	const char *comma = "";

	printf("{\"entries\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"first\":\"%s\",\"last\":\"%s\","
	       "\"allow\":%" PRIu64 ",\"ask\":%" PRIu64 ",\"deny\":%" PRIu64 ",\"events\":{",
		k->n, k->bytes, k->first, k->last, k->allowed, k->asked, k->denied);
	for (unsigned id = 1; id < EVENT_ID_MAX; id++) {
		if (k->events[id] == 0)
			continue;
		printf("%s\"%s\":%" PRIu64, comma, il_audit_event_name(id), k->events[id]);
		comma = ",";
	}
	puts("}}");
}

int audit_stats(const struct audit_command *c)
{
	struct counting k = { 0 };
	int r = il_audit_read(c->dir, &c->query, on_counted, &k);

	if (r != 0)
		return failed(r);
	if (c->json) {
		print_stats_json(&k);
		return EXIT_STATUS_OK;
	}
	printf("entries  %" PRIu64 " (%" PRIu64 " bytes)\nfirst    %s\nlast     %s\n", k.n, k.bytes,
		k.n > 0 ? k.first : "-", k.n > 0 ? k.last : "-");
	printf("verdicts allow %" PRIu64 ", ask %" PRIu64 ", deny %" PRIu64 "\n", k.allowed,
		k.asked, k.denied);
	for (unsigned id = 1; id < EVENT_ID_MAX; id++) {
		if (k.events[id] > 0)
			printf("%8" PRIu64 " %s\n", k.events[id], il_audit_event_name(id));
	}
	return EXIT_STATUS_OK;
}
