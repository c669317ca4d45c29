/* Reports of confined children: judged good only when they say all that must be said. */
#include <stdlib.h>
#include <string.h>

#include "ipc/probes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag diag = { 0 };
	int r = probes_judge((const char *)data, size, "agent", &diag);

	if (r != 0) {
		if ((r != -EPERM && r != -EBADMSG) || diag.text[0] == '\0')
			abort(); /* a refusal has a reason */
		return 0;
	}
	/* A good one names the profile, and every probe in some spelling of JSON: at least as long.
	 */
	if (size < 8 * strlen("{\"name\":\"\",\"control\":true,\"error\":1}"))
		abort();
	return 0;
}
