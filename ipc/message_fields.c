#include "ipc/message_fields.h"

#define SMALL  UINT64_C(64)
#define LINE   UINT64_C(512)
#define PATH   UINT64_C(4096)
#define LARGE  UINT64_C(65536)
#define WHOLE  UINT64_C(1048576) /* the frame's own limit comes first */
#define NUMBER UINT64_C(0x7fffffffffffffff)
#define MANY   UINT64_C(4096)

#define LABELS   "public internal confidential restricted critical"
#define STATUSES "executed denied needs_approval failed cancelled interrupted"
#define MODES    "normal otr heartbeat"

#define NEED(name_, type_, max_)                                                                   \
	{                                                                                          \
		.name = (name_), .type = MESSAGE_FIELD_##type_, .required = true, .max = (max_)    \
	}
#define MAY(name_, type_, max_)                                                                    \
	{                                                                                          \
		.name = (name_), .type = MESSAGE_FIELD_##type_, .max = (max_)                      \
	}
#define NEED_WORD(name_, words_)                                                                   \
	{                                                                                          \
		.name = (name_), .type = MESSAGE_FIELD_WORD, .required = true, .words = (words_)   \
	}
#define MAY_WORD(name_, words_)                                                                    \
	{                                                                                          \
		.name = (name_), .type = MESSAGE_FIELD_WORD, .words = (words_)                     \
	}
#define END                                                                                        \
	{                                                                                          \
		.name = NULL                                                                       \
	}
#define FIELDS(of) const struct message_field fields_##of[] =

/* clang-format off */
FIELDS(none) { END };

FIELDS(hello) {
	NEED("protocol", UINT, 65535),
	NEED_WORD("role", "agent sub_agent judge client approver worker"),
	NEED("token", TEXT, SMALL),
	MAY("program", TEXT, SMALL),
	END };
FIELDS(welcome) {
	NEED("protocol", UINT, 65535), NEED("connection", UINT, NUMBER),
	MAY("session", TEXT, SMALL), MAY("workspace", TEXT, PATH), MAY("policy_hash", TEXT, SMALL),
	MAY("limits", MAP, 32),
	END };
FIELDS(canary) { NEED("report", TEXT, LARGE), END };
FIELDS(error) {
	NEED("name", TEXT, SMALL), NEED("message", TEXT, LINE), MAY("field", TEXT, SMALL),
	MAY("unavailable", BOOL, 0),
	END };
FIELDS(ok) { MAY("detail", TEXT, LINE), MAY("data", MAP, MANY), END };
FIELDS(chunk) {
	NEED_WORD("channel", "stdout stderr result"), NEED("data", BYTES, LARGE), NEED("at", UINT, NUMBER),
	END };
FIELDS(credit) { NEED("bytes", UINT, 16 * WHOLE), END };

FIELDS(propose) {
	NEED("type", TEXT, SMALL), NEED("payload", MAP, SMALL),
	MAY("session", TEXT, SMALL), MAY("cwd", TEXT, PATH), MAY_WORD("label", LABELS),
	MAY("wait", BOOL, 0),
	END };
FIELDS(evaluate) {
	NEED("type", TEXT, SMALL), NEED("payload", MAP, SMALL),
	MAY("session", TEXT, SMALL), MAY("cwd", TEXT, PATH), MAY_WORD("label", LABELS),
	MAY("explain", BOOL, 0),
	END };
FIELDS(event) {
	NEED("type", TEXT, SMALL), NEED("data", MAP, SMALL),
	MAY("session", TEXT, SMALL), MAY("message", TEXT, SMALL), MAY("action", UINT, NUMBER),
	MAY("lost", UINT, NUMBER), MAY("time_ns", UINT, NUMBER),
	END };
FIELDS(result) {
	NEED_WORD("status", STATUSES), NEED("content", TEXT, WHOLE),
	MAY("action", UINT, NUMBER), MAY("action_hash", TEXT, SMALL), MAY("verdict", MAP, SMALL),
	MAY("data", MAP, MANY), MAY("truncated_at", UINT, NUMBER), MAY("exit_status", INT, 0),
	MAY_WORD("label", LABELS), MAY("snapshot", TEXT, 128), MAY("approval", TEXT, 128),
	MAY("attestation", MAP, SMALL), MAY("error", TEXT, LINE),
	END };
FIELDS(verdict) {
	NEED_WORD("decision", "allow ask deny"), NEED("tier", UINT, 3), NEED("reason", TEXT, PATH),
	MAY("rule", TEXT, LINE), MAY("step", TEXT, SMALL), MAY("confidence", UINT, 100),
	MAY("action_hash", TEXT, SMALL), MAY("policy_hash", TEXT, SMALL), MAY("grant", MAP, SMALL),
	MAY("grant_hash", TEXT, SMALL), MAY("effects", MAPS, MANY), MAY("expires_ms", UINT, NUMBER),
	MAY("data", MAP, SMALL),
	END };

FIELDS(process) {
	NEED("session", TEXT, SMALL), NEED("message", TEXT, SMALL), NEED("content", TEXT, WHOLE),
	NEED_WORD("mode", MODES), MAY("source", TEXT, SMALL), MAY("history", MAPS, MANY),
	MAY("transcript", MAPS, MANY), MAY("system", TEXT, LARGE),
	END };
FIELDS(tool_result) {
	NEED("call", TEXT, 128), NEED("content", TEXT, WHOLE), NEED("is_error", BOOL, 0),
	NEED_WORD("status", STATUSES), MAY_WORD("label", LABELS), MAY("data", MAP, MANY),
	END };
FIELDS(tool_defs) { NEED("tools", MAPS, 512), END };
FIELDS(reason) { MAY("reason", TEXT, LINE), END };

FIELDS(llm_token) { NEED("text", TEXT, LARGE), END };
FIELDS(tool_proposal) {
	NEED("process", UINT, NUMBER), NEED("call", TEXT, 128), NEED("tool", TEXT, SMALL),
	NEED("arguments", MAP, SMALL), MAY_WORD("label", LABELS),
	END };
FIELDS(groups) { NEED("groups", TEXTS, 64), END };
FIELDS(content) { NEED("content", TEXT, LARGE), END };
FIELDS(response_complete) {
	NEED("content", TEXT, WHOLE), MAY("thoughts", MAPS, 256), MAY("usage", MAP, 16),
	END };
FIELDS(agent_error) {
	NEED("code", TEXT, SMALL), NEED("message", TEXT, PATH), NEED("recoverable", BOOL, 0),
	END };
FIELDS(model_call) {
	NEED("process", UINT, NUMBER), NEED("purpose", TEXT, SMALL), NEED("body", TEXT, WHOLE),
	MAY("streaming", BOOL, 0),
	END };
FIELDS(model_end) {
	NEED("status", UINT, 999), MAY("error", TEXT, LINE), MAY("usage", MAP, 16),
	END };

FIELDS(task) {
	NEED("name", TEXT, SMALL), NEED("task", TEXT, LARGE), NEED("tools", MAPS, 512),
	MAY("system", TEXT, LARGE), MAY("model", TEXT, 128), MAY("max_llm_calls", UINT, 1000),
	MAY("transcript", MAPS, MANY),
	END };
FIELDS(task_complete) { NEED("result", TEXT, WHOLE), MAY("usage", MAP, 16), END };
FIELDS(task_failed) { NEED("error", TEXT, PATH), END };
FIELDS(judge) {
	NEED("type", TEXT, SMALL), NEED("payload", MAP, SMALL), NEED("effects", MAPS, MANY),
	MAY("context", TEXT, LARGE),
	END };
FIELDS(judgement) {
	NEED_WORD("decision", "allow ask deny"), NEED("confidence", UINT, 100), NEED("reason", TEXT, PATH),
	END };

FIELDS(send_message) {
	NEED("content", TEXT, WHOLE), MAY("session", TEXT, SMALL), MAY_WORD("mode", MODES),
	MAY("source", TEXT, SMALL),
	END };
FIELDS(replay) {
	NEED("transcript", MAPS, MANY), MAY("session", TEXT, SMALL), MAY_WORD("mode", MODES),
	END };
FIELDS(subscribe) { MAY("types", TEXTS, 64), MAY("session", TEXT, SMALL), END };
FIELDS(status_info) {
	NEED("engine", MAP, SMALL), MAY("agent", MAP, SMALL), MAY("sandbox", MAP, SMALL),
	MAY("web", MAP, SMALL), MAY("sessions", MAP, SMALL), MAY("manager", MAP, SMALL),
	MAY("policy", MAP, SMALL), MAY("audit", MAP, SMALL), MAY("chronicle", MAP, SMALL),
	END };
FIELDS(shield_info) { NEED("shield", MAP, SMALL), END };
FIELDS(sessions) { MAY("limit", UINT, 1000), MAY("query", TEXT, LINE), MAY("before_ns", UINT, NUMBER), END };
FIELDS(session_list) { NEED("sessions", MAPS, 1000), END };
FIELDS(session_new) { MAY("title", TEXT, 256), MAY_WORD("mode", MODES), END };
FIELDS(session_info) { NEED("session", TEXT, SMALL), NEED_WORD("mode", MODES), MAY("title", TEXT, 256), END };
FIELDS(session_delete) { NEED("session", TEXT, SMALL), END };
FIELDS(history) { NEED("session", TEXT, SMALL), MAY("limit", UINT, 1000), MAY("before", TEXT, SMALL), END };
FIELDS(history_page) { NEED("messages", MAPS, 1000), NEED("more", BOOL, 0), END };
FIELDS(approval_list) { NEED("approvals", MAPS, 256), END };
FIELDS(approval_answer) {
	NEED("approval", TEXT, 128), NEED("approve", BOOL, 0), MAY("action_hash", TEXT, SMALL),
	MAY("reason", TEXT, LINE),
	END };
FIELDS(why) { MAY("action", UINT, NUMBER), END };
FIELDS(why_info) { NEED("text", TEXT, LARGE), MAY("entry", MAP, 256), MAY("would_allow", MAPS, 64), END };
FIELDS(audit_query) {
	MAY("after", UINT, NUMBER), MAY("limit", UINT, 1000), MAY("session", TEXT, SMALL),
	MAY("types", TEXTS, 64), MAY("newest", BOOL, 0),
	END };
FIELDS(audit_page) { NEED("entries", MAPS, 1000), NEED("more", BOOL, 0), END };
FIELDS(audit_state) { NEED("intact", BOOL, 0), NEED("entries", UINT, NUMBER), MAY("detail", TEXT, LINE), END };
FIELDS(chronicle_list) { MAY("limit", UINT, 1000), MAY("before", TEXT, 128), MAY("action", UINT, NUMBER), END };
FIELDS(chronicle_page) { NEED("snapshots", MAPS, 1000), NEED("more", BOOL, 0), END };
FIELDS(chronicle_one) { NEED("snapshot", TEXT, 128), END };
FIELDS(chronicle_changes) { NEED("changes", MAPS, MANY), MAY("more", BOOL, 0), END };
FIELDS(chronicle_rollback) {
	NEED("snapshot", TEXT, 128), MAY("paths", TEXTS, 1000), MAY("dry_run", BOOL, 0), MAY("force", BOOL, 0),
	END };
FIELDS(chronicle_state) { NEED("intact", BOOL, 0), NEED("objects", UINT, NUMBER), MAY("detail", TEXT, LINE), END };
FIELDS(command_list) { NEED("commands", MAPS, 1000), END };
FIELDS(command_logs) { NEED("command", TEXT, 128), MAY("after", UINT, NUMBER), MAY("follow", BOOL, 0), END };
FIELDS(command_output) {
	NEED("running", BOOL, 0), NEED("next", UINT, NUMBER), MAY("exit_status", INT, 0),
	END };
FIELDS(command_kill) { NEED("command", TEXT, 128), MAY_WORD("signal", "term kill int"), END };
FIELDS(token_create) { NEED_WORD("role", "agent"), MAY("seconds", UINT, 86400), MAY("name", TEXT, SMALL), END };
FIELDS(token) { NEED("token", TEXT, SMALL), NEED("seconds", UINT, 86400), NEED("socket", TEXT, PATH), END };

FIELDS(connect) { NEED("host", TEXT, 253), NEED("port", UINT, 65535), END };
FIELDS(fetch) {
	NEED("host", TEXT, 253), NEED("method", TEXT, 16), NEED("target", TEXT, PATH),
	NEED("headers", MAP, SMALL), NEED("body", BYTES, WHOLE), MAY("streaming", BOOL, 0),
	END };
FIELDS(fetch_head) { NEED("status", UINT, 999), NEED("headers", MAP, 256), END };
FIELDS(fetch_end) { NEED("bytes", UINT, NUMBER), MAY("error", TEXT, LINE), END };
/* clang-format on */
