#include "manager/startup.h"

#include <stdbool.h>
#include <string.h>

#include "base/num.h"

void startup_init(struct startup *s)
{
	memset(s, 0, sizeof(*s));
	s->state = STARTUP_PORT;
}

static bool has_prefix(const char *line, const char *prefix)
{
	return strncmp(line, prefix, strlen(prefix)) == 0;
}

static bool is_web_line(const char *line)
{
	uint32_t port;

	if (strcmp(line, "WEB_DISABLED") == 0)
		return true;
	if (has_prefix(line, "WEB:"))
		return num_parse_u32(line + strlen("WEB:"), 1, 65535, &port) == 0;
	return has_prefix(line, "WEB_FAILED:");
}

static enum startup_state startup_line(struct startup *s)
{
	if (s->state == STARTUP_PORT && has_prefix(s->line, "PORT:unix:/")) {
		memcpy(s->endpoint, s->line + strlen("PORT:"), s->n_line + 1 - strlen("PORT:"));
		return STARTUP_WEB;
	}
	if (s->state == STARTUP_WEB && is_web_line(s->line)) {
		memcpy(s->web, s->line, s->n_line + 1);
		return STARTUP_READY;
	}
	return STARTUP_BROKEN;
}

enum startup_state startup_push(struct startup *s, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n && s->state != STARTUP_BROKEN; i++) {
		if (bytes[i] == '\n') {
			s->line[s->n_line] = '\0';
			s->state = startup_line(s);
			s->n_line = 0;
		} else if (s->n_line + 1 >= sizeof(s->line) || bytes[i] == '\0') {
			s->state = STARTUP_BROKEN;
		} else {
			s->line[s->n_line++] = bytes[i];
		}
	}
	return s->state;
}
