/*
 * A Merkle root over entry hashes, built as they come with one hash a level
 * (leaf: SHA-256(0x00 || hash), node: SHA-256(0x01 || left || right); a lonely right
 * subtree moves up, as in RFC 6962).
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"

#define MERKLE_LEVELS 64

struct merkle {
	uint64_t n; /* leaves so far; bit i set: level[i] is occupied */
	uint8_t level[MERKLE_LEVELS][SHA256_SIZE];
};

void merkle_init(struct merkle *m);
void merkle_add(struct merkle *m, const uint8_t hash[static SHA256_SIZE]);
/* All zeroes when there is no leaf. */
void merkle_root(const struct merkle *m, uint8_t ret_root[static SHA256_SIZE]);
