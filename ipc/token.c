#include "ipc/token.h"

#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/files.h"

static int random_bytes(void *bytes, size_t n)
{
	ssize_t got = getrandom(bytes, n, 0);

	/* Up to 256 bytes come whole, once the kernel's pool is ready. */
	if (got < 0)
		return -errno;
	return (size_t)got == n ? 0 : -EIO;
}

int token_make(char ret_token[static TOKEN_SIZE])
{
	uint8_t bytes[TOKEN_BYTES];
	int r = random_bytes(bytes, sizeof(bytes));

	if (r == 0)
		hex_encode(bytes, sizeof(bytes), ret_token);
	explicit_bzero(bytes, sizeof(bytes));
	return r;
}

void token_wipe(char token[static TOKEN_SIZE])
{
	explicit_bzero(token, TOKEN_SIZE);
}

static int token_form(const char *token)
{
	uint8_t bytes[TOKEN_BYTES];
	int r = strnlen(token, TOKEN_SIZE) == TOKEN_SIZE - 1 ? hex_decode(token, bytes, TOKEN_BYTES)
							     : -EINVAL;

	explicit_bzero(bytes, sizeof(bytes));
	return r;
}

int token_file_write(int dirfd, const char *name, const char *token)
{
	char line[TOKEN_SIZE];
	int r = token_form(token);

	if (r != 0)
		return r;
	memcpy(line, token, TOKEN_SIZE - 1);
	line[TOKEN_SIZE - 1] = '\n';
	r = file_write_atomic(dirfd, name, line, sizeof(line), 0600);
	token_wipe(line);
	return r;
}

int token_file_read(int dirfd, const char *name, char ret_token[static TOKEN_SIZE])
{
	auto_close int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	auto_token char token[TOKEN_SIZE] = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return -EPERM;
	if (st.st_size != TOKEN_SIZE || read(fd, token, TOKEN_SIZE) != TOKEN_SIZE ||
		token[TOKEN_SIZE - 1] != '\n')
		return -EINVAL;
	token[TOKEN_SIZE - 1] = '\0';
	if (token_form(token) != 0)
		return -EINVAL;
	memcpy(ret_token, token, TOKEN_SIZE);
	return 0;
}

int token_take_environment(const char *name, char ret_token[static TOKEN_SIZE])
{
	/* The very bytes that /proc/<pid>/environ shows. */
	char *value = getenv(name);
	int r;

	if (!value)
		return -ENOENT;
	r = token_form(value);
	if (r == 0)
		memcpy(ret_token, value, TOKEN_SIZE);
	explicit_bzero(value, strlen(value));
	(void)unsetenv(name); /* fails only for a name with '=' */
	return r;
}
