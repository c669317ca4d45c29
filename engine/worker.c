#include "engine/worker.h"

#include <stddef.h>

static void on_worked(struct handoff_item *item)
{
	struct job *job = CONTAINER(item, struct job, item);

	job->done(job);
}

static struct job *take_job(struct worker *w)
{
	struct job *job;

	uv_mutex_lock(&w->lock);
	while (!w->first && !w->stopping)
		uv_cond_wait(&w->wake, &w->lock);
	job = w->first;
	if (job) {
		w->first = job->next;
		if (!w->first)
			w->last = NULL;
	}
	uv_mutex_unlock(&w->lock);
	return job;
}

static void run(void *arg)
{
	struct worker *w = arg;
	struct job *job;

	while ((job = take_job(w)) != NULL) {
		job->work(job);
		job->item.fn = on_worked;
		handoff_post(w->handoff, &job->item);
	}
}

int worker_open(struct worker *w, struct handoff *handoff)
{
	int r;

	*w = (struct worker){ .handoff = handoff };
	r = uv_mutex_init(&w->lock);
	if (r != 0)
		return r;
	r = uv_cond_init(&w->wake);
	if (r == 0) {
		r = uv_thread_create(&w->thread, run, w);
		if (r == 0) {
			w->open = true;
			return 0;
		}
		uv_cond_destroy(&w->wake);
	}
	uv_mutex_destroy(&w->lock);
	return r;
}

void worker_submit(struct worker *w, struct job *job)
{
	job->next = NULL;
	job->worker = w;
	uv_mutex_lock(&w->lock);
	if (w->last)
		w->last->next = job;
	else
		w->first = job;
	w->last = job;
	uv_cond_signal(&w->wake);
	uv_mutex_unlock(&w->lock);
}

void worker_close(struct worker *w)
{
	if (!w->open)
		return;
	uv_mutex_lock(&w->lock);
	w->stopping = true;
	uv_cond_signal(&w->wake);
	uv_mutex_unlock(&w->lock);
	(void)uv_thread_join(&w->thread); /* fails only for a thread that is not there */
	uv_cond_destroy(&w->wake);
	uv_mutex_destroy(&w->lock);
	w->open = false;
}
