/* Recursive and searching file actions, in the program interlock-files under the grant. */
#pragma once

#include "engine/proposal.h"

int exec_files_job(struct proposal *p) MUST_CHECK;
/* list_directory: one level is done here, more by the program. */
int exec_list(struct proposal *p) MUST_CHECK;
/* Kills the program of p, if it runs one. */
void exec_files_cancel(struct proposal *p);
