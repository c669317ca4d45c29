#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/engine.h"
#include "engine/fill.h"
#include "engine/record.h"

#define CHANGES_SHOWN 256

struct snapshot_job {
	struct job job;
	struct proposal *proposal;
	struct value *list;
	enum il_snapshot_outcome outcome;
	int r;
	uint64_t n_left_out;
	struct diag diag;
};

static void snapshot_done(struct job *job)
{
	struct snapshot_job *s = CONTAINER(job, struct snapshot_job, job);
	struct proposal *p = s->proposal;

	if (s->r != 0) {
		p->record_error = s->r;
		p->record_failed = "chronicle";
		log_line(LOG_LEVEL_WARNING, "chronicle-failed action=%llu err=%d why=\"%s\"",
			(unsigned long long)p->number, s->r, s->diag.text);
	}
	free(s);
	record_part_done(p);
}

static int open_roots(struct proposal *p)
{
	for (size_t i = 0; i < p->n_places; i++) {
		p->places[i].fd =
			open(p->places[i].root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (p->places[i].fd < 0)
			return -errno;
	}
	return 0;
}

static void close_roots(struct proposal *p)
{
	for (size_t i = 0; i < p->n_places; i++)
		cleanup_close(&p->places[i].fd);
}

static int begin(struct snapshot_job *s)
{
	struct proposal *p = s->proposal;
	struct il_chronicle_place *places = calloc(p->n_places, sizeof(*places));
	struct il_snapshot_info info = { .session = p->session,
		.action_type = p->action.type,
		.action_hash = p->analysis.action_hash };
	char summary[160];
	int r;

	if (!places)
		return -ENOMEM;
	/* The number pairs the snapshot with its intent after a crash. */
	(void)snprintf(summary, sizeof(summary), "#%llu %s %.100s", (unsigned long long)p->number,
		p->action.type,
		proposal_text(p, "command") ? proposal_text(p, "command") : p->places[0].path);
	info.summary = summary;
	r = open_roots(p);
	for (size_t i = 0; i < p->n_places; i++) {
		const struct place *place = &p->places[i];

		places[i] = (struct il_chronicle_place){ .dir_fd = place->fd,
			.root = place->root,
			.path = place->path,
			.recursive = place->recursive,
			.may_create = place->may_create,
			.ignore_exclusions = place->deletes };
	}
	if (r == 0)
		r = il_chronicle_begin(p->engine->chronicle, &info, places, p->n_places,
			p->snapshot, &s->n_left_out, &s->diag);
	close_roots(p);
	free(places);
	return r;
}

static void work_begin(struct job *job)
{
	struct snapshot_job *s = CONTAINER(job, struct snapshot_job, job);

	s->r = begin(s);
	s->proposal->begun = s->r == 0;
}

static const char *const change_names[IL_CHANGE_N_] = { "created", "modified", "deleted",
	"attributes", "type" };

static int on_change(void *ctx, const struct il_change *change)
{
	struct snapshot_job *s = ctx;
	struct proposal *p = s->proposal;
	struct fill f;

	p->n_changes++;
	if (p->n_changes > CHANGES_SHOWN)
		return 0;
	f = fill_start(&p->arena, 3);
	fill_text(&f, "kind", change_names[change->kind]);
	fill_text(&f, "path", change->path);
	if (strcmp(change->root, p->engine->workspace) != 0)
		fill_text(&f, "root", change->root);
	if (fill_end(&f))
		(void)!value_push(
			s->list, f.map); /* a full list only shows less; n_changes counts all */
	return 0;
}

static void work_seal(struct job *job)
{
	struct snapshot_job *s = CONTAINER(job, struct snapshot_job, job);
	struct proposal *p = s->proposal;

	s->list = value_array(&p->arena, CHANGES_SHOWN);
	s->r = il_chronicle_seal(p->engine->chronicle, p->snapshot, s->outcome, on_change, s);
	p->changes = s->list;
}

static int submit(
	struct proposal *p, void (*work)(struct job *job), enum il_snapshot_outcome outcome)
{
	struct snapshot_job *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->proposal = p;
	s->outcome = outcome;
	s->job.work = work;
	s->job.done = snapshot_done;
	p->n_pending++;
	worker_submit(&p->engine->chronicle_thread, &s->job);
	return 0;
}

int record_begin(struct proposal *p)
{
	if (!p->engine->chronicle)
		return -ENODEV;
	return submit(p, work_begin, IL_OUTCOME_DONE);
}

int record_seal(struct proposal *p)
{
	enum il_snapshot_outcome outcome = p->status == STATUS_EXECUTED    ? IL_OUTCOME_DONE
					   : p->status == STATUS_CANCELLED ? IL_OUTCOME_CANCELLED
									   : IL_OUTCOME_FAILED;

	return submit(p, work_seal, outcome);
}
