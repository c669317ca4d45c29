/*
 * HMAC-SHA-256 under one key over many hashes: the key's two blocks are hashed once.
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"

struct mac_key {
	struct sha256 inner;
	struct sha256 outer;
};

void mac_key_init(struct mac_key *m, const uint8_t key[static SHA256_SIZE]);
void mac_compute(const struct mac_key *m, const uint8_t hash[static SHA256_SIZE],
	uint8_t ret_mac[static SHA256_SIZE]);
