#include "ipc/token.h"

#include <sodium.h>
#include <string.h>
#include <sys/random.h>

int token_book_init(struct token_book *b)
{
	memset(b, 0, sizeof(*b));
	return getrandom(b->key, sizeof(b->key), 0) == (ssize_t)sizeof(b->key) ? 0 : -EIO;
}

void token_book_done(struct token_book *b)
{
	sodium_memzero(b, sizeof(*b));
}

static bool entry_is_free(const struct token_entry *e, uint64_t now_ms)
{
	return e->role == ROLE_NONE || (e->expires_ms != 0 && now_ms > e->expires_ms);
}

int token_book_add(
	struct token_book *b, const char *token, const struct token_entry *what, uint64_t now_ms)
{
	if (strnlen(token, TOKEN_SIZE) != TOKEN_SIZE - 1 || what->role == ROLE_NONE)
		return -EINVAL;
	for (size_t i = 0; i < TOKEN_BOOK_MAX; i++) {
		struct token_entry *e = &b->entries[i];

		if (!entry_is_free(e, now_ms))
			continue;
		*e = *what;
		hmac_sha256(b->key, sizeof(b->key), token, TOKEN_SIZE - 1, e->mac);
		return 0;
	}
	return TOKEN_E_FULL;
}

int token_book_check(struct token_book *b, const char *token, enum role role, uid_t uid,
	uint64_t now_ms, uint64_t *ret_tag)
{
	uint8_t mac[SHA256_SIZE];
	struct token_entry *found = NULL;
	struct token_entry entry;

	hmac_sha256(b->key, sizeof(b->key), token, strnlen(token, TOKEN_SIZE), mac);
	for (size_t i = 0; i < TOKEN_BOOK_MAX; i++) {
		if (b->entries[i].role != ROLE_NONE &&
			sodium_memcmp(mac, b->entries[i].mac, sizeof(mac)) == 0 &&
			b->entries[i].role == role)
			found = &b->entries[i];
	}
	if (!found)
		return TOKEN_E_MISMATCH;
#ifdef MUTATION_TOKEN_UID
	(void)uid;
#else
	if (found->uid != uid)
		return TOKEN_E_MISMATCH;
#endif
	entry = *found;
#ifndef MUTATION_TOKEN_SINGLE_USE
	/* Used or too late: gone in both cases. */
	if (entry.single_use || entry_is_free(found, now_ms))
		sodium_memzero(found, sizeof(*found));
#endif
	if (entry_is_free(&entry, now_ms))
		return TOKEN_E_EXPIRED;
	*ret_tag = entry.tag;
	return 0;
}

void token_book_revoke(struct token_book *b, uint64_t tag)
{
	for (size_t i = 0; i < TOKEN_BOOK_MAX; i++) {
		if (b->entries[i].role != ROLE_NONE && b->entries[i].tag == tag)
			sodium_memzero(&b->entries[i], sizeof(b->entries[i]));
	}
}
