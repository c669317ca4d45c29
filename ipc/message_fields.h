/*
 * The fields of each message: one array a message, ended by a nameless one. Only
 * message_table.c and the tests read them.
 */
#pragma once

#include "ipc/message.h"

extern const struct message_field fields_none[], fields_hello[], fields_welcome[], fields_canary[],
	fields_error[], fields_chunk[], fields_credit[], fields_propose[], fields_evaluate[],
	fields_event[], fields_result[], fields_verdict[], fields_process[], fields_tool_result[],
	fields_tool_defs[], fields_reason[], fields_llm_token[], fields_tool_proposal[],
	fields_groups[], fields_content[], fields_response_complete[], fields_agent_error[],
	fields_model_call[], fields_model_end[], fields_task[], fields_task_complete[],
	fields_task_failed[], fields_judge[], fields_judgement[], fields_send_message[],
	fields_replay[], fields_subscribe[], fields_status_info[], fields_shield_info[],
	fields_sessions[], fields_session_list[], fields_session_new[], fields_session_info[],
	fields_session_delete[], fields_history[], fields_history_page[], fields_approval_list[],
	fields_approval_answer[], fields_why[], fields_why_info[], fields_audit_query[],
	fields_audit_page[], fields_audit_state[], fields_chronicle_list[], fields_chronicle_page[],
	fields_chronicle_one[], fields_chronicle_changes[], fields_chronicle_rollback[],
	fields_chronicle_state[], fields_command_list[], fields_command_logs[],
	fields_command_output[], fields_command_kill[], fields_token_create[], fields_token[],
	fields_connect[], fields_fetch[], fields_fetch_head[], fields_fetch_end[], fields_ok[];
