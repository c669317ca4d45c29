#include "engine/sessions.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sessions_is_otr(const struct engine *e, const char *id)
{
	for (const struct otr_session *s = e->otr_sessions; s; s = s->next) {
		if (strcmp(s->id, id) == 0)
			return true;
	}
	return false;
}

int sessions_add_otr(struct engine *e, const char *id)
{
	struct otr_session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	(void)snprintf(s->id, sizeof(s->id), "%s", id);
	s->next = e->otr_sessions;
	e->otr_sessions = s;
	return 0;
}

void sessions_new_id(char ret_id[static 37])
{
	uint8_t b[16];
	char hex[33];

	randombytes_buf(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	hex_encode(b, sizeof(b), hex);
	(void)snprintf(ret_id, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
		hex + 20);
}

void sessions_close(struct engine *e)
{
	while (e->otr_sessions) {
		struct otr_session *s = e->otr_sessions;

		e->otr_sessions = s->next;
		free(s);
	}
}
