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

void detect_effects(struct judgement *j)
{
	for (size_t i = 0; i < j->n_effects; i++) {
		const struct effect *e = &j->effects[i].effect;

		if (e->kind == EFFECT_CONNECT)
			detect_connection(j, e);
		if (e->kind == EFFECT_ENVIRONMENT && is_secret_variable(e->object))
			judgement_findf(j, "DET-VARIABLE", IL_ASK, IL_SEVERITY_MEDIUM, e,
				"Uses the variable %s, whose value is a secret.", e->object);
		if (e->kind == EFFECT_EXEC && j->effects[i].written_by_agent)
			judgement_findf(j, "DET-WRITTEN", IL_ASK, IL_SEVERITY_MEDIUM, e,
				"Runs %s, which the agent itself wrote.", e->object);
	}
	detect_address(j);
}
