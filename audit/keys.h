/*
 * The keys of a log.
 *
 * MAC keys ratchet: key(e + 1) = SHA-256("interlock.audit.ratchet.v1" || key(e)), and the old one
 *is overwritten, so that who takes the machine today cannot authenticate yesterday's entries anew.
 *One epoch is one group commit. The key file holds the key that follows the last checkpoint's
 *epoch.
 *
 * Checkpoints are signed with Ed25519 (libsodium). The verification key that the user keeps
 *elsewhere is "ilv1:" and, in hex, key(0) and the public key.
 *
 *	audit.key	 epoch (8 bytes, big-endian), key (32), Ed25519 secret key (64), then the
 *			 last entry of the checkpoint: segment (4), offset behind it (8), seq (8),
 *			 hash (32); 0600, rewritten in place
 *	verification.key the text above, until it is handed out
 *	public.key	 the public key in hex
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/hash.h"

#define AUDIT_PUBLIC_SIZE    32
#define AUDIT_SECRET_SIZE    64
#define AUDIT_SIGNATURE_SIZE 64
#define AUDIT_KEY_TEXT_SIZE  (sizeof("ilv1:") + 128)

/* The last entry of the checkpoint to which the key on disk belongs, and where the next one goes.
 */
struct audit_place {
	uint32_t segment;
	uint64_t offset;
	uint64_t seq; /* 0: none yet */
	uint8_t hash[SHA256_SIZE];
};

struct audit_keys {
	uint64_t epoch;
	uint8_t mac[SHA256_SIZE];
	uint8_t secret[AUDIT_SECRET_SIZE];
	struct audit_place at;
	int fd; /* owned: the key file; -1: none */
};

enum {
	AUDIT_KEYS_E_MISSING = 1,
};

/* New keys and their files. */
int audit_keys_make(int dir_fd, struct audit_keys *ret_keys) MUST_CHECK;
int audit_keys_open(int dir_fd, bool writable, struct audit_keys *ret_keys) MUST_CHECK;
void audit_keys_done(struct audit_keys *k); /* wipes */

void audit_ratchet(uint8_t key[static SHA256_SIZE]);
void audit_keys_step(struct audit_keys *k);
/* The present key over the older one on disk, durable. */
int audit_keys_save(const struct audit_keys *k) MUST_CHECK;

/* What a checkpoint's signature covers: "interlock.audit.checkpoint.v1", seq, epoch, hash, Merkle
 * root. */
struct audit_checkpoint {
	uint64_t seq, epoch;
	uint8_t hash[SHA256_SIZE], root[SHA256_SIZE];
};
void audit_sign(const struct audit_keys *k, const struct audit_checkpoint *c,
	uint8_t ret_signature[static AUDIT_SIGNATURE_SIZE]);
bool audit_signature_is_valid(const uint8_t public_key[static AUDIT_PUBLIC_SIZE],
	const struct audit_checkpoint *c, const uint8_t signature[static AUDIT_SIGNATURE_SIZE]);

int audit_key_parse(const char *text, uint8_t ret_first[static SHA256_SIZE],
	uint8_t ret_public[static AUDIT_PUBLIC_SIZE]) MUST_CHECK;
/* Once; -ENOENT afterwards. */
int audit_key_take(int dir_fd, char **ret_text) MUST_CHECK;
int audit_public_read(int dir_fd, uint8_t ret_public[static AUDIT_PUBLIC_SIZE]) MUST_CHECK;
