/*
 * A log of the reference system: one file, JSON lines whose hash is SHA-256 over the object with
 * sorted keys and an empty "hash", chained by previous_hash; no key, no head. So the best that can
 * be said of it is that it is consistent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/reader.h"
#include "audit/verify.h"
#include "base/cleanup.h"
#include "base/exit.h"
#include "base/value.h"

#define REFERENCE_FILE "audit.jsonl"
#define ARENA_MAX      (32 * (size_t)IL_AUDIT_ENTRY_MAX)

static bool starts_with(const char *at, const char *end, const char *what, size_t n)
{
	return (size_t)(end - at) >= n && memcmp(at, what, n) == 0;
}

/* Its writer spells some characters differently: < > & and U+2028, U+2029 as escapes, DEL as
 * itself. */
static void respell(struct buf *b, const char *text, size_t n)
{
	static const struct {
		const char *ours, *theirs;
	} spellings[] = {
		{ "<", "\\u003c" }, { ">", "\\u003e" }, { "&", "\\u0026" },
		{ "\xe2\x80\xa8", "\\u2028" }, { "\xe2\x80\xa9", "\\u2029" }, { "\\u007f", "\x7f" },
		{ "\\u000d", "\\r" },
		{ "\\\\", "\\\\" }, /* so that what follows is not taken for an escape */
	};
	const char *end = text + n;

	while (text < end) {
		size_t i = 0;

		while (i < N_ELEMENTS(spellings) &&
			!starts_with(text, end, spellings[i].ours, strlen(spellings[i].ours)))
			i++;
		if (i < N_ELEMENTS(spellings)) {
			buf_text(b, spellings[i].theirs);
			text += strlen(spellings[i].ours);
		} else {
			buf_byte(b, (uint8_t)*text++);
		}
	}
}

/* The hash that the entry should carry. */
static int reference_hash(struct arena *a, const struct value *entry, char *ret_hex)
{
	static const struct value empty = { .kind = VALUE_TEXT, .text = "" };
	auto_buf struct buf json = BUF_INIT(2 * IL_AUDIT_ENTRY_MAX);
	auto_buf struct buf theirs = BUF_INIT(8 * IL_AUDIT_ENTRY_MAX);
	struct value *copy = value_map(a, entry->size);
	uint8_t hash[SHA256_SIZE];

	for (size_t i = 0; i < entry->size; i++) {
		bool is_hash = strcmp(entry->pairs[i].key, "hash") == 0;

		if (value_put(copy, entry->pairs[i].key,
			    is_hash ? &empty : entry->pairs[i].value) != 0)
			return -ENOMEM;
	}
	value_to_canonical_json(&json, copy);
	if (buf_error(&json) != 0)
		return buf_error(&json);
	respell(&theirs, (const char *)json.data, json.size);
	if (buf_error(&theirs) != 0)
		return buf_error(&theirs);
	sha256_bytes(theirs.data, theirs.size, hash);
	hex_encode(hash, sizeof(hash), ret_hex);
	return 0;
}

static int broken(struct il_audit_report *report, enum il_audit_damage damage, const char *what)
{
	report->status = EXIT_VERIFY_BROKEN;
	report->damage = damage;
	report->bad_seq = report->n_entries + 1;
	(void)snprintf(report->where, sizeof(report->where), REFERENCE_FILE ":%llu",
		(unsigned long long)report->bad_seq);
	(void)snprintf(report->text, sizeof(report->text), "%s", what);
	return VERIFY_STOP;
}

static int check_line(struct il_audit_report *report, const char *text, size_t n, char *last)
{
	auto_arena struct arena a = { 0 };
	const struct value *entry;
	const char *previous, *hash;
	char computed[SHA256_HEX_SIZE];
	int r;

	arena_init(&a, ARENA_MAX);
	if (value_from_json(&a, text, n, &entry, NULL) != 0 || entry->kind != VALUE_MAP)
		return broken(report, IL_AUDIT_DAMAGE_UNREADABLE, "this is no entry");
	hash = value_get_text(entry, "hash");
	previous = value_get_text(entry, "previous_hash");
	if (!hash || strlen(hash) != SHA256_HEX_SIZE - 1)
		return broken(report, IL_AUDIT_DAMAGE_UNREADABLE, "this entry has no hash");
	r = reference_hash(&a, entry, computed);
	if (r != 0)
		return r;
	if (strcmp(computed, hash) != 0)
		return broken(report, IL_AUDIT_DAMAGE_EDIT, "the entry differs from its hash");
	if (strcmp(previous ? previous : "", last) != 0)
		return broken(report, IL_AUDIT_DAMAGE_DELETE,
			"the entry does not follow the one before it");
	memcpy(last, computed, sizeof(computed));
	report->n_entries++;
	return 0;
}

/* The file itself, or audit.jsonl in a directory. */
static int open_reference(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int file;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return fd < 0 ? -errno : fd;
	file = openat(fd, REFERENCE_FILE, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0)
		file = -errno;
	(void)close(fd);
	return file;
}

int verify_reference(const struct il_audit_verify_options *o, struct il_audit_report *ret_report)
{
	struct il_audit_report report = { .status = EXIT_VERIFY_INTACT };
	auto_reader struct reader reader = { .bytes = BUF_INIT(0) };
	char last[SHA256_HEX_SIZE] = "";
	auto_close int fd = open_reference(o->dir);
	int r = 0;

	if (fd < 0)
		return fd;
	reader_init(&reader, fd, 0, UINT64_MAX);
	while (r == 0) {
		const char *text;
		size_t n;

		r = reader_next(&reader, &text, &n);
		if (r == 0 && n > 0)
			r = check_line(&report, text, n, last);
	}
	if (r < 0)
		return r;
	if (r == READER_E_CUT)
		(void)broken(&report, IL_AUDIT_DAMAGE_UNREADABLE, "the last line is cut");
	report.first_seq = report.n_entries > 0;
	report.last_seq = report.n_entries;
	if (report.status == EXIT_VERIFY_INTACT && report.n_entries == 0)
		report.status = EXIT_VERIFY_CANNOT_TELL;
	if (report.status != EXIT_VERIFY_BROKEN)
		(void)snprintf(report.text, sizeof(report.text), "%s",
			report.n_entries > 0 ? "consistent, not anchored"
					     : "there is no entry to verify");
	*ret_report = report;
	return 0;
}
