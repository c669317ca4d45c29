#include "clients/chronicle_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit.h"
#include "base/num.h"

static void usage(FILE *to)
{
	(void)fputs("usage: interlock chronicle list [--session ID] [--path PATH] [--since WHEN] "
		    "[--json]\n"
		    "       interlock chronicle show ID [--json]\n"
		    "       interlock chronicle diff ID [PATH]\n"
		    "       interlock chronicle rollback ID [PATH...] [--to before|after] "
		    "[--dry-run] [--force]\n"
		    "       interlock chronicle undo [--dry-run] [--force]\n"
		    "       interlock chronicle redo [--dry-run] [--force]\n"
		    "       interlock chronicle history PATH [--json]\n"
		    "       interlock chronicle cat ID PATH [--to before|after]\n"
		    "       interlock chronicle verify [--json]\n"
		    "       interlock chronicle prune | forget PATH | stats\n"
		    "\n"
		    "  --workspace NAME  the workspace (else the one the current directory is in)\n"
		    "  --dir DIR         a store by its directory\n"
		    "  WHEN is a time (2026-01-31T12:00:00Z) or an age (2h, 7d).\n"
		    "  ID may be shortened to what is unique, or be \"last\".\n",
		to);
}

static int parse_since(const char *text, int64_t *ret_ns)
{
	uint64_t age_ms = 0;

	if (rfc3339_parse(text, ret_ns) == 0)
		return 0;
	if (num_parse_duration_ms(text, UINT64_C(10) * 365 * 86400 * 1000, &age_ms) != 0)
		return -1;
	*ret_ns = clock_wall_ns(&clock_system) - (int64_t)age_ms * 1000000;
	return 0;
}

static int set_option(struct chronicle_command *c, int option, const char *value)
{
	switch (option) {
	case 'w':
		c->workspace = value;
		return 0;
	case 'd':
		c->dir = value;
		return 0;
	case 's':
		c->session = value;
		return 0;
	case 'p':
		c->path = value;
		return 0;
	case 'S':
		return parse_since(value, &c->since_ns);
	case 't':
		c->side_set = true;
		c->side = strcmp(value, "after") == 0 ? IL_SIDE_AFTER : IL_SIDE_BEFORE;
		return strcmp(value, "after") == 0 || strcmp(value, "before") == 0 ? 0 : -1;
	case 'j':
		c->json = true;
		return 0;
	case 'n':
		c->dry_run = true;
		return 0;
	case 'f':
		c->force = true;
		return 0;
	default:
		return -1;
	}
}

/* How many words each command takes: least, most (-1: any). */
static const struct {
	const char *name;
	int least, most;
	bool has_id;
} subs[] = {
	{ "list", 0, 0, false },
	{ "show", 1, 1, true },
	{ "diff", 1, 2, true },
	{ "rollback", 1, -1, true },
	{ "undo", 0, 0, false },
	{ "redo", 0, 0, false },
	{ "history", 1, 1, false },
	{ "cat", 2, 2, true },
	{ "verify", 0, 0, false },
	{ "prune", 0, 0, false },
	{ "forget", 1, 1, false },
	{ "stats", 0, 0, false },
};

static int set_words(struct chronicle_command *c, int argc, char **argv)
{
	for (size_t i = 0; i < N_ELEMENTS(subs); i++) {
		if (argc < 1 || strcmp(subs[i].name, argv[0]) != 0)
			continue;
		if (argc - 1 < subs[i].least || (subs[i].most >= 0 && argc - 1 > subs[i].most))
			break;
		c->sub = subs[i].name;
		argv++;
		argc--;
		if (subs[i].has_id) {
			c->id = argv[0];
			argv++;
			argc--;
		}
		c->paths = (const char *const *)argv;
		c->n_paths = (size_t)argc;
		return 0;
	}
	usage(stderr);
	return EXIT_STATUS_USAGE;
}

int chronicle_options_read(int argc, char **argv, struct chronicle_command *ret_command)
{
	static const struct option options[] = {
		{ "workspace", required_argument, NULL, 'w' },
		{ "dir", required_argument, NULL, 'd' },
		{ "session", required_argument, NULL, 's' },
		{ "path", required_argument, NULL, 'p' },
		{ "since", required_argument, NULL, 'S' },
		{ "to", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	optind = 1;
	while ((option = getopt_long(argc, argv, "nfh", options, NULL)) != -1) {
		if (option == 'h') {
			usage(stdout);
			return -1;
		}
		if (set_option(ret_command, option, optarg) != 0) {
			usage(stderr);
			return EXIT_STATUS_USAGE;
		}
	}
	return set_words(ret_command, argc - optind, argv + optind);
}
