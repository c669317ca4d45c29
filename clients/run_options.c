#include "clients/run_options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/num.h"
#include "net/host.h"

static const char usage_text[] =
	"usage: interlock run [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	"\n"
	"  --tier auto|b|c          how it is confined; auto: the strongest that is proved here\n"
	"  --workspace DIR          the writable place (default: the current directory)\n"
	"  --read, --write, --hide PATH   more places, or a place taken out again\n"
	"  --git commit|readonly    whether the repository's own data may change\n"
	"  --net none|preflight|strict|open   (default none; the reference's `none` is our open)\n"
	"  --allow-host HOST[:PORT] --unix-socket PATH --secret NAME=SOURCE@HOST\n"
	"  --allow-exec NAME|PATH   only these programs   --interpreters allow|deny\n"
	"  --timeout S  --cpu S  --memory SIZE  --pids N  --output-limit SIZE  --file-size SIZE\n"
	"  --env K=V  --pass-env K\n"
	"  --json FILE              the attestation (- for standard output)\n"
	"  --why                    say what was refused, as far as that can be told\n"
	"  --dry-run                show the plan as JSON and run nothing\n";

enum run_option {
	OPTION_TIER = 256,
	OPTION_WORKSPACE,
	OPTION_READ,
	OPTION_WRITE,
	OPTION_HIDE,
	OPTION_GIT,
	OPTION_NET,
	OPTION_HOST,
	OPTION_SOCKET,
	OPTION_SECRET,
	OPTION_EXEC,
	OPTION_INTERPRETERS,
	OPTION_TIMEOUT,
	OPTION_CPU,
	OPTION_MEMORY,
	OPTION_PIDS,
	OPTION_OUTPUT,
	OPTION_FILE_SIZE,
	OPTION_ENV,
	OPTION_PASS_ENV,
	OPTION_TTY,
	OPTION_JSON,
	OPTION_WHY,
	OPTION_DRY_RUN,
	OPTION_HELP,
};

static const struct option options[] = {
	{ "tier", required_argument, NULL, OPTION_TIER },
	{ "workspace", required_argument, NULL, OPTION_WORKSPACE },
	{ "read", required_argument, NULL, OPTION_READ },
	{ "write", required_argument, NULL, OPTION_WRITE },
	{ "hide", required_argument, NULL, OPTION_HIDE },
	{ "git", required_argument, NULL, OPTION_GIT },
	{ "net", required_argument, NULL, OPTION_NET },
	{ "allow-host", required_argument, NULL, OPTION_HOST },
	{ "unix-socket", required_argument, NULL, OPTION_SOCKET },
	{ "secret", required_argument, NULL, OPTION_SECRET },
	{ "allow-exec", required_argument, NULL, OPTION_EXEC },
	{ "interpreters", required_argument, NULL, OPTION_INTERPRETERS },
	{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
	{ "cpu", required_argument, NULL, OPTION_CPU },
	{ "memory", required_argument, NULL, OPTION_MEMORY },
	{ "pids", required_argument, NULL, OPTION_PIDS },
	{ "output-limit", required_argument, NULL, OPTION_OUTPUT },
	{ "file-size", required_argument, NULL, OPTION_FILE_SIZE },
	{ "env", required_argument, NULL, OPTION_ENV },
	{ "pass-env", required_argument, NULL, OPTION_PASS_ENV },
	{ "tty", no_argument, NULL, OPTION_TTY },
	{ "json", required_argument, NULL, OPTION_JSON },
	{ "why", no_argument, NULL, OPTION_WHY },
	{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ 0 },
};

/* The grant's arrays while they grow. */
struct parsing {
	struct run_options *o;
	const char **roots, **sockets, **exec;
	struct grant_path *paths;
	struct grant_host *hosts;
	struct grant_secret *secrets;
	bool net_given;
};

static int complain(const char *what, const char *word)
{
	(void)fprintf(stderr, "interlock run: %s \"%s\" (--help shows the options)\n", what, word);
	return EXIT_STATUS_USAGE;
}

/* A real directory becomes its own root; a file is a name beneath its directory's root. */
static int add_place(struct parsing *p, const char *path, uint32_t rights, bool hide)
{
	struct grant *g = &p->o->grant;
	char real[PATH_MAX];
	char *slash;

	if (!realpath(path, real))
		return complain("there is no", path);
	if (g->n_roots == RUN_LIST_MAX || g->n_paths == RUN_LIST_MAX)
		return complain("too many places at", path);
	slash = strrchr(real, '/');
	/* As a workspace it is refused by the runner, like other places that are too wide. */
	if (slash == real && real[1] == '\0' && g->n_roots > 0)
		return complain("the whole system cannot be a place:", path);
	p->paths[g->n_paths] =
		(struct grant_path){ .root = (uint32_t)g->n_roots, .rights = rights, .hide = hide };
	if (g->n_roots == 0) { /* the workspace */
		p->roots[0] = arena_text(&p->o->memory, real, strlen(real));
		p->paths[0].path = "";
	} else {
		p->paths[g->n_paths].path = arena_text(&p->o->memory, slash + 1, strlen(slash + 1));
		p->roots[g->n_roots] =
			slash == real ? "/"
				      : arena_text(&p->o->memory, real, (size_t)(slash - real));
	}
	if (!p->roots[g->n_roots++] || !p->paths[g->n_paths++].path)
		return complain("no memory for", path);
	return 0;
}

static int take_word(const char *value, const char *const *words, int n, int *ret_word)
{
	for (int i = 0; i < n; i++) {
		if (strcmp(value, words[i]) == 0) {
			*ret_word = i;
			return 0;
		}
	}
	return complain("unknown word", value);
}

static int take_net(struct parsing *p, const char *value)
{
	static const char *const words[] = { "none", "strict", "preflight",
		"open" }; /* of enum grant_net */
	int word = 0;
	int r = take_word(value, words, 4, &word);

	p->o->grant.net = (enum grant_net)word;
	p->net_given = true;
	return r;
}

static int take_host(struct parsing *p, const char *value)
{
	struct grant *g = &p->o->grant;
	char host[HOST_SIZE];
	struct diag diag = { 0 };
	uint16_t port;

	if (g->n_hosts == RUN_LIST_MAX || host_parse(value, host, &port, &diag) != 0)
		return complain(diag.text[0] ? diag.text : "too many hosts at", value);
	p->hosts[g->n_hosts].host = arena_text(&p->o->memory, host, strlen(host));
	p->hosts[g->n_hosts].port = port;
	return p->hosts[g->n_hosts++].host ? 0 : complain("no memory for", value);
}

static int take_secret(struct parsing *p, const char *value)
{
	struct grant *g = &p->o->grant;
	char *text = arena_text(&p->o->memory, value, strlen(value));
	char *source = text ? strchr(text, '=') : NULL;
	char *host = source ? strrchr(source, '@') : NULL;

	if (g->n_secrets == GRANT_SECRETS_MAX || !host)
		return complain("a secret is NAME=SOURCE@HOST, not", value);
	*source++ = '\0';
	*host++ = '\0';
	p->secrets[g->n_secrets++] = (struct grant_secret){ .kind = strcmp(source, "ssh-agent") == 0
									    ? GRANT_SECRET_SSH_AGENT
									    : GRANT_SECRET_ENV,
		.name = text,
		.source = source,
		.host = host };
	return 0;
}

static int take_text(const char **list, size_t *n, const char *value)
{
	if (*n == RUN_LIST_MAX)
		return complain("too many at", value);
	list[(*n)++] = value;
	return 0;
}

static int take_limit(struct grant_limits *l, int option, const char *value)
{
	const uint64_t day_ms = 86400000, tera = UINT64_C(1) << 40;
	int r;

	switch (option) {
	case OPTION_TIMEOUT:
		r = num_parse_duration_ms(value, day_ms, &l->wall_ms);
		break;
	case OPTION_CPU:
		r = num_parse_duration_ms(value, day_ms, &l->cpu_ms);
		break;
	case OPTION_MEMORY:
		r = num_parse_size(value, tera, &l->memory_bytes);
		break;
	case OPTION_PIDS:
		r = num_parse_u64(value, 1, 1 << 22, &l->processes);
		break;
	case OPTION_OUTPUT:
		r = num_parse_size(value, tera, &l->output_bytes);
		break;
	default:
		r = num_parse_size(value, tera, &l->file_size_bytes);
		break;
	}
	return r == 0 ? 0 : complain("not a limit:", value);
}

static int take_choice(struct parsing *p, int option, const char *value)
{
	static const char *const tiers[] = { "auto", "b", "c" },
				 *const gits[] = { "readonly", "commit" },
				 *const answers[] = { "deny", "allow" };
	struct run_options *o = p->o;
	int word = 0, r;

	switch (option) {
	case OPTION_TIER:
		r = take_word(value, tiers, 3, &word);
		o->tier = (enum il_tier)word;
		return r;
	case OPTION_GIT:
		r = take_word(value, gits, 2, &word);
		/* Nothing here holds it yet, and what is not held must not be promised. */
		if (r == 0 && word == GRANT_GIT_READONLY)
			return complain(
				"is not enforced by this build and so refused: --git", value);
		o->grant.git = (enum grant_git)word;
		return r;
	case OPTION_NET:
		return take_net(p, value);
	default:
		r = take_word(value, answers, 2, &word);
		o->grant.interpreters = word == 1;
		return r;
	}
}

static int take_list(struct parsing *p, int option, const char *value)
{
	struct run_options *o = p->o;

	switch (option) {
	case OPTION_READ:
		return add_place(p, value, GRANT_READ | GRANT_EXEC, false);
	case OPTION_WRITE:
		return add_place(p, value, GRANT_WRITABLE, false);
	case OPTION_HIDE:
		return add_place(p, value, 0, true);
	case OPTION_HOST:
		return take_host(p, value);
	case OPTION_SOCKET:
		return take_text(p->sockets, &o->grant.n_unix_sockets, value);
	case OPTION_SECRET:
		return take_secret(p, value);
	case OPTION_EXEC:
		return take_text(p->exec, &o->grant.n_exec, value);
	case OPTION_ENV:
		return take_text(o->env, &o->n_env, value);
	default:
		return take_text(o->pass_env, &o->n_pass_env, value);
	}
}

static int take(struct parsing *p, int option, const char *value)
{
	struct run_options *o = p->o;

	switch (option) {
	case OPTION_WORKSPACE:
		return 0; /* taken in the first pass: it must be the first root */
	case OPTION_TIER:
	case OPTION_GIT:
	case OPTION_NET:
	case OPTION_INTERPRETERS:
		return take_choice(p, option, value);
	case OPTION_TIMEOUT:
	case OPTION_CPU:
	case OPTION_MEMORY:
	case OPTION_PIDS:
	case OPTION_OUTPUT:
	case OPTION_FILE_SIZE:
		return take_limit(&o->grant.limits, option, value);
	case OPTION_TTY:
		o->tty = true;
		return 0;
	case OPTION_JSON:
		o->json_file = value;
		return 0;
	case OPTION_WHY:
		o->why = true;
		return 0;
	case OPTION_DRY_RUN:
		o->dry_run = true;
		return 0;
	case OPTION_HELP:
		(void)fputs(usage_text, stdout);
		return -1;
	case '?':
		return EXIT_STATUS_USAGE;
	default:
		return take_list(p, option, value);
	}
}

static int prepare(struct parsing *p)
{
	struct arena *m = &p->o->memory;
	struct grant *g = &p->o->grant;

	arena_init(m, (size_t)1 << 20);
	p->roots = arena_alloc_array(m, RUN_LIST_MAX, sizeof(*p->roots));
	p->sockets = arena_alloc_array(m, RUN_LIST_MAX, sizeof(*p->sockets));
	p->exec = arena_alloc_array(m, RUN_LIST_MAX, sizeof(*p->exec));
	p->paths = arena_alloc_array(m, RUN_LIST_MAX, sizeof(*p->paths));
	p->hosts = arena_alloc_array(m, RUN_LIST_MAX, sizeof(*p->hosts));
	p->secrets = arena_alloc_array(m, RUN_LIST_MAX, sizeof(*p->secrets));
	if (!p->roots || !p->sockets || !p->exec || !p->paths || !p->hosts || !p->secrets)
		return complain("no memory for", "the grant");
	*g = (struct grant){ .profile = "workspace-write",
		.roots = p->roots,
		.paths = p->paths,
		.hosts = p->hosts,
		.unix_sockets = p->sockets,
		.secrets = p->secrets,
		.exec = p->exec,
		.system_readable = true,
		.may_spawn = true,
		.interpreters = true,
		.armed = GRANT_ARMED_READONLY,
		.git = GRANT_GIT_COMMIT,
		.limits = { .wall_ms = 120000, .output_bytes = 10 << 20 } };
	return 0;
}

int run_options_parse(int argc, char **argv, struct run_options *ret_options)
{
	struct parsing p = { .o = ret_options };
	const char *workspace = ".";
	int option, r = prepare(&p);

	while (r == 0 && (option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option == OPTION_WORKSPACE)
			workspace = optarg;
		r = option == '?' ? EXIT_STATUS_USAGE : 0;
	}
	if (r == 0)
		r = add_place(&p, workspace, GRANT_WRITABLE, false);
	optind = 1;
	while (r == 0 && (option = getopt_long(argc, argv, "+", options, NULL)) != -1)
		r = take(&p, option, optarg);
	if (r != 0)
		return r;
	/* A host that may be reached says that no other may. */
	if (ret_options->grant.n_hosts > 0 && !p.net_given)
		ret_options->grant.net = GRANT_NET_HOSTS;
	ret_options->command = argv + optind;
	ret_options->n_command = (size_t)(argc - optind);
	return argc > optind ? 0 : complain("no command after", argv[0]);
}
