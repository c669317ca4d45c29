#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/be.h"
#include "chronicle/record.h"

#define SIGNATURE_SIZE crypto_sign_BYTES
#define SLOT_SIZE      512 /* a slot never shares a sector with the other one */
#define HEAD_SIZE      (8 + 8 + SHA256_SIZE + SIGNATURE_SIZE)
#define STUB_SIZE      (8 + 8 + 8 + 8 + 2 * SHA256_SIZE + SIGNATURE_SIZE)

/* The last SIGNATURE_SIZE bytes of n become the signature of those before. */
static void sign(uint8_t *bytes, size_t n, const uint8_t key[static 64])
{
	/* Cannot fail with a key of the right size. */
	(void)crypto_sign_detached(
		bytes + n - SIGNATURE_SIZE, NULL, bytes, n - SIGNATURE_SIZE, key);
}

static bool is_signed(const uint8_t *bytes, size_t n, const uint8_t key[static 64])
{
	return crypto_sign_verify_detached(bytes + n - SIGNATURE_SIZE, bytes, n - SIGNATURE_SIZE,
		       key + crypto_sign_SECRETKEYBYTES - crypto_sign_PUBLICKEYBYTES) == 0;
}

void chain_stub_write(struct buf *b, const struct stub *s, const uint8_t key[static 64])
{
	uint8_t bytes[STUB_SIZE] = { 'I', 'L', 'S', '1' };

	be_store64(bytes + 8, s->from);
	be_store64(bytes + 16, s->to);
	be_store64(bytes + 24, s->n_snapshots);
	memcpy(bytes + 32, s->prev, SHA256_SIZE);
	memcpy(bytes + 64, s->hash, SHA256_SIZE);
	sign(bytes, sizeof(bytes), key);
	buf_bytes(b, bytes, sizeof(bytes));
}

int chain_stub_read(
	const uint8_t *bytes, size_t n, const uint8_t key[static 64], struct stub *ret_stub)
{
	static const uint8_t magic[8] = { 'I', 'L', 'S', '1' };
	struct stub s = { 0 };

	if (n != STUB_SIZE || memcmp(bytes, magic, sizeof(magic)) != 0 || !is_signed(bytes, n, key))
		return -EBADMSG;
	s.from = be_load64(bytes + 8);
	s.to = be_load64(bytes + 16);
	s.n_snapshots = be_load64(bytes + 24);
	memcpy(s.prev, bytes + 32, SHA256_SIZE);
	memcpy(s.hash, bytes + 64, SHA256_SIZE);
	if (s.from == 0 || s.from > s.to || s.to > INT64_MAX)
		return -EBADMSG;
	*ret_stub = s;
	return 0;
}

int chain_head_read(const struct store *s, struct head *ret_head)
{
	static const uint8_t magic[8] = { 'I', 'L', 'H', '1' };
	struct head best = { 0 };
	bool any = false;
	unsigned n_good = 0;

	for (off_t slot = 0; slot < 2; slot++) {
		uint8_t bytes[HEAD_SIZE];
		ssize_t n = pread(s->head_fd, bytes, sizeof(bytes), slot * SLOT_SIZE);
		uint64_t seq;

		if (n < 0)
			return -errno;
		any = any || n > 0;
		if ((size_t)n != sizeof(bytes) || memcmp(bytes, magic, sizeof(magic)) != 0 ||
			!is_signed(bytes, sizeof(bytes), s->key))
			continue;
		seq = be_load64(bytes + 8);
		if (n_good++ > 0 && seq <= best.seq)
			continue;
		best.seq = seq;
		memcpy(best.hash, bytes + 16, SHA256_SIZE);
	}
	if (!any)
		return -ENOENT;
	/* From the second record on both slots are in use; one that is wiped would hide a cut. */
	if (n_good == 0 || (best.seq > 1 && n_good != 2))
		return -EBADMSG;
	*ret_head = best;
	return 0;
}

/*
 * Not synced: after a power loss the head may be behind the chain, which is told
 * apart from a cut chain, where it is ahead. The slots take turns, so that a write
 * that is torn leaves the one before.
 */
int chain_head_write(const struct store *s, const struct head *h)
{
	uint8_t bytes[HEAD_SIZE] = { 'I', 'L', 'H', '1' };
	ssize_t n;

	be_store64(bytes + 8, h->seq);
	memcpy(bytes + 16, h->hash, SHA256_SIZE);
	sign(bytes, sizeof(bytes), s->key);
	n = pwrite(s->head_fd, bytes, sizeof(bytes), (off_t)(h->seq & 1) * SLOT_SIZE);
	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(bytes) ? 0 : -EIO;
}
