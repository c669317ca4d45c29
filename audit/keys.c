#include "audit/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/be.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/files.h"

#define KEY_FILE          "audit.key"
#define VERIFICATION_FILE "verification.key"
#define PUBLIC_FILE       "public.key"
#define KEY_PREFIX        "ilv1:"
#define PLACE_AT          (8 + SHA256_SIZE + AUDIT_SECRET_SIZE)
#define RECORD_SIZE       (PLACE_AT + 4 + 8 + 8 + SHA256_SIZE)

static const char ratchet_tag[] = "interlock.audit.ratchet.v1";
static const char checkpoint_tag[] = "interlock.audit.checkpoint.v1";

void audit_ratchet(uint8_t key[static SHA256_SIZE])
{
	struct sha256 h;

#ifdef MUTATION_AUDIT_RATCHET
	return;
#endif
	sha256_init(&h);
	sha256_update(&h, ratchet_tag, sizeof(ratchet_tag) - 1);
	sha256_update(&h, key, SHA256_SIZE);
	sha256_final(&h, key);
	explicit_bzero(&h, sizeof(h));
}

void audit_keys_step(struct audit_keys *k)
{
	audit_ratchet(k->mac);
	k->epoch++;
}

int audit_keys_save(const struct audit_keys *k)
{
	uint8_t record[RECORD_SIZE];
	ssize_t n;

	be_store64(record, k->epoch);
	memcpy(record + 8, k->mac, SHA256_SIZE);
	memcpy(record + 8 + SHA256_SIZE, k->secret, AUDIT_SECRET_SIZE);
	be_store32(record + PLACE_AT, k->at.segment);
	be_store64(record + PLACE_AT + 4, k->at.offset);
	be_store64(record + PLACE_AT + 12, k->at.seq);
	memcpy(record + PLACE_AT + 20, k->at.hash, SHA256_SIZE);
	/* In place and within one sector: the older key is gone from the file, and no crash leaves
	 * half of each. */
	n = pwrite(k->fd, record, sizeof(record), 0);
	explicit_bzero(record, sizeof(record));
	if (n != (ssize_t)sizeof(record))
		return n < 0 ? -errno : -EIO;
	return fdatasync(k->fd) < 0 ? -errno : 0;
}

static int write_verification(int dir_fd, const uint8_t first[static SHA256_SIZE],
	const uint8_t public_key[static AUDIT_PUBLIC_SIZE])
{
	struct buf text = BUF_INIT(AUDIT_KEY_TEXT_SIZE);
	char hex[2 * AUDIT_PUBLIC_SIZE + 1];
	int r;

	buf_text(&text, KEY_PREFIX);
	buf_hex(&text, first, SHA256_SIZE);
	buf_hex(&text, public_key, AUDIT_PUBLIC_SIZE);
	r = buf_error(&text);
	if (r == 0)
		r = file_write_atomic(dir_fd, VERIFICATION_FILE, text.data, text.size, 0600);
	buf_wipe(&text);
	if (r != 0)
		return r;
	hex_encode(public_key, AUDIT_PUBLIC_SIZE, hex);
	return file_write_atomic(dir_fd, PUBLIC_FILE, hex, sizeof(hex) - 1, 0600);
}

int audit_keys_make(int dir_fd, struct audit_keys *ret_keys)
{
	struct audit_keys k = { .fd = -1, .at = { .segment = 1 } };
	uint8_t public_key[AUDIT_PUBLIC_SIZE];
	int r;

	if (sodium_init() < 0)
		return -EIO;
	randombytes_buf(k.mac, sizeof(k.mac));
	if (crypto_sign_keypair(public_key, k.secret) != 0)
		return -EIO;
	r = write_verification(dir_fd, k.mac, public_key);
	/* Under its name only when it is whole: a crash before that leaves no log, not half a one.
	 */
	if (r == 0) {
		k.fd = openat(dir_fd, KEY_FILE ".new",
			O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		r = k.fd < 0 ? -errno : audit_keys_save(&k);
	}
	if (r == 0 &&
		(renameat(dir_fd, KEY_FILE ".new", dir_fd, KEY_FILE) < 0 || fsync(dir_fd) < 0))
		r = -errno;
	if (r != 0) {
		audit_keys_done(&k);
		return r;
	}
	*ret_keys = k;
	return 0;
}

int audit_keys_open(int dir_fd, bool writable, struct audit_keys *ret_keys)
{
	auto_close int fd =
		openat(dir_fd, KEY_FILE, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
	uint8_t record[RECORD_SIZE + 1];
	ssize_t n;

	if (sodium_init() < 0)
		return -EIO;
	if (fd < 0)
		return errno == ENOENT ? AUDIT_KEYS_E_MISSING : -errno;
	n = pread(fd, record, sizeof(record), 0);
	if (n < 0)
		return -errno;
	if (n != RECORD_SIZE)
		return -EUCLEAN;
	ret_keys->epoch = be_load64(record);
	memcpy(ret_keys->mac, record + 8, SHA256_SIZE);
	memcpy(ret_keys->secret, record + 8 + SHA256_SIZE, AUDIT_SECRET_SIZE);
	ret_keys->at.segment = be_load32(record + PLACE_AT);
	ret_keys->at.offset = be_load64(record + PLACE_AT + 4);
	ret_keys->at.seq = be_load64(record + PLACE_AT + 12);
	memcpy(ret_keys->at.hash, record + PLACE_AT + 20, SHA256_SIZE);
	ret_keys->fd = take_fd(fd);
	explicit_bzero(record, sizeof(record));
	return 0;
}

void audit_keys_done(struct audit_keys *k)
{
	cleanup_close(&k->fd);
	explicit_bzero(k->mac, sizeof(k->mac));
	explicit_bzero(k->secret, sizeof(k->secret));
}

#define CHECKPOINT_SIZE (sizeof(checkpoint_tag) - 1 + 16 + 2 * SHA256_SIZE)

static void checkpoint_bytes(
	const struct audit_checkpoint *c, uint8_t ret_bytes[static CHECKPOINT_SIZE])
{
	size_t n = sizeof(checkpoint_tag) - 1;

	memcpy(ret_bytes, checkpoint_tag, n);
	be_store64(ret_bytes + n, c->seq);
	be_store64(ret_bytes + n + 8, c->epoch);
	memcpy(ret_bytes + n + 16, c->hash, SHA256_SIZE);
	memcpy(ret_bytes + n + 16 + SHA256_SIZE, c->root, SHA256_SIZE);
}

void audit_sign(const struct audit_keys *k, const struct audit_checkpoint *c,
	uint8_t ret_signature[static AUDIT_SIGNATURE_SIZE])
{
	uint8_t bytes[CHECKPOINT_SIZE];

	checkpoint_bytes(c, bytes);
	(void)crypto_sign_detached(
		ret_signature, NULL, bytes, sizeof(bytes), k->secret); /* cannot fail */
}

bool audit_signature_is_valid(const uint8_t public_key[static AUDIT_PUBLIC_SIZE],
	const struct audit_checkpoint *c, const uint8_t signature[static AUDIT_SIGNATURE_SIZE])
{
	uint8_t bytes[CHECKPOINT_SIZE];

	checkpoint_bytes(c, bytes);
	return crypto_sign_verify_detached(signature, bytes, sizeof(bytes), public_key) == 0;
}

int audit_key_parse(const char *text, uint8_t ret_first[static SHA256_SIZE],
	uint8_t ret_public[static AUDIT_PUBLIC_SIZE])
{
	char half[2 * SHA256_SIZE + 1] = "";
	size_t n_prefix = strlen(KEY_PREFIX);

	if (strncmp(text, KEY_PREFIX, n_prefix) != 0 ||
		strlen(text) != n_prefix + 4 * (size_t)SHA256_SIZE)
		return -EINVAL;
	memcpy(half, text + n_prefix, sizeof(half) - 1);
	if (hex_decode(half, ret_first, SHA256_SIZE) != 0)
		return -EINVAL;
	return hex_decode(text + n_prefix + sizeof(half) - 1, ret_public, AUDIT_PUBLIC_SIZE);
}

int audit_key_take(int dir_fd, char **ret_text)
{
	auto_free char *text = NULL;
	size_t n;
	int r = file_read(dir_fd, VERIFICATION_FILE, AUDIT_KEY_TEXT_SIZE, &text, &n);

	if (r != 0)
		return r;
	if (unlinkat(dir_fd, VERIFICATION_FILE, 0) < 0 || fsync(dir_fd) < 0)
		return -errno;
	*ret_text = take_ptr(text);
	return 0;
}

int audit_public_read(int dir_fd, uint8_t ret_public[static AUDIT_PUBLIC_SIZE])
{
	auto_free char *text = NULL;
	size_t n;
	int r = file_read(dir_fd, PUBLIC_FILE, 2 * AUDIT_PUBLIC_SIZE, &text, &n);

	return r != 0 ? r : hex_decode(text, ret_public, AUDIT_PUBLIC_SIZE);
}
