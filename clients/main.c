/*
 * interlock: the one program that people call. It finds the command in a table
 * and does nothing else itself.
 */
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/exit.h"
#include "clients/commands.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary; /* NULL: not shown by help */
};

/* In the order of `interlock help`. */
static const struct command commands[] = {
	{ "start", cmd_start, "start the engine for a workspace, supervised" },
	{ "stop", cmd_stop, "stop it" },
	{ "status", cmd_status, "show manager, engine, agent and sandbox" },
	{ "attach", cmd_attach, "show every event as it happens" },
	{ "propose", cmd_propose, "send one action through the whole pipeline" },
	{ "replay", cmd_replay, "run a transcript through the confined scripted agent" },
	{ "approvals", cmd_approvals, "show and answer what waits for a person" },
	{ "why", cmd_why, "explain the last refusal and what would have allowed it" },
	{ "pause", cmd_control, "start no new action" },
	{ "resume", cmd_control, "go on" },
	{ "panic", cmd_control, "kill all commands and agents now, keep the record" },
	{ "restart", cmd_control, "start the engine again, keeping sessions" },
	{ "token", cmd_token, "make a single-use token for an agent of yours" },
	{ "doctor", cmd_doctor, "see that everything needed is right, with remedies" },
	{ "list", cmd_list, "show the known workspaces" },
	{ "logs", cmd_logs, "show the log of a workspace" },
	{ "chronicle", cmd_chronicle, "show and take back what was changed" },
	{ "run", cmd_run, "run a command under exactly its grant" },
	{ "audit", cmd_audit, "verify and read the record" },
	{ "check", cmd_check, "say what would be decided about an action" },
	{ "policy", cmd_policy, "show, set, check and import policies" },
	{ "eval", cmd_eval, "measure the decisions over a file of cases" },
	{ "sandbox", cmd_sandbox, "prove what a confined process cannot do here" },
	{ "help", cmd_help, "show this list" },
	{ "version", cmd_version, "show the version" },
	{ "internal-engine", cmd_internal, NULL },
	{ "internal-agent", cmd_internal, NULL },
	{ "internal-sub-agent", cmd_internal, NULL },
	{ "internal-judge", cmd_internal, NULL },
	{ "internal-fetch", cmd_internal, NULL },
	{ "internal-egress", cmd_internal, NULL },
	{ "internal-files", cmd_internal, NULL },
	{ "internal-web", cmd_internal, NULL },
};

int cmd_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("usage: interlock COMMAND [ARGUMENT]...\n");
	for (size_t i = 0; i < N_ELEMENTS(commands); i++) {
		if (commands[i].summary)
			printf("  %-12s %s\n", commands[i].name, commands[i].summary);
	}
	puts("\n`interlock COMMAND --help` shows a command's options; docs/ explains them.");
	return EXIT_STATUS_OK;
}

int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("interlock " INTERLOCK_VERSION);
	return EXIT_STATUS_OK;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "help";

	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0)
		name = "version";
	for (size_t i = 0; i < N_ELEMENTS(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].run(
				argc > 1 ? argc - 1 : argc, argc > 1 ? argv + 1 : argv);
	}
	(void)fprintf(stderr,
		"interlock: there is no command \"%s\"; `interlock help` lists them\n", name);
	return EXIT_STATUS_USAGE;
}
