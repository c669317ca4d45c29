/*
 * Opening and closing a log for writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "audit/segment.h"
#include "base/files.h"

#define SEGMENT_BYTES_DEFAULT ((uint64_t)64 << 20)
#define CHECKPOINT_EVERY      1024u
#define LOCK_FILE             "lock"

static int take_lock(struct il_audit *log)
{
	log->lock_fd =
		openat(log->dir_fd, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (log->lock_fd < 0)
		return -errno;
#ifdef MUTATION_AUDIT_LOCK
	return 0;
#endif
	if (flock(log->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? IL_AUDIT_E_LOCKED : -errno;
	return 0;
}

static int make_log(struct il_audit *log)
{
	int r = audit_keys_make(log->dir_fd, &log->keys);

	return r != 0 ? r : segment_open(log->dir_fd, 1, &log->segment_fd);
}

static int open_log(struct il_audit *log, struct diag *diag)
{
	auto_free uint32_t *numbers = NULL;
	size_t n = 0;
	int r = segment_list(log->dir_fd, &numbers, &n);

	if (r == 0)
		r = audit_keys_open(log->dir_fd, true, &log->keys);
	log->chain.seq = 1;
	log->segment = 1;
	log->segment_day = clock_wall_ns(log->clock) / NS_PER_DAY;
	if (r == AUDIT_KEYS_E_MISSING && n > 0)
		return diag_set(diag, IL_AUDIT_E_NO_KEY, 0, 0, "entries exist, audit.key does not");
	if (r == -EUCLEAN)
		return diag_set(diag, IL_AUDIT_E_NO_KEY, 0, 0, "audit.key is damaged");
	if (r == AUDIT_KEYS_E_MISSING)
		r = make_log(log);
	else if (r == 0)
		r = log_recover(log, diag);
	if (r != 0)
		return r;
	merkle_init(&log->merkle); /* a root never reaches back over an opening, whose tail alone
				      was read */
	return log_write_own(log, "LogOpened", NULL);
}

static void log_free(struct il_audit *log)
{
	cleanup_close(&log->segment_fd);
	cleanup_close(&log->lock_fd);
	cleanup_close(&log->dir_fd);
	audit_keys_done(&log->keys);
	anchor_done(&log->anchor);
	explicit_bzero(&log->chain, sizeof(log->chain));
	free(log);
}

int il_audit_open(
	const struct il_audit_options *o, struct il_audit **ret_log, struct diag *reterr_diag)
{
	struct il_audit *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	log->dir_fd = log->lock_fd = log->segment_fd = log->keys.fd = -1;
	log->last = &log->first;
	log->clock = o->clock ? o->clock : &clock_system;
	log->segment_bytes = o->segment_bytes ? o->segment_bytes : SEGMENT_BYTES_DEFAULT;
	log->checkpoint_every = o->checkpoint_every ? o->checkpoint_every : CHECKPOINT_EVERY;
	r = sodium_init() < 0 ? -EIO
			      : anchor_init(&log->anchor, o->anchor_command, o->anchor_syslog);
	if (r == 0)
		r = make_dirs(o->dir, 0700);
	if (r == 0) {
		log->dir_fd = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = log->dir_fd < 0 ? -errno : take_lock(log);
	}
	if (r == 0)
		r = open_log(log, reterr_diag);
	if (r == 0)
		r = log_start(log);
	if (r != 0) {
		log_free(log);
		return r;
	}
	*ret_log = log;
	return 0;
}

void il_audit_close(struct il_audit *log)
{
	if (!log)
		return;
	(void)pthread_mutex_lock(&log->mutex);
	log->closing = true;
	(void)pthread_cond_signal(&log->wake);
	(void)pthread_mutex_unlock(&log->mutex);
	(void)pthread_join(log->thread, NULL);
	if (log->error == 0 && log_write_own(log, "LogClosed", NULL) == 0)
		(void)!log_checkpoint(
			log); /* nobody is left to tell; verify sees what is missing */
	log_trim(log);
	(void)pthread_cond_destroy(&log->wake);
	(void)pthread_mutex_destroy(&log->mutex);
	log_free(log);
}

int il_audit_take_verification_key(struct il_audit *log, char **ret_key)
{
	return audit_key_take(log->dir_fd, ret_key);
}

int il_audit_take_verification_key_of(const char *dir, char **ret_key)
{
	auto_close int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir_fd < 0 ? -errno : audit_key_take(dir_fd, ret_key);
}
