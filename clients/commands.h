/*
 * The commands of `interlock`. Each is cmd_NAME.c with one function: argv[0] is the
 * command's name, the result an exit status of base/exit.h. Messages for people go
 * to stderr, results to stdout.
 */
#pragma once

int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_chronicle(int argc, char **argv);
int cmd_approvals(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_control(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_propose(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_logs(int argc, char **argv);
int cmd_sandbox(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_start(int argc, char **argv);
int cmd_stop(int argc, char **argv);

/* `interlock internal-engine ...` and friends: replaced by the libexec program. */
int cmd_internal(int argc, char **argv);
