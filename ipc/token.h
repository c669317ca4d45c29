/*
 * Tokens: 128 random bits as 32 hex digits. A token file belongs to its owner
 * alone; the engine keeps only a keyed hash of each token, with what it is good
 * for.
 *
 *	token_book_init() → token_book_add() ... → token_book_check() → token_book_done()
 *
 * A single-use token is gone with its first successful check. Time is passed in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "ipc/role.h"

#define TOKEN_BYTES    16
#define TOKEN_SIZE     (2 * TOKEN_BYTES + 1) /* digits and NUL */
#define TOKEN_BOOK_MAX 256

enum {
	TOKEN_E_MISMATCH =
		1, /* no such token for this role and user; says nothing about how near */
	TOKEN_E_EXPIRED,
	TOKEN_E_FULL,
};

int token_make(char ret_token[static TOKEN_SIZE]) MUST_CHECK;
void token_wipe(char token[static TOKEN_SIZE]);
/* Atomically, 0600. */
int token_file_write(int dirfd, const char *name, const char *token) MUST_CHECK;
/* -EPERM unless it is a regular file of our user that no other may read; -EINVAL for other text. */
int token_file_read(int dirfd, const char *name, char ret_token[static TOKEN_SIZE]) MUST_CHECK;
/*
 * Takes the token out of the environment of this process: the variable is removed and its bytes are
 * overwritten where the kernel shows them (/proc/<pid>/environ). -ENOENT when it is not there.
 */
int token_take_environment(const char *name, char ret_token[static TOKEN_SIZE]) MUST_CHECK;

struct token_entry {
	uint8_t mac[SHA256_SIZE];
	enum role role; /* ROLE_NONE: a free place */
	uid_t uid;
	uint64_t expires_ms; /* monotonic; 0: never */
	uint64_t tag;        /* the caller's: which session, which agent */
	bool single_use;
};

struct token_book {
	uint8_t key[SHA256_SIZE];
	struct token_entry entries[TOKEN_BOOK_MAX];
};

int token_book_init(struct token_book *b) MUST_CHECK;
void token_book_done(struct token_book *b);
/* 0, TOKEN_E_FULL; -EINVAL for what is no token. Expired entries make room. */
int token_book_add(struct token_book *b, const char *token, const struct token_entry *what,
	uint64_t now_ms) MUST_CHECK;
/* Constant time in the token: every entry in use is compared, whatever matched before. */
int token_book_check(struct token_book *b, const char *token, enum role role, uid_t uid,
	uint64_t now_ms, uint64_t *ret_tag) MUST_CHECK;
void token_book_revoke(struct token_book *b, uint64_t tag);

#define auto_token CLEANUP(token_wipe_)
static inline void token_wipe_(char (*token)[TOKEN_SIZE])
{
	token_wipe(*token);
}
