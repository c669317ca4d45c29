#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "shield/detect.h"

struct secret_form {
	const char *kind, *prefix;
	const char *charset; /* of what follows: 'a' alphanumeric, 'w' with _-, 'h' hex, 'A' upper+digits */
	unsigned min, max;
	unsigned distinct; /* different characters that a real one has at least */
};

static const struct secret_form forms[] = {
	{ "aws-access-key", "AKIA", "A", 16, 16, 8 },
	{ "aws-session-key", "ASIA", "A", 16, 16, 8 },
	{ "github-token", "ghp_", "a", 36, 36, 12 },
	{ "github-token", "gho_", "a", 36, 36, 12 },
	{ "github-token", "ghu_", "a", 36, 36, 12 },
	{ "github-token", "ghs_", "a", 36, 36, 12 },
	{ "github-token", "ghr_", "a", 36, 36, 12 },
	{ "github-token", "github_pat_", "w", 60, 100, 14 },
	{ "gitlab-token", "glpat-", "w", 20, 64, 10 },
	{ "anthropic-key", "sk-ant-", "w", 32, 128, 14 },
	{ "openai-key", "sk-proj-", "w", 32, 256, 14 },
	{ "openai-key", "sk-", "a", 40, 64, 14 },
	{ "stripe-key", "sk_live_", "a", 16, 128, 8 },
	{ "stripe-key", "rk_live_", "a", 16, 128, 8 },
	{ "slack-token", "xoxb-", "w", 20, 128, 8 },
	{ "slack-token", "xoxp-", "w", 20, 128, 8 },
	{ "slack-token", "xoxa-", "w", 20, 128, 8 },
	{ "google-key", "AIza", "w", 35, 35, 12 },
	{ "npm-token", "npm_", "a", 36, 36, 12 },
	{ "pypi-token", "pypi-", "w", 60, 256, 14 },
	{ "sendgrid-key", "SG.", "w.", 60, 80, 14 },
	{ "twilio-key", "SK", "h", 32, 32, 8 },
	{ "hugging-face-token", "hf_", "a", 30, 40, 12 },
	{ "digitalocean-token", "dop_v1_", "h", 64, 64, 8 },
	{ "vault-token", "hvs.", "w", 24, 128, 10 },
	{ "age-key", "AGE-SECRET-KEY-1", "A", 50, 64, 12 },
	{ "shopify-token", "shpat_", "h", 32, 32, 8 },
	{ "databricks-token", "dapi", "h", 32, 36, 8 },
};

static bool is_in(const char *charset, char c)
{
	unsigned char u = (unsigned char)c;

	switch (charset[0]) {
	case 'A':
		return isupper(u) || isdigit(u);
	case 'h':
		return isdigit(u) || (u >= 'a' && u <= 'f');
	case 'w':
		return isalnum(u) || c == '_' || c == '-' || (charset[1] == '.' && c == '.');
	default:
		return isalnum(u);
	}
}

static unsigned count_distinct(const char *text, size_t n)
{
	bool seen[256] = { false };
	unsigned count = 0;

	for (size_t i = 0; i < n; i++) {
		count += !seen[(unsigned char)text[i]];
		seen[(unsigned char)text[i]] = true;
	}
	return count;
}

static uint32_t crc32_of(const char *bytes, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= (uint8_t)bytes[i];
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1)));
	}
	return ~crc;
}

/* The last six characters of these tokens are base62 of the CRC-32 of the rest. */
static bool is_checksum_right(const char *token, size_t n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	uint32_t crc;

	if (n != 36)
		return false;
	crc = crc32_of(token, 30);
	for (size_t i = 6; i-- > 0;) {
		if (token[30 + i] != digits[crc % 62])
			return false;
		crc /= 62;
	}
	return true;
}

static bool is_form(const struct secret_form *f, const char *text, size_t n, size_t *ret_size)
{
	size_t n_prefix = strlen(f->prefix);
	size_t k = 0;

	if (n < n_prefix + f->min || memcmp(text, f->prefix, n_prefix) != 0)
		return false;
	while (n_prefix + k < n && k <= f->max && is_in(f->charset, text[n_prefix + k]))
		k++;
	if (k < f->min || k > f->max || count_distinct(text + n_prefix, k) < f->distinct)
		return false;
	/* A token of the documented form counts by its checksum or, made up in a test, by its disorder. */
	if (strcmp(f->kind, "github-token") == 0 && k == 36 &&
		!is_checksum_right(text + n_prefix, k) &&
		count_distinct(text + n_prefix, k) < 18)
		return false;
	*ret_size = n_prefix + k;
	return true;
}

static bool is_pem(const char *text, size_t n, size_t *ret_size)
{
	static const char begin[] = "-----BEGIN ";
	const char *end;

	if (n < sizeof(begin) - 1 || memcmp(text, begin, sizeof(begin) - 1) != 0)
		return false;
	end = memchr(text, '\n', n);
	if (!end)
		end = text + n;
	if (!memmem(text, (size_t)(end - text), "PRIVATE KEY", strlen("PRIVATE KEY")))
		return false;
	end = memmem(text, n, "-----END", strlen("-----END"));
	*ret_size = end ? (size_t)(end - text) : n;
	return true;
}

/* header.payload.signature, the first two base64url of JSON. */
static bool is_jwt(const char *text, size_t n, size_t *ret_size)
{
	size_t k = 0;
	unsigned dots = 0;

	if (n < 40 || memcmp(text, "eyJ", 3) != 0)
		return false;
	while (k < n && is_in("w.", text[k])) {
		if (text[k] == '.') {
			dots++;
			if (dots == 1 && (k + 3 >= n || memcmp(text + k + 1, "eyJ", 3) != 0))
				return false;
		}
		k++;
	}
	*ret_size = k;
	return dots == 2 && k > 60;
}

bool detect_secret_find(const char *text, size_t n, size_t from, struct detect_secret *ret_secret)
{
	for (size_t i = from; i < n; i++) {
		bool starts = i == 0 || !isalnum((unsigned char)text[i - 1]);
		size_t size;

		if (!starts || !strchr("AagGsSrxnphdeE-", text[i]) || !text[i])
			continue;
		for (size_t k = 0; k < N_ELEMENTS(forms); k++) {
			if (forms[k].prefix[0] == text[i] &&
				is_form(&forms[k], text + i, n - i, &size)) {
				*ret_secret = (struct detect_secret){ .kind = forms[k].kind,
								      .at = i, .size = size };
				return true;
			}
		}
		if (text[i] == '-' && is_pem(text + i, n - i, &size)) {
			*ret_secret = (struct detect_secret){ .kind = "private-key", .at = i, .size = size };
			return true;
		}
		if (text[i] == 'e' && is_jwt(text + i, n - i, &size)) {
			*ret_secret = (struct detect_secret){ .kind = "json-web-token", .at = i, .size = size };
			return true;
		}
	}
	return false;
}
