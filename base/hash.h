/*
 * SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), by OpenSSL's libcrypto.
 *
 * struct sha256 is a plain value: it needs no release and may be copied to
 * branch a running hash.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

IL_API_BEGIN

#define SHA256_SIZE     32
#define SHA256_HEX_SIZE 65 /* 64 digits and NUL */

struct sha256 {
	_Alignas(8) uint8_t state[128]; /* opaque */
};

void sha256_init(struct sha256 *h);
void sha256_update(struct sha256 *h, const void *bytes, size_t n);
void sha256_final(struct sha256 *h, uint8_t ret_hash[static SHA256_SIZE]);
void sha256_bytes(const void *bytes, size_t n, uint8_t ret_hash[static SHA256_SIZE]);
/* The rest of a file from its present offset, in 128 KiB pieces. */
int sha256_fd(int fd, uint8_t ret_hash[static SHA256_SIZE]) MUST_CHECK;

void hmac_sha256(const void *key, size_t n_key, const void *bytes, size_t n,
	uint8_t ret_mac[static SHA256_SIZE]);

void hex_encode(const uint8_t *bytes, size_t n, char *ret_text); /* 2n + 1 bytes */
/* Exactly 2n lower-case digits, or -EINVAL. */
int hex_decode(const char *text, uint8_t *ret_bytes, size_t n) MUST_CHECK;

IL_API_END
