/*
 * interlock-engine: the start-up story of the process that decides, records and acts.
 *
 *	options → hardened → state, stores, recovery, policy, sockets → PORT: → web → agent
 *	→ loop → orderly stop
 */
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/exit.h"
#include "base/log.h"
#include "engine/agent_child.h"
#include "engine/commands.h"
#include "engine/engine.h"
#include "engine/web_child.h"

static int read_options(int argc, char **argv, struct engine_options *o)
{
	static const struct option known[] = { { "workspace", required_argument, NULL, 'w' },
		{ "config", required_argument, NULL, 'c' },
		{ "supervised", no_argument, NULL, 's' }, { "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 } };
	int opt;

	*o = (struct engine_options){ 0 };
	while ((opt = getopt_long(argc, argv, "w:c:sv", known, NULL)) != -1) {
		switch (opt) {
		case 'w':
			o->workspace = optarg;
			break;
		case 'c':
			o->config = optarg;
			break;
		case 's':
			o->supervised = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		default:
			return -EINVAL;
		}
	}
	return o->workspace && optind == argc ? 0 : -EINVAL;
}

/* Nobody of this user reads our memory (keys, tokens), and nothing we start gains rights by a
 * set-uid bit. */
static int harden(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	(void)signal(SIGPIPE, SIG_IGN); /* writes say EPIPE instead */
	return sodium_init() < 0 ? -EIO : 0;
}

int main(int argc, char **argv)
{
	struct engine_options options;
	struct engine e;
	int r;

	if (read_options(argc, argv, &options) != 0) {
		(void)fputs("usage: interlock-engine --workspace DIR [--config FILE] "
			    "[--supervised] [--verbose]\n",
			stderr);
		return EXIT_STATUS_USAGE;
	}
	log_open("engine", options.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_NOTICE);
	r = harden();
	if (r == 0)
		r = engine_open(&e, &options);
	if (r != 0)
		return r == -EBADMSG ? EXIT_STATUS_CONFIG : EXIT_STATUS_FAILED;
	(void)printf("PORT:unix:%s\n", e.engine_socket);
	(void)fflush(stdout); /* a manager that is gone shows on the lifeline */
	commands_probe(&e);
	web_start(&e);
	if (e.config.agent_enabled && agent_start(&e) != 0)
		log_line(LOG_LEVEL_ERROR, "agent-not-started");
	(void)uv_run(&e.loop, UV_RUN_DEFAULT); /* ends when engine_stop() let go */
	engine_close(&e);
	return e.exit_status;
}
