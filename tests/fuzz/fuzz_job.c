/*
 * A job from any bytes: refused, or one that encodes to bytes of the same meaning.
 */
#include <stdlib.h>
#include <string.h>

#include "sandbox/runner/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf once = BUF_INIT(JOB_SIZE), twice = BUF_INIT(JOB_SIZE);
	struct job job, again;

	if (job_decode(data, size, &job) == 0 && job_encode(&job, &once) == 0) {
		if (job_decode(once.data, once.size, &again) != 0 ||
			job_encode(&again, &twice) != 0 || once.size != twice.size ||
			memcmp(once.data, twice.data, once.size) != 0)
			abort();
		job_done(&again);
	}
	job_done(&job);
	return 0;
}
