/* The low-level calls are deprecated in OpenSSL 3 but keep a running hash a plain value. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/hash.h"

#include <errno.h>
#include <openssl/sha.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE    ((size_t)128 * 1024)
#define SHA256_BLOCK 64

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct sha256), "room for libcrypto's state");
_Static_assert(SHA256_DIGEST_LENGTH == SHA256_SIZE, "one size");

static SHA256_CTX *context(struct sha256 *h)
{
	return (SHA256_CTX *)(void *)h->state;
}

/* None of the three fails for a context that was initialised. */
void sha256_init(struct sha256 *h)
{
	(void)SHA256_Init(context(h));
}

void sha256_update(struct sha256 *h, const void *bytes, size_t n)
{
	(void)SHA256_Update(context(h), bytes, n);
}

void sha256_final(struct sha256 *h, uint8_t ret_hash[static SHA256_SIZE])
{
	(void)SHA256_Final(ret_hash, context(h));
}

void sha256_bytes(const void *bytes, size_t n, uint8_t ret_hash[static SHA256_SIZE])
{
	struct sha256 h;

	sha256_init(&h);
	sha256_update(&h, bytes, n);
	sha256_final(&h, ret_hash);
}

int sha256_fd(int fd, uint8_t ret_hash[static SHA256_SIZE])
{
	uint8_t piece[READ_SIZE];
	struct sha256 h;

	sha256_init(&h);
	for (;;) {
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		sha256_update(&h, piece, (size_t)n);
	}
	sha256_final(&h, ret_hash);
	return 0;
}

void hmac_sha256(const void *key, size_t n_key, const void *bytes, size_t n,
	uint8_t ret_mac[static SHA256_SIZE])
{
	uint8_t block[SHA256_BLOCK] = { 0 };
	uint8_t inner[SHA256_SIZE];
	struct sha256 h;

	if (n_key > sizeof(block))
		sha256_bytes(key, n_key, block);
	else if (n_key > 0)
		memcpy(block, key, n_key);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	sha256_init(&h);
	sha256_update(&h, block, sizeof(block));
	sha256_update(&h, bytes, n);
	sha256_final(&h, inner);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	sha256_init(&h);
	sha256_update(&h, block, sizeof(block));
	sha256_update(&h, inner, sizeof(inner));
	sha256_final(&h, ret_mac);
	explicit_bzero(block, sizeof(block));
	explicit_bzero(&h, sizeof(h));
}

void hex_encode(const uint8_t *bytes, size_t n, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_text[2 * n] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int hex_decode(const char *text, uint8_t *ret_bytes, size_t n)
{
	if (strlen(text) != 2 * n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		int high = hex_digit(text[2 * i]);
		int low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		ret_bytes[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}
