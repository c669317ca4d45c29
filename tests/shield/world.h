/*
 * A small world for the tests of shield: one project of one user, judged under
 * the preset `default` with every guarantee proved, unless a test says otherwise.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/attr.h"
#include "shield/shield.h"
#include "tests/support/cmocka.h"

#define HOME	  "/home/dev"
#define WORKSPACE "/home/dev/work/app"

struct world {
	struct arena arena;
	struct il_policy *policy;
	struct il_judge_enforcer enforcer;
	struct il_flow flow;
	struct il_context context;
	struct il_action action;
	struct il_analysis analysis;
	const struct il_fact *facts;
	size_t n_facts;
};

static inline void world_init(struct world *w, const char *extra)
{
	struct il_policy_source sources[2] = { { .name = "preset:default" },
		{ .name = "extra", .text = extra, .n_text = extra ? strlen(extra) : 0 } };
	struct diag diag = { 0 };
	size_t bad;

	*w = (struct world){ 0 };
	arena_init(&w->arena, (size_t)256 << 20);
	sources[0].text = il_policy_preset("default", &sources[0].n_text);
	assert_int_equal(il_policy_load(sources, extra ? 2 : 1, &w->policy, &bad, &diag), 0);
	w->enforcer = (struct il_judge_enforcer){ .filesystem = true, .network = true,
		.net_hosts = true, .hide = true, .armed_readonly = true, .processes = true };
	w->context = (struct il_context){ .policy = w->policy, .flow = &w->flow,
		.enforcer = &w->enforcer, .can_ask = true, .state_dir = HOME "/.local/state/interlock/x",
		.config_dir = HOME "/.config/interlock", .program_dir = "/usr/libexec/interlock",
		.origin = "agent" };
	w->action = (struct il_action){ .cwd = WORKSPACE, .workspace = WORKSPACE, .home = HOME };
}

static inline void world_done(struct world *w)
{
	w->policy = il_policy_unref(w->policy);
	arena_done(&w->arena);
}

static inline struct il_verdict world_judge(struct world *w, const char *type, const char *json)
{
	struct il_verdict v = { 0 };
	struct diag diag = { 0 };

	arena_reset(&w->arena);
	w->action.type = type;
	assert_int_equal(
		value_from_json(&w->arena, json, strlen(json), &w->action.payload, &diag), 0);
	assert_int_equal(il_analyse(&w->arena, &w->action, &w->analysis), 0);
	il_judge(&w->arena, &w->analysis, w->facts, w->n_facts, &w->context, &v);
	return v;
}

static inline struct il_verdict world_command(struct world *w, const char *command)
{
	struct il_verdict v = { 0 };
	struct value *payload;

	arena_reset(&w->arena);
	payload = value_map(&w->arena, 1);
	assert_int_equal(value_put(payload, "command",
				 value_text(&w->arena, command, strlen(command))),
		0);
	w->action.type = "execute_command";
	w->action.payload = payload;
	assert_int_equal(il_analyse(&w->arena, &w->action, &w->analysis), 0);
	il_judge(&w->arena, &w->analysis, w->facts, w->n_facts, &w->context, &v);
	return v;
}

static inline bool has_finding(const struct il_verdict *v, const char *id)
{
	for (size_t i = 0; i < v->n_findings; i++) {
		if (strncmp(v->findings[i].id, id, strlen(id)) == 0)
			return true;
	}
	return false;
}
