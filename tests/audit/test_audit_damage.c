/*
 * The table of docs/audit.md: every kind of damage, at the first, a middle and the last entry and
 * at the border of two segments, done by who can write the segments, the head as well, or the whole
 * directory with today's keys; seen by a verifier without anything, with the kept key, with an
 * anchor.
 *
 * The attacker is as clever as his keys allow: he makes the chain, the MACs and the signatures
 * anew.
 */
#include "tests/audit/support.h"

#include <inttypes.h>

#include "audit/head.h"
#include "audit/keys.h"
#include "audit/line.h"
#include "audit/merkle.h"

#define LINES_MAX 256
#define N_FILES   16

enum attacker {
	SEGMENTS,
	WITH_HEAD,
	WITH_KEYS,
	ATTACKER_N_
};
enum place {
	FIRST,
	MIDDLE,
	LAST,
	BORDER,
	PLACE_N_
};

static const char *const attacker_names[] = { "segments", "with head", "with keys" };
static const char *const place_names[] = { "first", "middle", "last", "border" };

struct text {
	char *text; /* owned, with its newline */
	unsigned file;
};

struct log {
	char dir[128];
	char anchor[128];
	char *key; /* owned */
	struct text lines[LINES_MAX];
	size_t n;
	unsigned n_files;
};

static void read_log(const char *dir, struct log *l)
{
	l->n = 0;
	for (unsigned f = 1; f < N_FILES; f++) {
		char path[256];
		auto_free char *text = NULL;
		size_t n;

		put_path(path, sizeof(path), "%s/%08u.jsonl", dir, f);
		if (file_read(AT_FDCWD, path, 1 << 24, &text, &n) != 0)
			break;
		l->n_files = f;
		for (char *at = text; *at;) {
			size_t size = strcspn(at, "\n") + 1;

			assert_true(l->n < LINES_MAX);
			l->lines[l->n++] = (struct text){ strndup(at, size), f };
			at += size;
		}
	}
}

static void write_log(const char *dir, const struct log *l)
{
	for (unsigned f = 1; f <= l->n_files; f++) {
		auto_buf struct buf b = BUF_INIT(1 << 24);
		char path[256];

		put_path(path, sizeof(path), "%s/%08u.jsonl", dir, f);
		for (size_t i = 0; i < l->n; i++) {
			if (l->lines[i].file == f)
				buf_text(&b, l->lines[i].text);
		}
		assert_int_equal(buf_error(&b), 0);
		if (b.size == 0)
			assert_int_equal(unlink(path), 0);
		else
			assert_int_equal(
				file_write_atomic(AT_FDCWD, path, b.data, b.size, 0600), 0);
	}
}

static void forget(struct log *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->lines[i].text);
	l->n = 0;
}

/* ---- an honest log, its kept key and its anchor ---- */

static void fill(const char *dir, unsigned n, unsigned seed)
{
	struct il_audit_options o = { .dir = dir, .segment_bytes = 6000, .checkpoint_every = 5 };
	struct il_audit *log = open_with(&o);
	struct il_audit_entry entry = { .event = "ActionExecuted", .session = "s" };
	char origin[32];

	entry.origin = origin;
	for (unsigned i = 0; i < n; i++) {
		put_path(origin, sizeof(origin), "honest-%u-%u", seed, i);
		assert_int_equal(il_audit_append_wait(log, &entry, NULL), 0);
	}
	il_audit_close(log);
}

static void gather_anchor(struct log *l)
{
	auto_buf struct buf b = BUF_INIT(1 << 20);

	for (size_t i = 0; i < l->n; i++) {
		struct line line;

		assert_int_equal(
			line_read(l->lines[i].text, strlen(l->lines[i].text) - 1, &line), 0);
		if (slice_is(line.event, "Checkpoint")) {
			buf_bytes(&b, line.details.at, line.details.n);
			buf_byte(&b, '\n');
		}
	}
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(file_write_atomic(AT_FDCWD, l->anchor, b.data, b.size, 0600), 0);
}

static int make_log(void **state)
{
	struct log *l = calloc(1, sizeof(*l));
	char base[] = "/tmp/interlock-audit-XXXXXX";
	struct il_audit_options o = { .dir = l->dir };
	struct il_audit *log;

	assert_non_null(mkdtemp(base));
	put_path(l->dir, sizeof(l->dir), "%s/log", base);
	put_path(l->anchor, sizeof(l->anchor), "%s/anchor", base);
	log = open_with(&o);
	assert_int_equal(il_audit_take_verification_key(log, &l->key), 0);
	il_audit_close(log);
	fill(l->dir, 30, 0);
	read_log(l->dir, l);
	assert_true(l->n_files >= 3);
	gather_anchor(l);
	*state = l;
	return 0;
}

static int drop_log(void **state)
{
	struct log *l = *state;
	int r = run_shell("rm -rf \"$(dirname '%s')\"", l->dir);

	forget(l);
	free(l->key);
	free(l);
	return r;
}

/* ---- the attacker ---- */

static void put_hex(char *line, const char *key, const uint8_t *bytes, size_t n)
{
	char wanted[64], hex[2 * AUDIT_SIGNATURE_SIZE + 1];
	char *at;

	put_path(wanted, sizeof(wanted), "\"%s\":\"", key);
	at = strstr(strstr(line, ",\"event\":"), wanted); /* details have a hash of their own */
	assert_non_null(at);
	hex_encode(bytes, n, hex);
	memcpy(at + strlen(wanted), hex, 2 * n);
}

static void put_seq(char **line, uint64_t seq)
{
	char *at = strstr(*line, "\"previous_hash\":");
	char *number = strstr(at, ",\"seq\":") + 7;
	char *rest = number + strspn(number, "0123456789");
	char *fresh = NULL;

	assert_true(
		asprintf(&fresh, "%.*s%" PRIu64 "%s", (int)(number - *line), *line, seq, rest) > 0);
	free(*line);
	*line = fresh;
}

static void put_epoch(char **line, uint64_t epoch)
{
	char *end = strstr(*line, ",\"event\":");
	char *number = end;
	char *fresh = NULL;

	while (number[-1] >= '0' && number[-1] <= '9')
		number--;
	assert_true(asprintf(&fresh, "%.*s%" PRIu64 "%s", (int)(number - *line), *line, epoch,
			    end) > 0);
	free(*line);
	*line = fresh;
}

/* The details of a checkpoint made anew, over the entry before it. */
static void put_checkpoint(char **line, const struct audit_head *head)
{
	auto_arena struct arena a = { 0 };
	auto_buf struct buf b = BUF_INIT(4096);
	char *from = strstr(*line, "\"details\":") + 10;
	char *rest = strchr(from, '}') + 1;
	char *fresh = NULL;

	arena_init(&a, 65536);
	value_to_canonical_json(&b, head_to_value(&a, head));
	assert_true(asprintf(&fresh, "%.*s%s%s", (int)(from - *line), *line, buf_get_text(&b),
			    rest) > 0);
	free(*line);
	*line = fresh;
}

/* Hash, MAC and link of each line anew; the MACs with the only key he has: today's. */
static void remake(struct log *l, const struct audit_keys *keys, struct audit_head *ret_head)
{
	uint8_t previous[SHA256_SIZE] = { 0 }, mac[SHA256_SIZE];
	struct merkle merkle;

	merkle_init(&merkle);
	for (size_t i = 0; i < l->n; i++) {
		char **text = &l->lines[i].text;
		struct line line;

		put_seq(text, i + 1);
		put_epoch(text, i);
		if (strstr(*text, "\"event\":\"Checkpoint\"")) {
			struct audit_head head = { .checkpoint = { .seq = i } };

			assert_int_equal(line_read(*text, strlen(*text) - 1, &line), 0);
			head.checkpoint.epoch = line.epoch;
			memcpy(head.checkpoint.hash, previous, SHA256_SIZE);
			merkle_root(&merkle, head.checkpoint.root);
			audit_sign(keys, &head.checkpoint, head.signature);
			put_checkpoint(text, &head);
			*ret_head = head;
		}
		put_hex(*text, "previous_hash", previous, SHA256_SIZE);
		assert_int_equal(line_read(*text, strlen(*text) - 1, &line), 0);
		put_hex(*text, "hash", line.computed, SHA256_SIZE);
		hmac_sha256(keys->mac, SHA256_SIZE, line.computed, SHA256_SIZE, mac);
		put_hex(*text, "mac", mac, SHA256_SIZE);
		memcpy(previous, line.computed, SHA256_SIZE);
		if (slice_is(line.event, "Checkpoint") || slice_is(line.event, "LogOpened"))
			merkle_init(&merkle);
		merkle_add(&merkle, line.computed);
	}
}

static void put_last_hash(const struct log *l, uint8_t ret_hash[static SHA256_SIZE])
{
	const char *text = l->lines[l->n - 1].text;
	struct line last;

	assert_int_equal(line_read(text, strlen(text) - 1, &last), 0);
	memcpy(ret_hash, last.hash, SHA256_SIZE);
}

/* The key file of someone with all keys: it says that the log was always this one. */
static void put_key_file(const char *dir, struct audit_keys *keys, const struct log *l)
{
	struct line last;
	size_t size = 0;

	assert_int_equal(
		line_read(l->lines[l->n - 1].text, strlen(l->lines[l->n - 1].text) - 1, &last), 0);
	for (size_t i = 0; i < l->n; i++) {
		if (l->lines[i].file == l->lines[l->n - 1].file)
			size += strlen(l->lines[i].text);
	}
	keys->epoch = last.epoch + 1;
	keys->at = (struct audit_place){
		.segment = l->lines[l->n - 1].file, .offset = size, .seq = l->n
	};
	memcpy(keys->at.hash, last.hash, SHA256_SIZE);
	assert_int_equal(audit_keys_save(keys), 0);
	(void)dir;
}

/* What the damaged lines need to look right, as far as the attacker's means go. */
static void cover_up(const char *dir, struct log *l, enum attacker attacker)
{
	struct audit_keys own = { .fd = -1 };
	struct audit_head head = { 0 };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (attacker == SEGMENTS) {
		write_log(dir, l);
		(void)close(fd);
		return;
	}
	if (attacker == WITH_KEYS) {
		assert_int_equal(audit_keys_open(fd, true, &own), 0);
	} else {
		char other[160];
		struct il_audit_options o = { .dir = other };
		auto_close int other_fd = -1;

		put_path(other, sizeof(other), "%s-other", dir);
		il_audit_close(open_with(&o)); /* for want of the keys, his own */
		other_fd = open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(audit_keys_open(other_fd, true, &own), 0);
		assert_int_equal(run_shell("rm -rf '%s'", other), 0);
	}
	remake(l, &own, &head);
	if (head.checkpoint.seq == 0) { /* nothing is left that could have been signed */
		head.checkpoint.seq = l->n;
		put_last_hash(l, head.checkpoint.hash);
		audit_sign(&own, &head.checkpoint, head.signature);
	}
	assert_int_equal(head_write(fd, &head), 0);
	if (attacker == WITH_KEYS)
		put_key_file(dir, &own, l);
	write_log(dir, l);
	audit_keys_done(&own);
	(void)close(fd);
}

/* ---- the damage ---- */

static size_t index_of(const struct log *l, enum place place)
{
	if (place == FIRST)
		return 0;
	if (place == LAST)
		return l->n - 1;
	for (size_t i = 0; i < l->n; i++) {
		if (l->lines[i].file == 2)
			return place == BORDER ? i : i + 2;
	}
	fail();
	return 0;
}

static void edit(struct log *l, size_t at)
{
	char *digit = strstr(l->lines[at].text, "\"time\":\"") +
		      strlen("\"time\":\"2026-01-31T23:59:59.");

	*digit = *digit == '1' ? '2' : '1';
}

static void erase(struct log *l, size_t at)
{
	free(l->lines[at].text);
	memmove(&l->lines[at], &l->lines[at + 1], (--l->n - at) * sizeof(l->lines[0]));
}

static void insert(struct log *l, size_t at)
{
	memmove(&l->lines[at + 1], &l->lines[at], (l->n++ - at) * sizeof(l->lines[0]));
	l->lines[at].text = strdup(l->lines[at].text);
	l->lines[at].file = l->lines[at + 1].file;
}

static void reorder(struct log *l, size_t at)
{
	size_t other = at > 0 ? at - 1 : at + 1;
	char *text = l->lines[at].text;

	l->lines[at].text = l->lines[other].text;
	l->lines[other].text = text;
}

static void truncate_tail(struct log *l, size_t at)
{
	while (l->n > at && l->n > 1)
		erase(l, l->n - 1);
}

/* One entry tells another story, and the chain is made anew over it, keys or not. */
static void rewrite(struct log *l, size_t at)
{
	struct audit_keys none = { .fd = -1 };
	struct audit_head head;

	edit(l, at);
	remake(l, &none, &head);
}

struct kind {
	const char *name;
	void (*damage)(struct log *l, size_t at);
	enum il_audit_damage named; /* by segments alone, in the middle, without a key */
};

static const struct kind kinds[] = {
	{ "edit", edit, IL_AUDIT_DAMAGE_EDIT },
	{ "delete", erase, IL_AUDIT_DAMAGE_DELETE },
	{ "insert", insert, IL_AUDIT_DAMAGE_INSERT },
	{ "reorder", reorder, IL_AUDIT_DAMAGE_REORDER },
	{ "truncation", truncate_tail, IL_AUDIT_DAMAGE_TRUNCATION },
	{ "rewrite", rewrite, IL_AUDIT_DAMAGE_REWRITE },
};

static void clone(const struct log *l, char *ret_dir, size_t size)
{
	put_path(ret_dir, size, "%s-trial", l->dir);
	assert_int_equal(run_shell("rm -rf '%s'", ret_dir), 0);
	assert_int_equal(run_shell("cp -r '%s' '%s'", l->dir, ret_dir), 0);
}

static void assert_status(
	const char *what, const char *verifier, const struct il_audit_report *r, int wanted)
{
	if (r->status != wanted)
		fail_msg("%s, seen %s: exit %d instead of %d (%s at %s: %s)", what, verifier,
			r->status, wanted, il_audit_damage_name(r->damage), r->where, r->text);
}

/* Only who has every key can fool who kept nothing; what an anchor names is the entry before it. */
static void try_cell(
	const struct log *l, const struct kind *kind, enum place place, enum attacker attacker)
{
	struct log damaged = { 0 };
	struct il_audit_report report;
	char dir[160], what[128];
	int unkept = attacker == WITH_KEYS ? EXIT_VERIFY_INTACT : EXIT_VERIFY_BROKEN;
	bool is_behind_anchor = attacker == WITH_KEYS && place == LAST && kind->damage != reorder;

	put_path(what, sizeof(what), "%s, %s, %s", kind->name, place_names[place],
		attacker_names[attacker]);
	clone(l, dir, sizeof(dir));
	read_log(dir, &damaged);
	kind->damage(&damaged, index_of(&damaged, place));
	cover_up(dir, &damaged, attacker);
	forget(&damaged);
	report = verify_with(dir, NULL, NULL);
	assert_status(what, "without a key", &report, unkept);
	if (attacker == SEGMENTS && place == MIDDLE)
		assert_string_equal(
			il_audit_damage_name(report.damage), il_audit_damage_name(kind->named));
	report = verify_with(dir, l->key, NULL);
	assert_status(what, "with the key", &report, EXIT_VERIFY_BROKEN);
	report = verify_with(dir, NULL, l->anchor);
	assert_status(what, "with an anchor", &report,
		is_behind_anchor ? EXIT_VERIFY_INTACT : EXIT_VERIFY_BROKEN);
}

static void every_damage_is_found_by_who_can_find_it(void **state)
{
	const struct log *l = *state;

	assert_intact(l->dir, NULL);
	assert_intact(l->dir, l->key);
	assert_int_equal(verify_with(l->dir, NULL, l->anchor).status, EXIT_VERIFY_INTACT);
	for (size_t k = 0; k < N_ELEMENTS(kinds); k++) {
		for (enum place place = 0; place < PLACE_N_; place++) {
			for (enum attacker a = 0; a < ATTACKER_N_; a++)
				try_cell(l, &kinds[k], place, a);
		}
	}
}

/* A log of his own in place of ours. */
static void a_replacement_is_found(void **state)
{
	const struct log *l = *state;
	static const char *const taken[] = { "/*.jsonl", "/*.json*", "/*" };
	char dir[160], other[160];

	put_path(other, sizeof(other), "%s-other", l->dir);
	assert_int_equal(run_shell("rm -rf '%s'", other), 0);
	fill(other, 30, 1);
	for (enum attacker a = 0; a < ATTACKER_N_; a++) {
		struct il_audit_report report;

		clone(l, dir, sizeof(dir));
		assert_int_equal(run_shell("rm -f '%s'/*.jsonl && cp '%s'%s '%s'", dir, other,
					 taken[a], dir),
			0);
		report = verify_with(dir, NULL, NULL);
		assert_status("replacement", "without a key", &report,
			a == WITH_KEYS ? EXIT_VERIFY_INTACT : EXIT_VERIFY_BROKEN);
		report = verify_with(dir, l->key, NULL);
		assert_status("replacement", "with the key", &report, EXIT_VERIFY_BROKEN);
		assert_int_equal(report.damage, IL_AUDIT_DAMAGE_REPLACEMENT);
		report = verify_with(dir, NULL, l->anchor);
		assert_status("replacement", "with an anchor", &report, EXIT_VERIFY_BROKEN);
	}
}

/* Two copies go on, each with the right keys: only an anchor can tell which one was shown. */
static void a_fork_is_found_with_an_anchor(void **state)
{
	struct log l = { 0 };
	const struct log *honest = *state;
	static const char *const taken[] = { "/*.jsonl", "/*.json*", "/*" };
	char fork_dir[160], dir[160];
	struct il_audit_report report;

	put_path(l.dir, sizeof(l.dir), "%s-fork-a", honest->dir);
	put_path(l.anchor, sizeof(l.anchor), "%s-fork-anchor", honest->dir);
	put_path(fork_dir, sizeof(fork_dir), "%s-fork-b", honest->dir);
	assert_int_equal(run_shell("cp -r '%s' '%s'", honest->dir, l.dir), 0);
	assert_int_equal(run_shell("cp -r '%s' '%s'", honest->dir, fork_dir), 0);
	fill(l.dir, 10, 2);
	fill(fork_dir, 10, 3);
	read_log(l.dir, &l);
	gather_anchor(&l);
	forget(&l);
	for (enum attacker a = 0; a < ATTACKER_N_; a++) {
		int unkept = a == WITH_KEYS ? EXIT_VERIFY_INTACT : EXIT_VERIFY_BROKEN;

		clone(&l, dir, sizeof(dir));
		assert_int_equal(run_shell("rm -f '%s'/*.jsonl && cp '%s'%s '%s'", dir, fork_dir,
					 taken[a], dir),
			0);
		report = verify_with(dir, NULL, NULL);
		/* The head of the other branch is rightly signed; audit.key still knows ours. */
		assert_status("fork", "without a key", &report, unkept);
		report = verify_with(dir, honest->key, NULL);
		assert_status("fork", "with the key", &report, unkept);
		report = verify_with(dir, honest->key, l.anchor);
		assert_status("fork", "with an anchor", &report, EXIT_VERIFY_BROKEN);
		if (a == WITH_KEYS)
			assert_int_equal(report.damage, IL_AUDIT_DAMAGE_FORK);
	}
}

/* The lock got lost (a network file system, say) and two wrote at once. */
static void a_second_writer_is_found_and_named(void **state)
{
	const struct log *honest = *state;
	char first[160], second[160];
	struct log a = { 0 }, b = { 0 };
	struct il_audit_report report;

	put_path(first, sizeof(first), "%s-first", honest->dir);
	put_path(second, sizeof(second), "%s-second", honest->dir);
	assert_int_equal(run_shell("cp -r '%s' '%s'", honest->dir, first), 0);
	assert_int_equal(run_shell("cp -r '%s' '%s'", honest->dir, second), 0);
	fill(first, 3, 4);
	fill(second, 3, 5);
	read_log(first, &a);
	read_log(second, &b);
	for (size_t i = honest->n; i < b.n; i++) {
		assert_true(a.n < LINES_MAX);
		a.lines[a.n] = (struct text){ strdup(b.lines[i].text), a.lines[a.n - 1].file };
		a.n++;
	}
	write_log(first, &a);
	forget(&a);
	forget(&b);
	report = verify_with(first, NULL, NULL);
	assert_status("second writer", "without a key", &report, EXIT_VERIFY_BROKEN);
	assert_int_equal(report.damage, IL_AUDIT_DAMAGE_SECOND_WRITER);
	report = verify_with(first, honest->key, NULL);
	assert_status("second writer", "with the key", &report, EXIT_VERIFY_BROKEN);
	report = verify_with(first, NULL, honest->anchor);
	assert_status("second writer", "with an anchor", &report, EXIT_VERIFY_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_damage_is_found_by_who_can_find_it),
		cmocka_unit_test(a_replacement_is_found),
		cmocka_unit_test(a_fork_is_found_with_an_anchor),
		cmocka_unit_test(a_second_writer_is_found_and_named),
	};

	return cmocka_run_group_tests(tests, make_log, drop_log);
}
