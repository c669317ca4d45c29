/*
 * interlock logs [-f] [--level LEVEL] [NAME|DIR]
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/log.h"
#include "clients/commands.h"
#include "clients/workspace.h"

#define FOLLOW_PAUSE_NS 200000000L

static void usage(FILE *to)
{
	(void)fputs(
		"usage: interlock logs [-f] [--level error|warning|notice|info|debug] [NAME|DIR]\n",
		to);
}

/* "TIME PROGRAM LEVEL TEXT": shown if the level is at least as grave; lines without one always. */
static bool is_wanted(const char *line, enum log_level most)
{
	char name[16];
	enum log_level level;

	if (sscanf(line, "%*s %*s %15s", name) != 1 || log_level_parse(name, &level) != 0)
		return true;
	return level <= most;
}

static int show(FILE *log, enum log_level most, bool follow)
{
	auto_free char *line = NULL;
	size_t size = 0;

	for (;;) {
		while (getline(&line, &size, log) > 0) {
			if (is_wanted(line, most))
				(void)fputs(line, stdout);
		}
		if (!follow || fflush(stdout) != 0)
			return ferror(log) ? EXIT_STATUS_FAILED : EXIT_STATUS_OK;
		clearerr(log);
		(void)nanosleep(&(struct timespec){ .tv_nsec = FOLLOW_PAUSE_NS },
			NULL); /* a shorter pause is fine */
	}
}

int cmd_logs(int argc, char **argv)
{
	static const struct option longs[] = { { "follow", no_argument, NULL, 'f' },
		{ "level", required_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' },
		{ 0 } };
	auto_workspace struct workspace w = WORKSPACE_NONE;
	auto_fclose FILE *log = NULL;
	enum log_level most = LOG_LEVEL_DEBUG;
	bool follow = false;
	int fd, c;

	while ((c = getopt_long(argc, argv, "fl:h", longs, NULL)) != -1) {
		if (c == 'f') {
			follow = true;
		} else if (c == 'h') {
			usage(stdout);
			return EXIT_STATUS_OK;
		} else if (c != 'l' || log_level_parse(optarg, &most) != 0) {
			usage(stderr);
			return EXIT_STATUS_USAGE;
		}
	}
	if (argc - optind > 1) {
		usage(stderr);
		return EXIT_STATUS_USAGE;
	}
	if (workspace_open(argv[optind], &w) != 0)
		return EXIT_STATUS_FAILED;
	fd = openat(w.state_fd, "logs/interlock.log", O_RDONLY | O_CLOEXEC);
	log = fd < 0 ? NULL : fdopen(fd, "r");
	if (!log) {
		(void)fprintf(stderr,
			"interlock: %s/logs/interlock.log: %s; `start -d` writes it\n",
			w.state_path, strerror(errno));
		return EXIT_STATUS_FAILED;
	}
	return show(log, most, follow);
}
