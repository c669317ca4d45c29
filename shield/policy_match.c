#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arms.h"
#include "shield/path.h"
#include "shield/policy.h"

static bool is_name_match(const char *pattern, size_t n, const char *host)
{
	size_t n_host = strlen(host);

	if (n > 0 && host[n_host > 0 ? n_host - 1 : 0] == '.')
		n_host--;
	if (n > 2 && pattern[0] == '*' && pattern[1] == '.') {
		pattern++;
		n--;
	}
	if (n == 1 && pattern[0] == '*')
		return true;
	if (n > 1 && pattern[0] == '.')
		return n_host > n && strncasecmp(host + n_host - n, pattern, n) == 0;
	return n_host == n && strncasecmp(host, pattern, n) == 0;
}

bool is_host_match(const char *pattern, const struct texts *dev, const char *host, uint16_t port)
{
	const char *colon = strrchr(pattern, ':');
	size_t n = strlen(pattern);

	/* A last ":digits" is a port, unless the pattern is an IPv6 address or "remote:x". */
	if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
		(strchr(pattern, ':') == colon || colon[-1] == ']')) {
		if (port != 0 && strtoul(colon + 1, NULL, 10) != port)
			return false;
		n = (size_t)(colon - pattern);
	}
	if (n == 10 && strncmp(pattern, "<loopback>", n) == 0)
		return is_host_loopback(host);
	if (n == 10 && strncmp(pattern, "<internal>", n) == 0)
		return is_host_internal(host);
	if (n == 10 && strncmp(pattern, "<metadata>", n) == 0)
		return is_host_metadata(host);
	if (n == 13 && strncmp(pattern, "<development>", n) == 0) {
		for (size_t i = 0; dev && i < dev->n; i++) {
			if (is_host_match(dev->items[i], NULL, host, port))
				return true;
		}
		return false;
	}
	if (pattern[0] == '[' && n > 2 && pattern[n - 1] == ']') {
		pattern++;
		n -= 2;
	}
	return is_name_match(pattern, n, host);
}

static bool is_keyword_match(const struct judgement *j, const char *pattern, const char *path, bool *ret_known)
{
	*ret_known = true;
	if (strcmp(pattern, "<workspace>") == 0)
		return is_path_beneath(path, j->places.workspace, j->analysis->action->case_insensitive);
	if (strcmp(pattern, "<temp>") == 0)
		return is_place_temporary(path);
	if (strcmp(pattern, "<home>") == 0)
		return is_place_home(&j->places, path);
	if (strcmp(pattern, "<system>") == 0)
		return !is_path_beneath(path, j->places.workspace, false) &&
		       !is_place_temporary(path) && !is_place_home(&j->places, path);
	if (strcmp(pattern, "<vital>") == 0)
		return is_place_vital(&j->places, path);
	if (strcmp(pattern, "<run-on-purpose>") == 0)
		return arms_match(path, NULL) == ARMS_PURPOSE;
	if (strcmp(pattern, "<runs-by-itself>") == 0)
		return arms_match(path, NULL) == ARMS_ITSELF;
	if (strcmp(pattern, "<device>") == 0)
		return strcmp(path, "/dev/null") == 0 || strcmp(path, "/dev/stdout") == 0 ||
		       strcmp(path, "/dev/stderr") == 0 || strcmp(path, "/dev/tty") == 0 ||
		       strcmp(path, "/dev/zero") == 0 || strcmp(path, "/dev/full") == 0 ||
		       is_path_beneath(path, "/dev/fd", false) ||
		       is_path_beneath(path, "/proc/self/fd", false);
	*ret_known = false;
	return false;
}

static bool is_place_pattern_match(const struct judgement *j, const char *pattern, const char *path)
{
	bool fold = j->analysis->action->case_insensitive;
	bool known;
	const char *rest;

	if (pattern[0] == '<')
		return is_keyword_match(j, pattern, path, &known);
	if (pattern[0] == '/' || strncmp(pattern, "**/", 3) == 0)
		return is_path_match(pattern, path, fold);
	if (pattern[0] == '~' && (pattern[1] == '/' || !pattern[1])) {
		rest = path_rest(path, j->places.home, fold);
		return rest && is_path_match(pattern[1] ? pattern + 2 : "", rest, fold);
	}
	if (strncmp(pattern, "./", 2) == 0)
		pattern += 2;
	rest = path_rest(path, j->places.workspace, fold);
	return rest && is_path_match(pattern, rest, fold);
}

static bool is_any_place(const struct judgement *j, const struct texts *patterns, const char *path)
{
	for (size_t i = 0; i < patterns->n; i++) {
		if (is_place_pattern_match(j, patterns->items[i], path))
			return true;
	}
	return false;
}

/* "git push --force": program and leading arguments, options anywhere behind. */
static bool is_call_match(const char *pattern, const struct command_call *call)
{
	size_t argument = 1;
	size_t n = strcspn(pattern, " ");

	if (!call->program || strlen(call->program) != n || strncmp(call->program, pattern, n) != 0)
		return false;
	for (pattern += n; *pattern;) {
		bool found = false;

		pattern += strspn(pattern, " ");
		n = strcspn(pattern, " ");
		if (n == 0)
			break;
		for (size_t i = argument; i < call->n_argv && !found; i++) {
			const char *a = call->argv[i];

			found = a && strlen(a) == n && strncmp(a, pattern, n) == 0;
			if (found && pattern[0] != '-')
				argument = i + 1;
			/* Words stand in order; only options may stand between them. */
			if (!found && pattern[0] != '-' && a && a[0] != '-')
				break;
		}
		if (!found)
			return false;
		pattern += n;
	}
	return true;
}

static bool is_within(const struct effect *e, const struct command_call *call)
{
	return e->origin_at >= call->at && e->origin_at < call->at + (call->size ? call->size : 1);
}

static bool is_program_match(const struct judgement *j, const struct rule *rule, const struct judged_effect *e)
{
	for (size_t i = 0; i < j->n_calls; i++) {
		if (e && e->effect.origin_size > 0 && !is_within(&e->effect, &j->calls[i]))
			continue;
		for (size_t k = 0; k < rule->programs.n; k++) {
			if (is_call_match(rule->programs.items[k], &j->calls[i]))
				return true;
		}
	}
	return false;
}

static bool is_action_match(const struct judgement *j, const struct rule *rule)
{
	bool found = rule->n_actions == 0;

	for (size_t i = 0; i < rule->n_actions && !found; i++)
		found = rule->actions[i] == j->analysis->type;
	if (!found)
		return false;
	found = rule->origins.n == 0;
	for (size_t i = 0; i < rule->origins.n && !found; i++)
		found = j->context->origin && strcmp(rule->origins.items[i], j->context->origin) == 0;
	if (!found)
		return false;
	if (rule->action_hash &&
		memcmp(rule->action_hash, j->analysis->action_hash, SHA256_SIZE) != 0)
		return false;
	/* Without a clock an allow is over and a refusal still holds. */
	if (rule->until_ns != 0) {
		int64_t now = j->context->wall_ns;

		if (now == 0 ? rule->kind == RULE_ALLOW : now > rule->until_ns)
			return false;
	}
	return true;
}

static bool is_effect_match(const struct judgement *j, const struct rule *rule, const struct judged_effect *e)
{
	const struct effect *effect = &e->effect;
	bool found = rule->hosts.n == 0;

	if (rule->effects && !(rule->effects & 1U << effect->kind))
		return false;
	if (rule->labels && !(rule->labels & 1U << effect->label))
		return false;
	if (rule->states && (!e->is_path || !(rule->states & 1U << e->state)))
		return false;
	if (rule->recursive >= 0 && effect->recursive != (rule->recursive == 1))
		return false;
	if (rule->paths.n > 0 && (!e->is_path || !is_any_place(j, &rule->paths, effect->object)))
		return false;
	if (rule->not_paths.n > 0 && e->is_path && is_any_place(j, &rule->not_paths, effect->object))
		return false;
	for (size_t i = 0; i < rule->hosts.n && !found; i++) {
		const char *host = effect->kind == EFFECT_SEND ? effect->target :
				   effect->kind == EFFECT_CONNECT || effect->kind == EFFECT_LISTEN ?
								 effect->object :
								 NULL;

		found = host && is_host_match(rule->hosts.items[i], &j->context->policy->hosts, host,
					effect->port);
	}
	return found;
}

bool is_rule_match(const struct judgement *j, const struct rule *rule, const struct judged_effect *e)
{
	if (!is_action_match(j, rule))
		return false;
	if (!e)
		return rule->whole && (rule->programs.n == 0 || is_program_match(j, rule, NULL));
	/* An allow of a whole action covers its effects; a refusal of one speaks once, for all. */
	if (rule->whole && rule->kind != RULE_ALLOW)
		return false;
	if (!is_effect_match(j, rule, e))
		return false;
	return rule->programs.n == 0 || is_program_match(j, rule, e);
}
