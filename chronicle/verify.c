#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "chronicle/book.h"
#include "chronicle/large.h"
#include "chronicle/marks.h"

struct verifier {
	struct il_chronicle *c;
	struct il_chronicle_report *report;
};

static int found(struct verifier *v, const char *id, const char *what, const uint8_t *hash)
{
	char hex[SHA256_HEX_SIZE];

	hex_encode(hash, SHA256_SIZE, hex);
	v->report->status = EXIT_VERIFY_BROKEN;
	(void)snprintf(v->report->text, sizeof(v->report->text), "content %s is %s", hex, what);
	(void)snprintf(v->report->snapshot, sizeof(v->report->snapshot), "%s", id);
	return STORE_E_BROKEN; /* the first one is enough */
}

static int check_blob(struct il_chronicle *c, const struct blob *blob, uint64_t *ret_n)
{
	auto_close int fd = -1;
	uint8_t hash[SHA256_SIZE];
	uint64_t at = 0, n = 0;
	struct sha256 h;
	int r = store_open_blob(c->store, blob->hash, &fd, &at, &n);

	if (r != 0)
		return r;
	sha256_init(&h);
	r = copy_range(fd, at, -1, 0, n, &h);
	sha256_final(&h, hash);
	*ret_n += n;
	if (r == -ESTALE || (r == 0 && memcmp(hash, blob->hash, SHA256_SIZE) != 0))
		return STORE_E_BROKEN;
	return r;
}

/* Each content once, the first time a snapshot refers to it. */
static int on_reference(void *ctx, const char *id, const uint8_t *hash, struct blob *blob)
{
	struct verifier *v = ctx;
	int r;

	if (!blob)
		return book_is_erased(v->c, hash) ? 0 : found(v, id, "missing", hash);
	v->report->n_blobs++;
	r = check_blob(v->c, blob, &v->report->n_bytes);
	if (r == STORE_E_BROKEN)
		return found(v, id, "changed", hash);
	return r == STORE_E_ABSENT ? found(v, id, "missing", hash) : r;
}

int il_chronicle_verify(struct il_chronicle *c, struct il_chronicle_report *ret_report)
{
	struct il_chronicle_report report = { .status = EXIT_VERIFY_INTACT };
	struct verifier v = { .c = c, .report = &report };
	int r = 0;

	/* What is in memory was read when the store was opened; the disk is what counts. */
	r = store_flush(c->store);
	if (r != 0)
		return r;
	store_unload(c->store);
	r = store_load(c->store);
	if (r == 0)
		r = book_load(c);
	if (r != 0)
		return book_condition(r);
	report.n_snapshots = c->n_snapshots;
	if (c->damage[0] != '\0') {
		report.status = EXIT_VERIFY_BROKEN;
		(void)snprintf(report.text, sizeof(report.text), "%s", c->damage);
		memcpy(report.snapshot, c->bad_id, sizeof(report.snapshot));
		*ret_report = report;
		return 0;
	}
	r = marks_walk(c, NULL, on_reference, &v);
	if (r < 0)
		return r;
	if (r != 0 && report.status == EXIT_VERIFY_INTACT) {
		report.status = EXIT_VERIFY_BROKEN;
		(void)snprintf(report.text, sizeof(report.text), "a directory's tree is damaged");
	}
	if (report.status == EXIT_VERIFY_INTACT)
		(void)snprintf(report.text, sizeof(report.text),
			"%" PRIu64 " snapshots, %" PRIu64 " contents, %" PRIu64 " bytes: intact",
			report.n_snapshots, report.n_blobs, report.n_bytes);
	*ret_report = report;
	return 0;
}
