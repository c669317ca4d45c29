#include "audit/merkle.h"

#include <stdbool.h>
#include <string.h>

void merkle_init(struct merkle *m)
{
	m->n = 0;
}

static void hash_pair(
	const uint8_t *left, const uint8_t *right, uint8_t ret_hash[static SHA256_SIZE])
{
	static const uint8_t node = 1;
	struct sha256 h;

	sha256_init(&h);
	sha256_update(&h, &node, 1);
	sha256_update(&h, left, SHA256_SIZE);
	sha256_update(&h, right, SHA256_SIZE);
	sha256_final(&h, ret_hash);
}

void merkle_add(struct merkle *m, const uint8_t hash[static SHA256_SIZE])
{
	static const uint8_t leaf = 0;
	uint8_t carry[SHA256_SIZE];
	struct sha256 h;
	unsigned i = 0;

	sha256_init(&h);
	sha256_update(&h, &leaf, 1);
	sha256_update(&h, hash, SHA256_SIZE);
	sha256_final(&h, carry);
	for (; m->n >> i & 1; i++)
		hash_pair(m->level[i], carry, carry);
	memcpy(m->level[i], carry, SHA256_SIZE);
	m->n++;
}

void merkle_root(const struct merkle *m, uint8_t ret_root[static SHA256_SIZE])
{
	bool any = false;

	memset(ret_root, 0, SHA256_SIZE);
	for (unsigned i = 0; i < MERKLE_LEVELS && m->n >> i != 0; i++) {
		if (!(m->n >> i & 1))
			continue;
		if (any)
			hash_pair(m->level[i], ret_root, ret_root);
		else
			memcpy(ret_root, m->level[i], SHA256_SIZE);
		any = true;
	}
}
