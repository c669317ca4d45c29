/*
 * interlock start [NAME|DIR] [-c FILE] [-d] [-v] [--trust]
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/log.h"
#include "clients/commands.h"
#include "clients/workspace.h"
#include "manager/lock.h"
#include "manager/manager.h"
#include "manager/registry.h"

struct start_options {
	const char *name;
	char *config; /* owned: absolute, since the daemon changes directory */
	bool daemon, verbose, trust;
};

static void usage(FILE *to)
{
	(void)fputs("usage: interlock start [NAME|DIR] [-c FILE] [-d] [-v] [--trust]\n\n"
		    "  -c, --config FILE  this configuration instead of the workspace's\n"
		    "  -d, --daemon       go on in the background, supervised, logging to the "
		    "state directory\n"
		    "  -v, --verbose      log more\n"
		    "      --trust        trust this workspace (asked once at a terminal)\n",
		to);
}

static int parse(int argc, char **argv, struct start_options *o)
{
	static const struct option longs[] = { { "config", required_argument, NULL, 'c' },
		{ "daemon", no_argument, NULL, 'd' }, { "verbose", no_argument, NULL, 'v' },
		{ "trust", no_argument, NULL, 't' }, { "help", no_argument, NULL, 'h' }, { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "c:dvh", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			free(o->config);
			o->config = realpath(optarg, NULL);
			if (!o->config) {
				(void)fprintf(
					stderr, "interlock: %s: %s\n", optarg, strerror(errno));
				return EXIT_STATUS_CONFIG;
			}
			break;
		case 'd':
			o->daemon = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 't':
			o->trust = true;
			break;
		case 'h':
			usage(stdout);
			exit(EXIT_STATUS_OK);
		default:
			usage(stderr);
			return EXIT_STATUS_USAGE;
		}
	}
	if (argc - optind > 1) {
		usage(stderr);
		return EXIT_STATUS_USAGE;
	}
	o->name = argv[optind];
	return 0;
}

/* True if the person at the terminal says yes. */
static bool ask_trust(const char *path)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		(void)fprintf(stderr,
			"interlock: %s is not trusted yet; add --trust if you know what is in it\n",
			path);
		return false;
	}
	(void)fprintf(stderr,
		"%s is new here, or its interlock.yaml has changed.\n"
		"An agent will work in it, and its build files and hooks may be run under a "
		"grant.\n"
		"Do you trust what is in it? [y/N] ",
		path);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int make_trusted(const struct workspace *w, bool trust)
{
	bool trusted = false;
	int r = registry_is_trusted(w->state_fd, w->path, &trusted);

	if (r == 0 && !trusted) {
		if (!trust && !ask_trust(w->path))
			return -EPERM;
		r = registry_trust(w->state_fd, w->path);
	}
	if (r == 0)
		r = registry_add(w->state_fd, w->path);
	if (r != 0)
		(void)fprintf(stderr, "interlock: cannot record the trust in %s: %s\n", w->path,
			strerror(-r));
	return r;
}

static int refuse_second(const struct workspace *w)
{
	pid_t pid = 0;
	int r = lock_holder(w->state_fd, "manager.lock", &pid);

	if (r == -ESRCH)
		return 0;
	(void)fprintf(stderr,
		"interlock: %s is already running (pid %ld); `interlock stop` ends it\n", w->path,
		(long)pid);
	return -EBUSY;
}

/* The manager's own life in the background. */
static int run_daemon(const struct workspace *w, struct manager_options *o)
{
	auto_close int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_close int log_fd = -1;

	if (mkdirat(w->state_fd, "logs", 0700) < 0 && errno != EEXIST)
		return EXIT_STATUS_FAILED;
	log_fd = openat(
		w->state_fd, "logs/interlock.log", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (null_fd < 0 || log_fd < 0 || setsid() < 0 || chdir("/") < 0)
		return EXIT_STATUS_FAILED;
	if (dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0 ||
		dup2(log_fd, STDERR_FILENO) < 0)
		return EXIT_STATUS_FAILED;
	return manager_run(o);
}

static int wait_ready(int fd, const char *path)
{
	char line[2048];
	size_t n = 0;
	ssize_t got;

	while (n + 1 < sizeof(line) && (got = read(fd, line + n, sizeof(line) - 1 - n)) > 0)
		n += (size_t)got;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "READY ", strlen("READY ")) != 0) {
		(void)fprintf(stderr, "interlock: not started: %s; `interlock logs` has more\n",
			n > 0 ? line + strcspn(line, " ") : " the manager ended without a word");
		return EXIT_STATUS_FAILED;
	}
	printf("Interlock runs in the background for %s (%s)\n", path, line + strlen("READY "));
	return EXIT_STATUS_OK;
}

static int start_daemon(const struct workspace *w, struct manager_options *o)
{
	int ready[2];
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return EXIT_STATUS_FAILED;
	pid = fork();
	if (pid < 0) {
		(void)fprintf(stderr, "interlock: fork: %s\n", strerror(errno));
		return EXIT_STATUS_FAILED;
	}
	if (pid == 0) {
		(void)close(ready[0]);
		o->ready_fd = ready[1];
		_exit(run_daemon(w, o));
	}
	(void)close(ready[1]);
	return wait_ready(ready[0], w->path);
}

int cmd_start(int argc, char **argv)
{
	auto_workspace struct workspace w = WORKSPACE_NONE;
	struct start_options o = { 0 };
	auto_free char *config = NULL;
	struct manager_options m;
	int r = parse(argc, argv, &o);

	config = o.config;
	if (r != 0)
		return r;
	if (workspace_open(o.name, &w) != 0 || refuse_second(&w) != 0 ||
		make_trusted(&w, o.trust) != 0)
		return EXIT_STATUS_FAILED;
	log_open("interlock", o.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_NOTICE);
	m = (struct manager_options){ .workspace = w.path,
		.config = config,
		.state_fd = w.state_fd,
		.state_path = w.state_path,
		.ready_fd = -1,
		.verbose = o.verbose };
	if (o.daemon)
		return start_daemon(&w, &m);
	m.ready_fd = dup(STDOUT_FILENO);
	return manager_run(&m);
}
