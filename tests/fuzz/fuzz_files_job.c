/* Jobs and answers of the files worker: what is read is written again and read the same. */
#include <stdlib.h>
#include <string.h>

#include "ipc/files_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answers(const uint8_t *data, size_t size)
{
	struct buf b = BUF_INIT(FILES_ANSWER_LIMIT);
	struct files_answer answer, again;
	struct arena a;

	arena_init(&a, 16u << 20);
	if (files_answer_decode(&a, data, size, &answer) == 0) {
		if (!answer.content || answer.ok != (answer.error == NULL))
			abort();
		if (files_answer_encode(&b, &answer) != 0 ||
			files_answer_decode(&a, b.data, b.size, &again) != 0 ||
			strcmp(answer.content, again.content) != 0 || answer.code != again.code)
			abort();
	}
	buf_done(&b);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf b = BUF_INIT(2 * FILES_JOB_LIMIT);
	struct files_job job, again;
	struct diag diag = { 0 };
	struct arena a;

	arena_init(&a, 16u << 20);
	if (files_job_decode(&a, data, size, &job, &diag) == 0) {
		if (files_job_encode(&b, &job) != 0 ||
			files_job_decode(&a, b.data, b.size, &again, &diag) != 0 ||
			strcmp(job.type, again.type) != 0)
			abort();
	} else if (diag.text[0] == '\0') {
		abort();
	}
	buf_done(&b);
	arena_done(&a);
	answers(data, size);
	return 0;
}
