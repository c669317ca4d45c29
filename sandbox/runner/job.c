#include "sandbox/runner/job.h"

#include <errno.h>
#include <string.h>

#include "base/mp.h"

#define FIELDS    16
#define TEXT_SIZE ((size_t)2 << 20)

static void write_texts(struct buf *out, char *const *texts)
{
	uint32_t n = 0;

	while (texts[n])
		n++;
	mp_write_array(out, n);
	for (uint32_t i = 0; i < n; i++)
		mp_write_bin(out, texts[i], strlen(texts[i]));
}

int job_encode(const struct job *job, struct buf *out)
{
	const struct grant_limits *l = &job->limits;
	const uint64_t limits[] = { l->wall_ms, l->cpu_ms, l->memory_bytes, l->processes,
		l->output_bytes, l->file_size_bytes };

	mp_write_array(out, FIELDS);
	mp_write_uint(out, (uint64_t)job->parent);
	mp_write_bool(out, job->namespaces);
	mp_write_bool(out, job->own_network);
	mp_write_bin(out, job->program, strlen(job->program));
	mp_write_bin(out, &job->device, sizeof(job->device));
	mp_write_bin(out, &job->inode, sizeof(job->inode));
	mp_write_bool(out, job->script);
	mp_write_bin(out, job->egress, strlen(job->egress));
	mp_write_bin(out, job->private_dir, strlen(job->private_dir));
	mp_write_bin(out, job->cwd, strlen(job->cwd));
	write_texts(out, job->argv);
	write_texts(out, job->envp);
	mp_write_array(out, (uint32_t)job->n_binds * 3);
	for (size_t i = 0; i < job->n_binds; i++) {
		mp_write_uint(out, job->binds[i].kind);
		mp_write_bin(out, job->binds[i].path, strlen(job->binds[i].path));
		mp_write_bool(out, job->binds[i].optional);
	}
	mp_write_bin(out, limits, sizeof(limits));
	mp_write_bin(out, job->plan, job->n_plan);
	mp_write_nil(out);
	return buf_error(out);
}

static int read_text(struct mp_reader *r, struct arena *a, const char **ret_text)
{
	const uint8_t *bytes;
	size_t n;

	if (mp_read_bin(r, TEXT_SIZE, &bytes, &n) != 0 || memchr(bytes, 0, n))
		return -EBADMSG;
	*ret_text = arena_text(a, (const char *)bytes, n);
	return *ret_text ? 0 : -ENOMEM;
}

static int read_raw(struct mp_reader *r, void *ret_bytes, size_t size)
{
	const uint8_t *bytes;
	size_t n;

	if (mp_read_bin(r, size, &bytes, &n) != 0 || n != size)
		return -EBADMSG;
	memcpy(ret_bytes, bytes, size);
	return 0;
}

static int read_texts(struct mp_reader *r, struct arena *a, uint32_t max, char ***ret_texts)
{
	char **texts;
	uint32_t n;
	int e = 0;

	if (mp_read_array(r, max, &n) != 0)
		return -EBADMSG;
	texts = arena_alloc_array(a, (size_t)n + 1, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	for (uint32_t i = 0; e == 0 && i < n; i++) {
		const char *text = NULL;

		e = read_text(r, a, &text);
		texts[i] = (char *)(uintptr_t)text; /* execve()'s type; nobody writes to it */
	}
	*ret_texts = texts;
	return e;
}

static int read_binds(struct mp_reader *r, struct job *job)
{
	uint32_t n;

	if (mp_read_array(r, JOB_BINDS_MAX * 3, &n) != 0 || n % 3 != 0)
		return -EBADMSG;
	job->binds = arena_alloc_array(&job->memory, n / 3, sizeof(*job->binds));
	if (!job->binds && n > 0)
		return -ENOMEM;
	for (job->n_binds = 0; job->n_binds < n / 3; job->n_binds++) {
		struct job_bind *b = &job->binds[job->n_binds];
		uint64_t kind;
		int e;

		if (mp_read_uint(r, JOB_BIND_N_ - 1, &kind) != 0)
			return -EBADMSG;
		e = read_text(r, &job->memory, &b->path);
		if (e != 0)
			return e;
		if (b->path[0] != '/' || mp_read_bool(r, &b->optional) != 0)
			return -EBADMSG;
		b->kind = (enum job_bind_kind)kind;
	}
	return 0;
}

static int read_rest(struct mp_reader *r, struct job *job)
{
	struct grant_limits *l = &job->limits;
	uint64_t limits[6];
	int e;

	if ((e = read_texts(r, &job->memory, JOB_ARGS_MAX, &job->argv)) != 0 ||
		(e = read_texts(r, &job->memory, JOB_ENV_MAX, &job->envp)) != 0 ||
		(e = read_binds(r, job)) != 0 || (e = read_raw(r, limits, sizeof(limits))) != 0)
		return e;
	*l = (struct grant_limits){ limits[0], limits[1], limits[2], limits[3], limits[4],
		limits[5] };
	if (!job->argv[0] || mp_read_bin(r, JOB_SIZE, &job->plan, &job->n_plan) != 0 ||
		mp_read_nil(r) != 0)
		return -EBADMSG;
	return mp_reader_end(r);
}

int job_decode(const uint8_t *bytes, size_t n, struct job *ret_job)
{
	struct job *job = ret_job;
	struct mp_reader r;
	uint32_t fields;
	uint64_t parent;
	int e;

	*job = (struct job){ 0 };
	arena_init(&job->memory, 2 * JOB_SIZE);
	if (n > JOB_SIZE)
		return -EBADMSG;
	mp_reader_init(&r, bytes, n);
	if (mp_read_array(&r, FIELDS, &fields) != 0 || fields != FIELDS ||
		mp_read_uint(&r, INT32_MAX, &parent) != 0 ||
		mp_read_bool(&r, &job->namespaces) != 0 || mp_read_bool(&r, &job->own_network) != 0)
		return -EBADMSG;
	job->parent = (int)parent;
	if ((e = read_text(&r, &job->memory, &job->program)) != 0 ||
		(e = read_raw(&r, &job->device, sizeof(job->device))) != 0 ||
		(e = read_raw(&r, &job->inode, sizeof(job->inode))) != 0 ||
		(e = mp_read_bool(&r, &job->script)) != 0 ||
		(e = read_text(&r, &job->memory, &job->egress)) != 0 ||
		(e = read_text(&r, &job->memory, &job->private_dir)) != 0 ||
		(e = read_text(&r, &job->memory, &job->cwd)) != 0)
		return e == -ENOMEM ? e : -EBADMSG;
	e = read_rest(&r, job);
	return e == -ENOMEM || e == 0 ? e : -EBADMSG;
}

void job_done(struct job *job)
{
	arena_done(&job->memory);
	*job = (struct job){ 0 };
}
