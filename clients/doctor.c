#include "clients/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/exit.h"
#include "base/files.h"
#include "base/num.h"
#include "base/programs.h"
#include "base/state.h"
#include "chronicle/chronicle.h"
#include "manager/lock.h"
#include "sandbox/runner/runner.h"
#include "sandbox/sandbox.h"
#include "shield/shield.h"

#define POLICY_MAX      ((size_t)1 << 20)
#define DISK_NEEDED     ((uint64_t)256 << 20)
#define YEAR_OF_RELEASE 2026

static void finding_set(struct finding *f, enum finding_state state, const char *remedy,
	const char *format, ...) PRINTF_LIKE(4, 5);

static void finding_set(
	struct finding *f, enum finding_state state, const char *remedy, const char *format, ...)
{
	va_list args;

	f->state = state;
	(void)snprintf(f->remedy, sizeof(f->remedy), "%s", remedy); /* cut is fine: for reading */
	va_start(args, format);
	(void)vsnprintf(f->what, sizeof(f->what), format, args); /* cut is fine: for reading */
	va_end(args);
}

static void check_programs(const struct workspace *w, struct finding *f)
{
	static const char *const names[] = { "interlock-engine", "interlock-agent",
		"interlock-exec", "interlock-files" };

	(void)w;
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		auto_free char *path = NULL;

		if (program_path(names[i], &path) != 0) {
			finding_set(f, FINDING_FAILED, "install Interlock again", "%s is missing",
				names[i]);
			return;
		}
	}
	finding_set(f, FINDING_OK, "", "all programs are in place");
}

static void check_state_rights(const struct workspace *w, struct finding *f)
{
	static const char *const secrets[] = { "client.token", "approver.token", "canary.token",
		"interlock.db", "engine.sock", "agent.sock" };
	struct stat st;

	if (fstat(w->state_fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
		finding_set(f, FINDING_FAILED, "chmod 700 it and see that it is yours",
			"%s is open to others", w->state_path);
		return;
	}
	for (size_t i = 0; i < N_ELEMENTS(secrets); i++) {
		if (fstatat(w->state_fd, secrets[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue; /* made when the engine first runs */
		if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
			finding_set(f, FINDING_FAILED,
				"stop the engine, remove the file, start again",
				"%s/%s is open to others", w->state_path, secrets[i]);
			return;
		}
	}
	finding_set(f, FINDING_OK, "", "%s is ours alone", w->state_path);
}

static void check_processes(const struct workspace *w, struct finding *f)
{
	auto_free char *text = NULL;
	pid_t pid = 0;
	uint32_t engine = 0;
	size_t n;

	if (lock_holder(w->state_fd, "manager.lock", &pid) == 0) {
		finding_set(f, FINDING_OK, "", "running, supervised by pid %ld", (long)pid);
		return;
	}
	if (file_read(w->state_fd, "engine.pid", 32, &text, &n) != 0) {
		finding_set(f, FINDING_OK, "", "not running, nothing left over");
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	if (num_parse_u32(text, 1, INT32_MAX, &engine) == 0 && kill((pid_t)engine, 0) == 0)
		finding_set(f, FINDING_WARNING,
			"it should end within 5 s; else see what that process is",
			"the manager is gone, process %u may still be its engine", engine);
	else
		finding_set(f, FINDING_WARNING, "the next start removes it",
			"engine.pid is left from an unclean end");
}

static void check_sandbox(const struct workspace *w, struct finding *f)
{
	struct il_enforcer enforcer;
	struct il_sandbox_status status;
	size_t n_proved = 0;

	(void)w;
	if (il_sandbox_probe(&status) != 0 || !status.active) {
		finding_set(f, FINDING_FAILED,
			"a kernel with Landlock (5.13 or newer, enabled at boot: lsm=landlock,...) "
			"is needed",
			"processes cannot be confined here: %.120s", status.reason);
		return;
	}
	if (il_run_probe(&enforcer) != 0 || enforcer.strongest == IL_TIER_AUTO) {
		finding_set(f, FINDING_FAILED, "`interlock sandbox probe` names what is missing",
			"no command can be run under a grant here: %.160s", enforcer.reason);
		return;
	}
	for (size_t i = 0; i < IL_GUARANTEE_N_; i++)
		n_proved += enforcer.proved[enforcer.strongest][i];
	finding_set(f, enforcer.strongest == IL_TIER_C ? FINDING_OK : FINDING_WARNING,
		enforcer.strongest == IL_TIER_C ? ""
						: "`interlock sandbox probe` names what is missing",
		"%s (Landlock ABI %u), commands in tier %s: %zu guarantees proved by a trial run",
		status.mode, status.version, enforcer.strongest == IL_TIER_C ? "C" : "B", n_proved);
}

/* The user's policy if there is one, else the default preset. */
static int load_policy(char **ret_text, size_t *ret_n, const char **ret_name)
{
	auto_free char *dir = NULL;
	auto_close int fd = -1;
	const char *preset;
	int r = state_config_dir(&dir);

	if (r != 0)
		return r;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret_name = "policy.yaml";
	if (fd >= 0) {
		r = file_read(fd, "policy.yaml", POLICY_MAX, ret_text, ret_n);
		if (r != -ENOENT)
			return r;
	}
	*ret_name = "preset:default";
	preset = il_policy_preset("default", ret_n);
	*ret_text = preset ? strndup(preset, *ret_n) : NULL;
	return *ret_text ? 0 : -ENOENT;
}

static void check_policy(const struct workspace *w, struct finding *f)
{
	auto_free char *text = NULL;
	struct il_policy *policy = NULL;
	struct il_policy_source source = { 0 };
	struct diag diag = { 0 };
	size_t bad = 0;
	int r;

	(void)w;
	r = load_policy(&text, &source.n_text, &source.name);
	if (r != 0) {
		finding_set(f, FINDING_FAILED, "see its rights", "the policy cannot be read: %s",
			strerror(-r));
		return;
	}
	source.text = text;
	r = il_policy_load(&source, 1, &policy, &bad, &diag);
	if (r != 0) {
		finding_set(f, FINDING_FAILED, "`interlock policy lint` shows it",
			"%s:%u:%u: %.160s", source.name, diag.line, diag.column, diag.text);
		return;
	}
	(void)il_policy_unref(policy);
	finding_set(f, FINDING_OK, "", "%s loads and its own tests pass", source.name);
}

static char *path_in_state(const struct workspace *w, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", w->state_path, name) < 0 ? NULL : path;
}

static void check_audit(const struct workspace *w, struct finding *f)
{
	auto_free char *dir = path_in_state(w, "audit");
	struct il_audit_verify_options o = { .dir = dir };
	struct il_audit_report report = { 0 };
	int r;

	if (!dir || access(dir, F_OK) < 0) {
		finding_set(f, FINDING_OK, "", "no record yet");
		return;
	}
	r = il_audit_verify(&o, &report);
	if (r != 0)
		finding_set(f, FINDING_FAILED, "see its rights", "the record cannot be read: %s",
			strerror(-r));
	else if (report.status == EXIT_VERIFY_BROKEN)
		finding_set(f, FINDING_FAILED,
			"`interlock audit verify` has more; keep a copy of the state directory",
			"the record is broken at %.40s: %.160s", report.where, report.text);
	else
		finding_set(f, FINDING_OK, "", "the record of %llu entries is consistent",
			(unsigned long long)report.n_entries);
}

static void check_chronicle(const struct workspace *w, struct finding *f)
{
	auto_free char *dir = path_in_state(w, "chronicle");
	struct il_chronicle_options o = { .dir = dir, .read_only = true };
	struct il_chronicle_report report = { 0 };
	struct il_chronicle *c = NULL;
	struct diag diag = { 0 };
	int r;

	if (!dir || access(dir, F_OK) < 0) {
		finding_set(f, FINDING_OK, "", "no snapshot yet");
		return;
	}
	r = il_chronicle_open(&o, &c, &diag);
	if (r == 0)
		r = il_chronicle_verify(c, &report);
	il_chronicle_close(c);
	if (r != 0)
		finding_set(f, FINDING_FAILED, "`interlock chronicle verify` has more",
			"the snapshots cannot be read: %.160s", r < 0 ? strerror(-r) : diag.text);
	else if (report.status != EXIT_VERIFY_INTACT)
		finding_set(f, FINDING_FAILED, "`interlock chronicle verify` has more",
			"the snapshots do not verify: %.160s", report.text);
	else
		finding_set(f, FINDING_OK, "", "%llu snapshots verify",
			(unsigned long long)report.n_snapshots);
}

static int first_text(void *ctx, int n, char **values, char **names)
{
	(void)names;
	if (n > 0 && values[0])
		(void)snprintf(ctx, 64, "%s", values[0]); /* cut is fine: only "ok" counts */
	return 0;
}

static void check_database(const struct workspace *w, struct finding *f)
{
	auto_free char *path = path_in_state(w, "interlock.db");
	char answer[64] = "";
	sqlite3 *db = NULL;
	int r;

	if (!path || access(path, F_OK) < 0) {
		finding_set(f, FINDING_OK, "", "no sessions yet");
		return;
	}
	r = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, "PRAGMA quick_check(1)", first_text, answer, NULL);
	if (r != SQLITE_OK || strcmp(answer, "ok") != 0)
		finding_set(f, FINDING_FAILED,
			"stop the engine and move the file away; sessions are lost, the record is "
			"not",
			"the database is damaged: %.120s",
			r != SQLITE_OK ? sqlite3_errstr(r) : answer);
	else
		finding_set(f, FINDING_OK, "", "the database is sound");
	(void)sqlite3_close(db); /* read only */
}

static void check_disk(const struct workspace *w, struct finding *f)
{
	struct statvfs st;
	uint64_t available;

	if (fstatvfs(w->state_fd, &st) < 0) {
		finding_set(f, FINDING_FAILED, "see its file system", "%s: %s", w->state_path,
			strerror(errno));
		return;
	}
	available = (uint64_t)st.f_bavail * st.f_frsize;
	if (available < DISK_NEEDED)
		finding_set(f, FINDING_FAILED,
			"make room: without it nothing is recorded, and so nothing runs",
			"only %llu MiB are left for the state",
			(unsigned long long)(available >> 20));
	else
		finding_set(f, FINDING_OK, "", "%llu MiB are left for the state",
			(unsigned long long)(available >> 20));
}

static void check_clock(const struct workspace *w, struct finding *f)
{
	time_t now = time(NULL);
	struct tm tm;

	(void)w;
	if (!gmtime_r(&now, &tm) || tm.tm_year + 1900 < YEAR_OF_RELEASE)
		finding_set(f, FINDING_FAILED, "set the clock", "the clock says year %d",
			tm.tm_year + 1900);
	else
		finding_set(f, FINDING_OK, "", "the clock is plausible");
}

const struct doctor_check doctor_checks[] = {
	{ "programs", check_programs },
	{ "state", check_state_rights },
	{ "processes", check_processes },
	{ "sandbox", check_sandbox },
	{ "policy", check_policy },
	{ "audit", check_audit },
	{ "chronicle", check_chronicle },
	{ "database", check_database },
	{ "disk", check_disk },
	{ "clock", check_clock },
	{ NULL, NULL },
};
