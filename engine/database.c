#include "engine/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/errand.h"
#include "engine/fill.h"
#include "engine/service.h"
#include "engine/sessions.h"

#define BUSY_MS      5000
#define PAGE_MAX     1000
#define ANSWER_LIMIT (900u << 10)

struct database {
	sqlite3 *db; /* only the store's thread touches it after database_open() */
};

/* migrations[n] brings version n to n + 1. */
static const char *const migrations[] = {
	"CREATE TABLE sessions(id TEXT PRIMARY KEY, title TEXT NOT NULL, created_ns INTEGER NOT "
	"NULL,"
	" updated_ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE messages(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT "
	"NULL"
	" REFERENCES sessions(id) ON DELETE CASCADE, role TEXT NOT NULL, content TEXT NOT NULL,"
	" time_ns INTEGER NOT NULL) STRICT;"
	"CREATE INDEX messages_of_session ON messages(session, n);",
};

struct database_job {
	struct job job;
	struct engine *engine;
	struct arena arena;
	enum message_kind kind; /* NONE: store a message */
	const char *session, *id, *role, *text;
	int64_t limit, now_ns;
	uint64_t connection_id, stream;
	const struct value *answer;
	int r;
};

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EIO;
}

static int read_number(sqlite3 *db, const char *sql, int64_t *ret_number)
{
	sqlite3_stmt *s = NULL;
	int r = -EIO;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
		sqlite3_step(s) == SQLITE_ROW) {
		*ret_number = sqlite3_column_int64(s, 0);
		r = 0;
	}
	(void)sqlite3_finalize(s); /* repeats the error of the step */
	return r;
}

/* The pragma answers the mode that holds, which on some file systems is not the one asked for. */
static int set_wal(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	const char *mode = NULL;
	int r = -EOPNOTSUPP;

	if (sqlite3_prepare_v2(db, "PRAGMA journal_mode=WAL", -1, &s, NULL) == SQLITE_OK &&
		sqlite3_step(s) == SQLITE_ROW)
		mode = (const char *)sqlite3_column_text(s, 0);
	if (mode && strcmp(mode, "wal") == 0)
		r = 0;
	(void)sqlite3_finalize(s); /* as above */
	return r;
}

static int migrate(sqlite3 *db)
{
	int64_t version = 0;
	int r = read_number(db, "PRAGMA user_version", &version);

	if (r == 0 && version > (int64_t)N_ELEMENTS(migrations))
		return -EPROTO;
	for (; r == 0 && version < (int64_t)N_ELEMENTS(migrations); version++) {
		char sql[64];

		(void)snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", (int)version + 1);
		r = run(db, "BEGIN IMMEDIATE");
		if (r == 0)
			r = run(db, migrations[version]);
		if (r == 0)
			r = run(db, sql);
		if (run(db, r == 0 ? "COMMIT" : "ROLLBACK") != 0 && r == 0)
			r = -EIO;
	}
	return r;
}

int database_open(struct engine *e)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	int r = 0;

	if (asprintf(&path, "%s/interlock.db", e->state_path) < 0)
		return -ENOMEM;
	fd = openat(e->state_fd, "interlock.db", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno; /* made here for its mode; SQLite's own files take it over */
	e->database = calloc(1, sizeof(*e->database));
	if (!e->database)
		return -ENOMEM;
	if (sqlite3_open_v2(path, &e->database->db,
		    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
			    SQLITE_OPEN_NOFOLLOW,
		    NULL) != SQLITE_OK)
		return -EIO;
	(void)sqlite3_busy_timeout(e->database->db, BUSY_MS); /* cannot fail */
	r = set_wal(e->database->db);
	if (r == 0)
		r = run(e->database->db, "PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; "
					 "PRAGMA trusted_schema=OFF");
	if (r == 0)
		r = migrate(e->database->db);
	return r == 0 ? worker_open(&e->database_thread, &e->handoff) : r;
}

void database_close(struct engine *e)
{
	worker_close(&e->database_thread);
	if (e->database)
		(void)sqlite3_close(e->database->db); /* every statement is finalized */
	cleanup_free(&e->database);
}

/* ---- on the thread ---- */

static sqlite3_stmt *prepare(
	struct database_job *j, const char *sql, const char *a, const char *b, int64_t n)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(j->engine->database->db, sql, -1, &s, NULL) != SQLITE_OK) {
		j->r = -EIO;
		return NULL;
	}
	if (a)
		(void)sqlite3_bind_text(
			s, 1, a, -1, SQLITE_STATIC); /* a failure shows at the step */
	if (b)
		(void)sqlite3_bind_text(s, 2, b, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 3, n);
	return s;
}

static void finish(struct database_job *j, sqlite3_stmt *s)
{
	if (s && sqlite3_step(s) != SQLITE_DONE)
		j->r = -EIO;
	(void)sqlite3_finalize(s); /* as above */
}

static void make_session(struct database_job *j, const char *title)
{
	finish(j, prepare(j,
			  "INSERT INTO sessions(id, title, created_ns, updated_ns) VALUES(?1, ?2, "
			  "?3, ?3)"
			  " ON CONFLICT(id) DO UPDATE SET updated_ns=?3",
			  j->session, title, j->now_ns));
}

static void add_message(struct database_job *j)
{
	sqlite3_stmt *s;
	char title[61];

	(void)snprintf(title, sizeof(title), "%.60s", j->text);
	for (size_t n = strlen(title); n > 0 && ((unsigned char)title[n - 1] & 0x80) != 0; n--)
		title[n - 1] = '\0'; /* never half a character */
	make_session(j, title);
	s = prepare(j,
		"INSERT INTO messages(session, id, time_ns, role, content) VALUES(?1, ?2, ?3, ?4, "
		"?5)",
		j->session, j->id, j->now_ns);
	if (s) {
		(void)sqlite3_bind_text(s, 4, j->role, -1, SQLITE_STATIC); /* as above */
		(void)sqlite3_bind_text(s, 5, j->text, -1, SQLITE_STATIC);
	}
	finish(j, s);
}

static void fill_column(struct fill *f, sqlite3_stmt *s, int column)
{
	const char *name = sqlite3_column_name(s, column);
	const char *key = arena_text(f->arena, name, strlen(name));

	if (!key)
		f->r = -ENOMEM;
	else if (sqlite3_column_type(s, column) == SQLITE_INTEGER)
		fill_int(f, key, sqlite3_column_int64(s, column));
	else
		fill_text(f, key, (const char *)sqlite3_column_text(s, column));
}

/* Rows as maps, until the answer would not fit a frame. */
static void read_rows(struct database_job *j, sqlite3_stmt *s, const char *key, bool with_more)
{
	struct value *list = value_array(&j->arena, PAGE_MAX);
	size_t bytes = 0;
	bool more = false;
	struct fill f;

	while (s && list && sqlite3_step(s) == SQLITE_ROW) {
		f = fill_start(&j->arena, 8);
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			fill_column(&f, s, i);
			bytes += (size_t)sqlite3_column_bytes(s, i) + 32;
		}
		more = bytes > ANSWER_LIMIT || (int64_t)list->size >= j->limit;
		if (more || !fill_end(&f) || value_push(list, f.map) != 0)
			break;
	}
	(void)sqlite3_finalize(s); /* as above */
	f = fill_start(&j->arena, 2);
	fill_value(&f, key, list);
	if (with_more)
		fill_bool(&f, "more", more);
	j->answer = fill_end(&f);
}

static void list_sessions(struct database_job *j)
{
	read_rows(j,
		prepare(j,
			"SELECT id AS session, title, created_ns, updated_ns, (SELECT count(*) "
			"FROM messages"
			" WHERE session=sessions.id) AS messages FROM sessions"
			" WHERE ?1 IS NULL OR instr(title, ?1) > 0 ORDER BY updated_ns DESC LIMIT "
			"?3 + 1",
			j->text, NULL, j->limit),
		"sessions", false);
}

static void read_history(struct database_job *j)
{
	read_rows(j,
		prepare(j,
			"SELECT * FROM (SELECT id, role, content, time_ns, n FROM messages WHERE "
			"session=?1"
			" AND (?2 IS NULL OR n < (SELECT n FROM messages WHERE id=?2))"
			" ORDER BY n DESC LIMIT ?3 + 1) ORDER BY n",
			j->session, j->id, j->limit),
		"messages", true);
}

static void new_session(struct database_job *j)
{
	struct fill f = fill_start(&j->arena, 3);

	make_session(j, j->text ? j->text : "");
	fill_text(&f, "session", j->session);
	fill_text(&f, "mode", "normal");
	fill_text(&f, "title", j->text);
	j->answer = fill_end(&f);
}

static void work(struct job *job)
{
	struct database_job *j = CONTAINER(job, struct database_job, job);

	if (j->r != 0)
		return; /* it did not fit into memory */
	switch ((int)j->kind) {
	case MESSAGE_NONE:
		add_message(j);
		break;
	case MESSAGE_SESSIONS:
		list_sessions(j);
		break;
	case MESSAGE_HISTORY:
		read_history(j);
		break;
	case MESSAGE_SESSION_NEW:
		new_session(j);
		break;
	default:
		finish(j, prepare(j, "DELETE FROM sessions WHERE id=?1", j->session, NULL, 0));
		j->answer = value_map(&j->arena, 1);
		break;
	}
}

/* ---- on the loop ---- */

static void done(struct job *job)
{
	struct database_job *j = CONTAINER(job, struct database_job, job);
	struct engine *e = j->engine;
	struct connection *c =
		j->kind == MESSAGE_NONE ? NULL : errand_connection(e, j->connection_id);
	enum message_kind kind = j->kind == MESSAGE_SESSIONS      ? MESSAGE_SESSION_LIST
				 : j->kind == MESSAGE_HISTORY     ? MESSAGE_HISTORY_PAGE
				 : j->kind == MESSAGE_SESSION_NEW ? MESSAGE_SESSION_INFO
								  : MESSAGE_OK;

	if (j->r != 0)
		log_line(LOG_LEVEL_ERROR, "database-failed kind=%s err=%d", message_name(j->kind),
			j->r);
	if (c)
		service_answer(c, j->stream, kind, j->r == 0 ? j->answer : NULL);
	arena_done(&j->arena);
	free(j);
}

static struct database_job *job_new(struct engine *e)
{
	struct database_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->engine = e;
	j->now_ns = clock_wall_ns(&clock_system);
	j->job.work = work;
	j->job.done = done;
	arena_init(&j->arena, 8u << 20);
	return j;
}

static const char *keep(struct database_job *j, const char *text)
{
	const char *copy = text ? arena_text(&j->arena, text, strlen(text)) : NULL;

	if (text && !copy)
		j->r = -ENOMEM;
	return copy;
}

void database_message(struct engine *e, const char *session, const char *id, const char *role,
	const char *content)
{
	struct database_job *j = job_new(e);
	char fresh[37];

	if (!j)
		return;
	sessions_new_id(fresh);
	j->session = keep(j, session);
	j->id = keep(j, id ? id : fresh);
	j->role = keep(j, role);
	j->text = keep(j, content);
	worker_submit(&e->database_thread, &j->job);
}

void database_ask(struct engine *e, struct connection *c, const struct message *m)
{
	struct database_job *j = job_new(e);
	char fresh[37];

	if (!j) {
		service_answer(c, m->stream, MESSAGE_OK, NULL);
		return;
	}
	sessions_new_id(fresh);
	j->kind = m->kind;
	j->connection_id = connection_id(c);
	j->stream = m->stream;
	j->limit = message_int(m, "limit", 100);
	j->session = keep(j, m->kind == MESSAGE_SESSION_NEW ? fresh : message_text(m, "session"));
	j->id = keep(j, message_text(m, "before"));
	j->text = keep(j,
		m->kind == MESSAGE_SESSIONS ? message_text(m, "query") : message_text(m, "title"));
	worker_submit(&e->database_thread, &j->job);
}
