#include "audit/mac.h"

#include <string.h>

#define BLOCK 64

void mac_key_init(struct mac_key *m, const uint8_t key[static SHA256_SIZE])
{
	uint8_t pad[BLOCK];

	for (size_t i = 0; i < BLOCK; i++)
		pad[i] = (uint8_t)((i < SHA256_SIZE ? key[i] : 0) ^ 0x36);
	sha256_init(&m->inner);
	sha256_update(&m->inner, pad, BLOCK);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_init(&m->outer);
	sha256_update(&m->outer, pad, BLOCK);
	explicit_bzero(pad, sizeof(pad));
}

void mac_compute(const struct mac_key *m, const uint8_t hash[static SHA256_SIZE],
	uint8_t ret_mac[static SHA256_SIZE])
{
	struct sha256 h = m->inner;
	uint8_t inner[SHA256_SIZE];

	sha256_update(&h, hash, SHA256_SIZE);
	sha256_final(&h, inner);
	h = m->outer;
	sha256_update(&h, inner, SHA256_SIZE);
	sha256_final(&h, ret_mac);
}
