#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "shield/detect.h"
#include "shield/judgement.h"
#include "shield/path.h"

/* Variables whose value is a secret, by the words of their name. */
static bool is_secret_variable(const char *name)
{
	static const char *const words[] = { "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY",
		"ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL", "AUTH_TOKEN", "_TOKEN", "DATABASE_URL" };

	for (size_t i = 0; i < N_ELEMENTS(words); i++) {
		if (strcasestr(name, words[i]))
			return true;
	}
	return false;
}

static void detect_connection(struct judgement *j, const struct effect *e)
{
	const char *host = e->object;

	if (is_host_metadata(host))
		judgement_findf(j, "DET-METADATA", IL_DENY, IL_SEVERITY_CRITICAL, e,
			"Reaches %s, which hands out credentials of the cloud machine.", host);
	else if (!j->detail->is_command && is_host_internal(host))
		judgement_findf(j, "DET-SSRF",
			is_host_loopback(host) || isdigit((unsigned char)host[0]) || strchr(host, ':') ?
				IL_DENY :
				IL_ASK,
			IL_SEVERITY_HIGH, e, "Reaches %s, which is not on the internet.", host);
}

/* "user@host" in an address shows one host and reaches another. */
static void detect_address(struct judgement *j)
{
	const char *url = value_get_text(j->analysis->payload, "url");
	const char *at = url ? strstr(url, "://") : NULL;

	if (!at)
		return;
	at += 3;
	if (memchr(at, '@', strcspn(at, "/?#")))
		judgement_findf(j, "DET-URL-USER", IL_ASK, IL_SEVERITY_HIGH, NULL,
			"The address names a user, which makes its host look like another one.");
}

static bool is_called(const struct judgement *j, const char *const *names, size_t n)
{
	for (size_t i = 0; i < j->n_calls; i++) {
		for (size_t k = 0; j->calls[i].program && k < n; k++) {
			if (strcmp(j->calls[i].program, names[k]) == 0)
				return true;
		}
	}
	return false;
}

static const struct effect *first_external(const struct judgement *j, enum effect_kind kind)
{
	for (size_t i = 0; i < j->n_effects; i++) {
		const struct effect *e = &j->effects[i].effect;
		const char *host = kind == EFFECT_SEND ? e->target : e->object;

		if (e->kind == kind && host && !is_host_loopback(host))
			return e;
	}
	return NULL;
}

/* What a machine or a database tells of itself, in one command with somewhere to send it. */
static void detect_sent(struct judgement *j)
{
	static const char *const dumps[] = { "pg_dump", "pg_dumpall", "mysqldump", "mongodump",
		"mongoexport" };
	static const char *const telling[] = { "whoami", "hostname", "netstat", "ss", "ifconfig",
		"uname", "printenv", "env", "ps", "lsof", "last", "arp" };
	static const char *const senders[] = { "nc", "ncat", "netcat", "curl", "wget", "socat",
		"telnet" };
	const struct effect *to = first_external(j, EFFECT_CONNECT);

	if (!to || !is_called(j, senders, N_ELEMENTS(senders)))
		return;
	if (is_called(j, dumps, N_ELEMENTS(dumps)))
		judgement_findf(j, "DET-DUMP-SENT", IL_DENY, IL_SEVERITY_CRITICAL, to,
			"Dumps a database in one command with a connection to %s.", to->object);
	if (is_called(j, telling, N_ELEMENTS(telling)))
		judgement_findf(j, "DET-RECON-SENT", IL_DENY, IL_SEVERITY_HIGH, to,
			"Tells of this machine in one command with a connection to %s.", to->object);
}

/* A script from the network without protection of what it is, or from a bare address. */
static void detect_piped(struct judgement *j)
{
	const struct effect *from = first_external(j, EFFECT_CONNECT);
	bool piped = false;

	for (size_t i = 0; i < j->n_notes; i++)
		piped = piped || strcmp(j->notes[i].id, "NOTE-PIPE-TO-SHELL") == 0;
	if (!piped || !from)
		return;
	if (from->port == 80 || strspn(from->object, "0123456789.") == strlen(from->object))
		judgement_findf(j, "DET-PIPED-UNSAFE", IL_DENY, IL_SEVERITY_CRITICAL, from,
			"Runs what %s sends, which nothing protects or names.", from->object);
}

/* Commands are not sentences: what reads like one hides or misses what would really run. */
static void detect_sentence(struct judgement *j)
{
	static const char *const words[] = { "and", "to", "that", "with", "between", "the", "which" };
	static const char *const speaking[] = { "echo", "printf", "say", "cowsay", "figlet", "wall",
		"notify-send", "git", "espeak", "lolcat", "toilet", "banner", "read", "for" };

	if (is_called(j, speaking, N_ELEMENTS(speaking)))
		return;
	for (size_t i = 0; i < j->n_calls; i++) {
		const struct command_call *call = &j->calls[i];
		size_t n = 0;

		for (size_t k = 1; k < call->n_argv; k++) {
			for (size_t m = 0; m < N_ELEMENTS(words); m++)
				n += call->argv[k] && strcmp(call->argv[k], words[m]) == 0;
		}
		if (n >= 2 || (n == 1 && call->n_argv >= 6 && call->argv[0] &&
				      call->argv[0][0] >= 'A' && call->argv[0][0] <= 'Z'))
			judgement_findf(j, "DET-SENTENCE", IL_ASK, IL_SEVERITY_MEDIUM, NULL,
				"The command reads like a sentence, not like a call of %s.",
				call->program ? call->program : "a program");
	}
}

/* `env` alone shows every variable to whoever reads the answer. */
static void detect_environment(struct judgement *j)
{
	for (size_t i = 0; i < j->n_calls; i++) {
		const struct command_call *call = &j->calls[i];

		if (call->n_argv == 1 && call->program &&
			(strcmp(call->program, "env") == 0 || strcmp(call->program, "printenv") == 0) &&
			j->n_calls == 1)
			judgement_findf(j, "DET-ENVIRONMENT", IL_ASK, IL_SEVERITY_MEDIUM, NULL,
				"Shows the whole environment.");
	}
}

/* Files that a command has little reason to write, unlike write_file which shows their text. */
static void detect_written(struct judgement *j, const struct effect *e)
{
	static const char *const builds[] = { "/.github/workflows/", "/.gitlab-ci.yml", "/Jenkinsfile",
		"/.devcontainer", "/devcontainer.json", "/.circleci/", "/azure-pipelines.yml",
		"/.travis.yml", "/bitbucket-pipelines.yml", "/.drone.yml" };

	if (path_name(e->object)[0] == '-')
		judgement_findf(j, "DET-OPTION-NAME", IL_ASK, IL_SEVERITY_HIGH, e,
			"Makes a file that later commands would take for an option: %s.", e->object);
	for (size_t i = 0; i < N_ELEMENTS(builds); i++) {
		if (strstr(e->object, builds[i]))
			judgement_findf(j, "DET-BUILD-FILE", IL_ASK, IL_SEVERITY_MEDIUM, e,
				"Writes %s, which a build service runs.", e->object);
	}
}

void detect_effects(struct judgement *j)
{
	if (j->detail->is_command) {
		detect_sent(j);
		detect_piped(j);
		detect_sentence(j);
		detect_environment(j);
	}
	for (size_t i = 0; i < j->n_effects; i++) {
		const struct effect *e = &j->effects[i].effect;

		if (e->kind == EFFECT_CONNECT)
			detect_connection(j, e);
		if (j->detail->is_command && (e->kind == EFFECT_WRITE || e->kind == EFFECT_CREATE))
			detect_written(j, e);
		if (e->kind == EFFECT_ENVIRONMENT && is_secret_variable(e->object))
			judgement_findf(j, "DET-VARIABLE", IL_ASK, IL_SEVERITY_MEDIUM, e,
				"Uses the variable %s, whose value is a secret.", e->object);
		if (e->kind == EFFECT_EXEC && j->effects[i].written_by_agent)
			judgement_findf(j, "DET-WRITTEN", IL_ASK, IL_SEVERITY_MEDIUM, e,
				"Runs %s, which the agent itself wrote.", e->object);
	}
	detect_address(j);
}
