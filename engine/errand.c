#include "engine/errand.h"

#include <stdlib.h>
#include <string.h>

#include "engine/fill.h"
#include "engine/service.h"

struct seek {
	uint64_t id;
	struct connection *found;
};

static void seek(void *ctx, struct connection *c)
{
	struct seek *s = ctx;

	if (connection_id(c) == s->id)
		s->found = c;
}

struct connection *errand_connection(struct engine *e, uint64_t id)
{
	struct seek s = { .id = id };

	if (!e->stopped)
		connection_each(e->server, seek, &s);
	return s.found;
}

static void finish(struct errand *q)
{
	struct connection *c = errand_connection(q->engine, q->connection_id);

	if (c && q->refused)
		(void)!connection_error(
			c, q->message.stream, q->error, q->refused); /* a closed one needs none */
	else if (c)
		service_answer(c, q->message.stream, q->answer_kind, q->answer);
	arena_done(&q->arena);
	free(q);
}

static void job_work(struct job *job)
{
	struct errand *q = CONTAINER(job, struct errand, job);

	q->work(q);
}

static void job_done(struct job *job)
{
	finish(CONTAINER(job, struct errand, job));
}

static void pool_work(uv_work_t *req)
{
	struct errand *q = req->data;

	q->work(q);
}

static void pool_done(uv_work_t *req, int status)
{
	struct errand *q = req->data;

	if (status != 0)
		q->refused = "the engine is stopping";
	finish(q);
}

void errand_run(struct engine *e, struct connection *c, const struct message *m,
	void (*work)(struct errand *q), bool on_chronicle)
{
	struct errand *q = calloc(1, sizeof(*q));

	if (!q) {
		service_answer(c, m->stream, MESSAGE_OK, NULL);
		return;
	}
	q->engine = e;
	q->connection_id = connection_id(c);
	q->work = work;
	arena_init(&q->arena, 16u << 20);
	q->message = (struct message){
		.kind = m->kind, .stream = m->stream, .body = value_copy(&q->arena, m->body)
	};
	q->job.work = job_work;
	q->job.done = job_done;
	q->req.data = q;
	if (!q->message.body) {
		finish(q); /* an internal error: no answer */
		return;
	}
	if (on_chronicle)
		worker_submit(&e->chronicle_thread, &q->job);
	else if (uv_queue_work(&e->loop, &q->req, pool_work, pool_done) != 0)
		finish(q);
}
