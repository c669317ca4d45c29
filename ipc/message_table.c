#include "ipc/message_fields.h"

#define AGENT     ROLE_BIT(ROLE_AGENT)
#define SUB_AGENT ROLE_BIT(ROLE_SUB_AGENT)
#define JUDGE     ROLE_BIT(ROLE_JUDGE)
#define CLIENT    ROLE_BIT(ROLE_CLIENT)
#define APPROVER  ROLE_BIT(ROLE_APPROVER)
#define WORKER    ROLE_BIT(ROLE_WORKER)
#define ENGINE    ROLE_BIT(ROLE_ENGINE)

#define AGENTS  (AGENT | SUB_AGENT)
#define CLIENTS (CLIENT | APPROVER)
#define PEERS   (AGENTS | JUDGE | CLIENTS | WORKER)

/* Which opening messages a continuing or ending one belongs to. */
#define WITHIN(...) ((const enum message_kind[]){ __VA_ARGS__, MESSAGE_NONE })
#define ANY_STREAM  NULL

/* What the rows of the common cases share: opened by a peer, ended by the engine's one answer. */
#define ASKED_BY(roles, per_second_, body_)                                                        \
	.senders = (roles), .state = MESSAGE_STATE_READY, .place = MESSAGE_OPENS,                  \
	.per_second = (per_second_), .fields = fields_##body_
#define ANSWERS(to, body_)                                                                         \
	.senders = ENGINE, .state = MESSAGE_STATE_READY, .place = MESSAGE_ENDS,                    \
	.within = WITHIN(MESSAGE_##to), .fields = fields_##body_
#define PART_OF(roles, place_, within_, body_)                                                     \
	.senders = (roles), .state = MESSAGE_STATE_READY, .place = MESSAGE_##place_,               \
	.within = (within_), .fields = fields_##body_

#define ANSWERING WITHIN(MESSAGE_PROPOSE, MESSAGE_SEND_MESSAGE, MESSAGE_REPLAY, MESSAGE_SUBSCRIBE)
#define BULK                                                                                       \
	WITHIN(MESSAGE_PROPOSE, MESSAGE_TOOL_PROPOSAL, MESSAGE_MODEL_CALL, MESSAGE_COMMAND_LOGS,   \
		MESSAGE_FETCH)
#define THINKING WITHIN(MESSAGE_PROCESS)
#define ON_TASK  WITHIN(MESSAGE_TASK)

/* clang-format off */
const struct message_type message_types[MESSAGE_N_] = {
	[MESSAGE_NONE] = { .name = "", .fields = fields_none },
	[MESSAGE_HELLO] = { .name = "hello", .senders = PEERS, .state = MESSAGE_STATE_HELLO,
		.place = MESSAGE_ON_CONNECTION, .most = 1, .fields = fields_hello },
	[MESSAGE_WELCOME] = { .name = "welcome", .senders = ENGINE, .state = MESSAGE_STATE_HELLO,
		.place = MESSAGE_ON_CONNECTION, .most = 1, .fields = fields_welcome },
	[MESSAGE_CANARY] = { .name = "canary", .senders = AGENTS | JUDGE, .state = MESSAGE_STATE_CANARY,
		.place = MESSAGE_ON_CONNECTION, .most = 1, .fields = fields_canary },
	[MESSAGE_ERROR] = { .name = "error", .senders = ENGINE, .state = MESSAGE_STATE_READY,
		.place = MESSAGE_ANYWHERE, .fields = fields_error },
	[MESSAGE_OK] = { .name = "ok", PART_OF(ENGINE | AGENTS | JUDGE, ENDS, ANY_STREAM, ok) },
	[MESSAGE_CHUNK] = { .name = "chunk", PART_OF(ENGINE | WORKER, CONTINUES, BULK, chunk) },
	[MESSAGE_CREDIT] = { .name = "credit", PART_OF(PEERS | ENGINE, CONTINUES, BULK, credit) },
	[MESSAGE_CANCEL] = { .name = "cancel", PART_OF(PEERS | ENGINE, CONTINUES, ANY_STREAM, none) },

	[MESSAGE_PROPOSE] = { .name = "propose", .is_work = true, ASKED_BY(AGENT | CLIENTS, 500, propose) },
	[MESSAGE_EVALUATE] = { .name = "evaluate", ASKED_BY(CLIENTS, 0, evaluate) },
	[MESSAGE_EVENT] = { .name = "event", PART_OF(ENGINE, CONTINUES, ANSWERING, event) },
	[MESSAGE_RESULT] = { .name = "result", ANSWERS(PROPOSE, result) },
	[MESSAGE_VERDICT] = { .name = "verdict", ANSWERS(EVALUATE, verdict) },

	[MESSAGE_PROCESS] = { .name = "process", ASKED_BY(ENGINE, 0, process) },
	[MESSAGE_TOOL_RESULT] = { .name = "tool_result", ANSWERS(TOOL_PROPOSAL, tool_result) },
	[MESSAGE_TOOL_DEFS] = { .name = "tool_defs", ANSWERS(TOOL_DEFS_REQUEST, tool_defs) },
	[MESSAGE_SHUTDOWN] = { .name = "shutdown", ASKED_BY(ENGINE | CLIENTS, 5, reason) },

	[MESSAGE_LLM_TOKEN] = { .name = "llm_token", PART_OF(AGENT, CONTINUES, THINKING, llm_token) },
	[MESSAGE_TOOL_PROPOSAL] = { .name = "tool_proposal", .is_work = true,
		ASKED_BY(AGENTS, 200, tool_proposal) },
	[MESSAGE_TOOL_DEFS_REQUEST] = { .name = "tool_defs_request", ASKED_BY(AGENT, 10, groups) },
	[MESSAGE_MEMORY_FLUSH] = { .name = "memory_flush", .per_second = 2,
		PART_OF(AGENT, CONTINUES, THINKING, content) },
	[MESSAGE_RESPONSE_COMPLETE] = { .name = "response_complete",
		PART_OF(AGENT, ENDS, THINKING, response_complete) },
	[MESSAGE_AGENT_ERROR] = { .name = "agent_error", PART_OF(AGENT, ENDS, THINKING, agent_error) },
	[MESSAGE_MODEL_CALL] = { .name = "model_call", .is_work = true,
		ASKED_BY(AGENTS | JUDGE, 20, model_call) },
	[MESSAGE_MODEL_END] = { .name = "model_end", ANSWERS(MODEL_CALL, model_end) },

	[MESSAGE_TASK] = { .name = "task", ASKED_BY(ENGINE, 0, task) },
	[MESSAGE_TASK_MESSAGE] = { .name = "task_message", PART_OF(ENGINE, CONTINUES, ON_TASK, content) },
	[MESSAGE_TASK_COMPLETE] = { .name = "task_complete", PART_OF(SUB_AGENT, ENDS, ON_TASK, task_complete) },
	[MESSAGE_TASK_FAILED] = { .name = "task_failed", PART_OF(SUB_AGENT, ENDS, ON_TASK, task_failed) },
	[MESSAGE_JUDGE] = { .name = "judge", ASKED_BY(ENGINE, 0, judge) },
	[MESSAGE_JUDGEMENT] = { .name = "judgement",
		PART_OF(JUDGE, ENDS, WITHIN(MESSAGE_JUDGE), judgement) },

	[MESSAGE_SEND_MESSAGE] = { .name = "send_message", ASKED_BY(CLIENTS, 20, send_message) },
	[MESSAGE_REPLAY] = { .name = "replay", ASKED_BY(CLIENTS, 5, replay) },
	[MESSAGE_SUBSCRIBE] = { .name = "subscribe", ASKED_BY(CLIENTS, 10, subscribe) },
	[MESSAGE_STATUS] = { .name = "status", ASKED_BY(CLIENTS, 100, none) },
	[MESSAGE_STATUS_INFO] = { .name = "status_info", ANSWERS(STATUS, status_info) },
	[MESSAGE_HEALTH] = { .name = "health", ASKED_BY(CLIENTS, 0, none) },
	[MESSAGE_SHIELD_STATUS] = { .name = "shield_status", ASKED_BY(CLIENTS, 100, none) },
	[MESSAGE_SHIELD_INFO] = { .name = "shield_info", ANSWERS(SHIELD_STATUS, shield_info) },
	[MESSAGE_SESSIONS] = { .name = "sessions", ASKED_BY(CLIENTS, 50, sessions) },
	[MESSAGE_SESSION_LIST] = { .name = "session_list", ANSWERS(SESSIONS, session_list) },
	[MESSAGE_SESSION_NEW] = { .name = "session_new", ASKED_BY(CLIENTS, 20, session_new) },
	[MESSAGE_SESSION_INFO] = { .name = "session_info", ANSWERS(SESSION_NEW, session_info) },
	[MESSAGE_SESSION_DELETE] = { .name = "session_delete", ASKED_BY(CLIENTS, 20, session_delete) },
	[MESSAGE_HISTORY] = { .name = "history", ASKED_BY(CLIENTS, 50, history) },
	[MESSAGE_HISTORY_PAGE] = { .name = "history_page", ANSWERS(HISTORY, history_page) },
	[MESSAGE_APPROVALS] = { .name = "approvals", ASKED_BY(CLIENTS, 100, none) },
	[MESSAGE_APPROVAL_LIST] = { .name = "approval_list", ANSWERS(APPROVALS, approval_list) },
	[MESSAGE_APPROVAL_ANSWER] = { .name = "approval_answer", ASKED_BY(APPROVER, 10, approval_answer) },
	[MESSAGE_WHY] = { .name = "why", ASKED_BY(CLIENTS, 20, why) },
	[MESSAGE_WHY_INFO] = { .name = "why_info", ANSWERS(WHY, why_info) },
	[MESSAGE_AUDIT_QUERY] = { .name = "audit_query", ASKED_BY(CLIENTS, 50, audit_query) },
	[MESSAGE_AUDIT_PAGE] = { .name = "audit_page", ANSWERS(AUDIT_QUERY, audit_page) },
	[MESSAGE_AUDIT_VERIFY] = { .name = "audit_verify", ASKED_BY(CLIENTS, 2, none) },
	[MESSAGE_AUDIT_STATE] = { .name = "audit_state", ANSWERS(AUDIT_VERIFY, audit_state) },
	[MESSAGE_CHRONICLE_LIST] = { .name = "chronicle_list", ASKED_BY(CLIENTS, 50, chronicle_list) },
	[MESSAGE_CHRONICLE_PAGE] = { .name = "chronicle_page", ANSWERS(CHRONICLE_LIST, chronicle_page) },
	[MESSAGE_CHRONICLE_DIFF] = { .name = "chronicle_diff", ASKED_BY(CLIENTS, 20, chronicle_one) },
	[MESSAGE_CHRONICLE_CHANGES] = { .name = "chronicle_changes", .senders = ENGINE,
		.state = MESSAGE_STATE_READY, .place = MESSAGE_ENDS,
		.within = WITHIN(MESSAGE_CHRONICLE_DIFF, MESSAGE_CHRONICLE_ROLLBACK),
		.fields = fields_chronicle_changes },
	[MESSAGE_CHRONICLE_ROLLBACK] = { .name = "chronicle_rollback", .is_work = true,
		ASKED_BY(CLIENTS, 5, chronicle_rollback) },
	[MESSAGE_CHRONICLE_VERIFY] = { .name = "chronicle_verify", ASKED_BY(CLIENTS, 2, none) },
	[MESSAGE_CHRONICLE_STATE] = { .name = "chronicle_state", ANSWERS(CHRONICLE_VERIFY, chronicle_state) },
	[MESSAGE_COMMANDS] = { .name = "commands", ASKED_BY(CLIENTS, 50, none) },
	[MESSAGE_COMMAND_LIST] = { .name = "command_list", ANSWERS(COMMANDS, command_list) },
	[MESSAGE_COMMAND_LOGS] = { .name = "command_logs", ASKED_BY(CLIENTS, 50, command_logs) },
	[MESSAGE_COMMAND_OUTPUT] = { .name = "command_output", ANSWERS(COMMAND_LOGS, command_output) },
	[MESSAGE_COMMAND_KILL] = { .name = "command_kill", ASKED_BY(CLIENTS, 50, command_kill) },
	[MESSAGE_TOKEN_CREATE] = { .name = "token_create", ASKED_BY(CLIENTS, 5, token_create) },
	[MESSAGE_TOKEN] = { .name = "token", ANSWERS(TOKEN_CREATE, token) },
	[MESSAGE_PAUSE] = { .name = "pause", ASKED_BY(CLIENTS, 10, reason) },
	[MESSAGE_RESUME] = { .name = "resume", ASKED_BY(CLIENTS, 10, none) },
	[MESSAGE_PANIC] = { .name = "panic", ASKED_BY(CLIENTS, 0, reason) },
	[MESSAGE_RESTART] = { .name = "restart", ASKED_BY(CLIENTS, 5, reason) },
	[MESSAGE_RELOAD] = { .name = "reload", ASKED_BY(CLIENTS, 5, none) },

	[MESSAGE_CONNECT] = { .name = "connect", .is_work = true, ASKED_BY(WORKER, 200, connect) },
	[MESSAGE_CONNECTED] = { .name = "connected", ANSWERS(CONNECT, none) },
	[MESSAGE_FETCH] = { .name = "fetch", ASKED_BY(ENGINE, 0, fetch) },
	[MESSAGE_FETCH_HEAD] = { .name = "fetch_head",
		PART_OF(WORKER, CONTINUES, WITHIN(MESSAGE_FETCH), fetch_head) },
	[MESSAGE_FETCH_END] = { .name = "fetch_end",
		PART_OF(WORKER, ENDS, WITHIN(MESSAGE_FETCH), fetch_end) },
};
/* clang-format on */
