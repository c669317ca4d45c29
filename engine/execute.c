#include "engine/execute.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/exec_command.h"
#include "engine/exec_file.h"
#include "engine/exec_files_job.h"
#include "engine/exec_git.h"

static const struct executor executors[] = {
	{ "read_file", exec_read_file, NULL },
	{ "write_file", exec_write_file, NULL },
	{ "delete_file", exec_delete_file, NULL },
	{ "move_file", exec_move_file, NULL },
	{ "copy_file", exec_copy_file, NULL },
	{ "create_directory", exec_create_directory, NULL },
	{ "list_directory", NULL, exec_list },
	{ "search_files", NULL, exec_files_job },
	{ "grep_files", NULL, exec_files_job },
	{ "copy_directory", NULL, exec_files_job },
	{ "move_directory", NULL, exec_files_job },
	{ "delete_directory", NULL, exec_files_job },
	{ "execute_command", NULL, exec_command },
	{ "git_status", NULL, exec_git },
	{ "git_diff", NULL, exec_git },
	{ "git_log", NULL, exec_git },
	{ "git_commit", NULL, exec_git },
	{ "git_push", NULL, exec_git },
	{ "git_pull", NULL, exec_git },
	{ "git_branch", NULL, exec_git },
	{ "git_checkout", NULL, exec_git },
	{ "git_clone", NULL, exec_git },
};

const struct executor *executor_find(const char *action)
{
	for (size_t i = 0; i < N_ELEMENTS(executors); i++) {
		if (strcmp(executors[i].action, action) == 0)
			return &executors[i];
	}
	return NULL;
}

void execute_cap(struct proposal *p)
{
	size_t most = p->engine->config.result_bytes;

	if (p->content.size <= most)
		return;
	p->content.size = most;
	p->truncated = true;
	p->truncated_at = most;
	buf_printf(&p->content, "\n[truncated at %zu bytes]", most);
}
