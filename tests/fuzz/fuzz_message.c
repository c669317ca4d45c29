/* Payloads: what is accepted is encoded again to the very same message, and only then. */
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/canon.h"
#include "ipc/frame.h"
#include "ipc/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct message *m, const uint8_t *data, size_t size)
{
	struct buf b = BUF_INIT(2 * FRAME_LIMIT);

	if (message_encode(&b, m->kind, m->stream, m->body, FRAME_LIMIT, NULL) != 0)
		abort(); /* what was let in may go out */
	/* One value has one spelling: only the order of keys is the sender's, and it is kept. */
	if (b.size != size + FRAME_HEADER_SIZE || be_load32(b.data) != size ||
		memcmp(b.data + FRAME_HEADER_SIZE, data, size) != 0)
		abort();
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag diag = { 0 };
	struct message m;
	struct arena a;
	int r;

	arena_init(&a, MESSAGE_ARENA_LIMIT);
	r = message_decode(&a, data, size, &m, &diag);
	if (r == 0) {
		if (m.kind == MESSAGE_NONE || (unsigned)m.kind >= MESSAGE_N_)
			abort();
		check_again(&m, data, size);
	} else if (r != MESSAGE_E_UNKNOWN && r != MESSAGE_E_MALFORMED && r != MESSAGE_E_FIELD) {
		abort();
	} else if (r == MESSAGE_E_FIELD && diag.text[0] == '\0') {
		abort(); /* a refused field is named */
	}
	arena_done(&a);
	return 0;
}
