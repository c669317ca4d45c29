/* The single-file actions, each on a thread of the pool. */
#pragma once

#include "engine/proposal.h"

void exec_read_file(struct proposal *p);
void exec_write_file(struct proposal *p);
void exec_delete_file(struct proposal *p);
void exec_move_file(struct proposal *p);
void exec_copy_file(struct proposal *p);
void exec_create_directory(struct proposal *p);
void exec_list_directory(struct proposal *p); /* not recursive */
