/* The real program interlock-files on real trees. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exit.h"
#include "base/files.h"
#include "ipc/files_job.h"
#include "tests/support/cmocka.h"

struct tree {
	char top[64], work[80], outside[80];
	struct arena a;
	struct grant grant;
	struct grant_path paths[3];
	const char *roots[1];
};

static void put_file(const char *directory, const char *name, const char *text)
{
	auto_free char *path = NULL;
	auto_fclose FILE *f = NULL;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) >= 0, 1);
}

static void put_directory(const char *directory, const char *name)
{
	auto_free char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	assert_int_equal(mkdir(path, 0755), 0);
}

static bool is_there(const char *directory, const char *name)
{
	auto_free char *path = NULL;
	struct stat st;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	return lstat(path, &st) == 0;
}

/* A workspace with a hidden directory, and something outside. */
static void tree_open(struct tree *t)
{
	memset(t, 0, sizeof(*t));
	arena_init(&t->a, 16 << 20);
	strcpy(t->top, "/tmp/files.XXXXXX");
	assert_non_null(mkdtemp(t->top));
	(void)snprintf(t->work, sizeof(t->work), "%s/work", t->top);
	(void)snprintf(t->outside, sizeof(t->outside), "%s/outside", t->top);
	put_directory(t->top, "work");
	put_directory(t->top, "outside");
	put_file(t->outside, "secret.txt", "needle outside\n");
	put_directory(t->work, "src");
	put_directory(t->work, "src/deep");
	put_directory(t->work, ".git");
	put_directory(t->work, "private");
	put_file(t->work, "README", "first\nthe Needle is here\n");
	put_file(t->work, "src/main.c", "int main(void)\n{\n\treturn needle();\n}");
	put_file(t->work, "src/deep/other.h", "nothing\n");
	put_file(t->work, ".git/config", "needle\n");
	put_file(t->work, "private/key", "needle key\n");
	assert_int_equal(chmod(t->top, 0755), 0);
	t->roots[0] = t->work;
	t->paths[0] = (struct grant_path){ .path = "", .rights = GRANT_WRITABLE };
	t->paths[1] = (struct grant_path){ .path = "private", .hide = true };
	t->grant = GRANT_NONE;
	t->grant.profile = "workspace-write";
	t->grant.roots = t->roots;
	t->grant.n_roots = 1;
	t->grant.paths = t->paths;
	t->grant.n_paths = 2;
}

static void tree_done(struct tree *t)
{
	auto_free char *command = NULL;

	assert_true(asprintf(&command, "rm -rf %s", t->top) > 0);
	assert_int_equal(system(command), 0);
	arena_done(&t->a);
}

static int start_worker(int job, int answer)
{
	auto_free char *program = NULL;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	if (asprintf(&program, "%s/interlock-files", getenv("INTERLOCK_BUILD_ROOT")) < 0)
		_exit(99);
	if (dup2(job, 0) < 0 || dup2(answer, 1) < 0)
		_exit(99);
	(void)execl(program, program, (char *)NULL);
	_exit(99);
}

/* Runs one job; %s in the payload is the tree's top. */
static struct files_answer ask(struct tree *t, const char *type, const char *payload)
{
	struct files_job job = { .type = type, .grant = t->grant };
	struct buf b = BUF_INIT(FILES_JOB_LIMIT), json = BUF_INIT(8192);
	struct buf out = BUF_INIT(FILES_ANSWER_LIMIT);
	int memfd = memfd_create("job", MFD_CLOEXEC), ends[2], pid, status;
	struct files_answer answer;
	struct diag diag;

	for (const char *at = payload; *at; at++) {
		if (*at == '@')
			buf_text(&json, t->top);
		else
			buf_byte(&json, (uint8_t)*at);
	}
	assert_int_equal(
		value_from_json(&t->a, buf_get_text(&json), json.size, &job.payload, &diag), 0);
	assert_int_equal(files_job_encode(&b, &job), 0);
	assert_int_equal(write_all(memfd, b.data, b.size), 0);
	assert_int_equal(lseek(memfd, 0, SEEK_SET), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = start_worker(memfd, ends[1]);
	(void)close(ends[1]);
	for (;;) {
		uint8_t *at = buf_reserve(&out, 4096);
		ssize_t n = read(ends[0], at, 4096);

		if (n <= 0)
			break;
		buf_grew(&out, (size_t)n);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(files_answer_decode(&t->a, out.data, out.size, &answer), 0);
	if (!answer.ok)
		print_message("%s: %s\n", type, answer.error);
	(void)close(ends[0]);
	(void)close(memfd);
	buf_done(&b);
	buf_done(&json);
	buf_done(&out);
	return answer;
}

static void a_listing_shows_all_but_what_is_hidden(void **state)
{
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	answer = ask(&t, "list_directory", "{\"path\":\"@/work\"}");
	assert_true(answer.ok);
	assert_string_equal(answer.content, ".git/\nREADME (25 bytes)\nsrc/\n");
	answer = ask(&t, "list_directory", "{\"path\":\"@/work/src\",\"recursive\":true}");
	assert_string_equal(answer.content, "deep/\ndeep/other.h (8 bytes)\nmain.c (36 bytes)\n");
	tree_done(&t);
}

static void a_search_finds_names(void **state)
{
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	answer = ask(&t, "search_files", "{\"path\":\"@/work\",\"pattern\":\"*.[ch]\"}");
	assert_string_equal(answer.content, "src/deep/other.h\nsrc/main.c\n");
	answer = ask(&t, "search_files", "{\"path\":\"@/work\",\"pattern\":\"key\"}");
	assert_true(answer.ok);
	assert_string_equal(answer.content, ""); /* hidden */
	tree_done(&t);
}

static void grep_finds_lines(void **state)
{
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	answer = ask(&t, "grep_files", "{\"path\":\"@/work\",\"pattern\":\"needle\"}");
	assert_true(answer.ok);
	assert_string_equal(answer.content,
		"README:2: the Needle is here\nsrc/main.c:3: \\x09return needle();\n");
	answer = ask(&t, "grep_files",
		"{\"path\":\"@/"
		"work\",\"pattern\":\"needle\",\"case_sensitive\":true,\"exclude\":\"*.c\"}");
	assert_string_equal(answer.content, "");
	answer = ask(&t, "grep_files", "{\"path\":\"@/work\",\"pattern\":\"e\",\"max_results\":1}");
	assert_true(answer.truncated);
	assert_non_null(strstr(answer.content, "[truncated at 1 entries]"));
	answer = ask(&t, "grep_files", "{\"path\":\"@/work/README\",\"pattern\":\"^first$\"}");
	assert_string_equal(answer.content, "README:1: first\n");
	answer = ask(&t, "grep_files", "{\"path\":\"@/work\",\"pattern\":\"(\"}");
	assert_false(answer.ok);
	assert_int_equal(answer.code, EINVAL);
	tree_done(&t);
}

static void long_and_binary_files_are_searched_rightly(void **state)
{
	auto_free char *text = malloc(400001);
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	assert_non_null(text);
	for (size_t i = 0; i < 400000; i++)
		text[i] = i % 100 == 99 ? '\n' : 'x';
	memcpy(text + 399900, "unique", 6);
	text[400000] = '\0';
	put_file(t.work, "big", text);
	answer = ask(&t, "grep_files", "{\"path\":\"@/work\",\"pattern\":\"^unique\"}");
	assert_int_equal(answer.n_entries, 1);
	assert_memory_equal(answer.content, "big:4000: unique", 16);
	{
		auto_free char *path = NULL;
		auto_close int fd = -1;

		assert_true(asprintf(&path, "%s/binary", t.work) > 0);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_int_equal(write(fd, "unique\0unique\n", 14), 14);
	}
	answer = ask(&t, "grep_files", "{\"path\":\"@/work\",\"pattern\":\"unique\"}");
	assert_int_equal(answer.n_entries, 1);
	tree_done(&t);
}

static void nothing_outside_the_grant_is_read(void **state)
{
	auto_free char *link = NULL;
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	answer = ask(&t, "grep_files", "{\"path\":\"@/outside\",\"pattern\":\"needle\"}");
	assert_false(answer.ok);
	assert_int_equal(answer.code, EACCES);
	answer = ask(&t, "list_directory", "{\"path\":\"@\"}");
	assert_false(answer.ok);
	answer = ask(&t, "list_directory", "{\"path\":\"@/work/private\"}");
	assert_false(answer.ok);
	/* A link out of the tree is not followed, neither in the path nor in the walk. */
	assert_true(asprintf(&link, "%s/out", t.work) > 0);
	assert_int_equal(symlink(t.outside, link), 0);
	answer = ask(&t, "list_directory", "{\"path\":\"@/work/out\"}");
	assert_false(answer.ok);
	answer = ask(&t, "grep_files", "{\"path\":\"@/work\",\"pattern\":\"outside\"}");
	assert_true(answer.ok);
	assert_string_equal(answer.content, "");
	tree_done(&t);
}

/* Even if the look into the grant were forgotten: the kernel says no. */
static void the_kernel_holds_the_grant_too(void **state)
{
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	t.paths[0].path = "src";
	t.grant.n_paths = 1;
	answer = ask(&t, "delete_directory", "{\"path\":\"@/work/src\"}");
	/* "src" may be emptied, but its own name is in a directory that is not granted. */
	assert_false(answer.ok);
	assert_true(is_there(t.work, "src"));
	tree_done(&t);
}

static void a_directory_is_copied_with_its_modes_and_links(void **state)
{
	struct files_answer answer;
	auto_free char *link = NULL;
	struct tree t;
	struct stat st;

	(void)state;
	tree_open(&t);
	assert_true(asprintf(&link, "%s/src/link", t.work) > 0);
	assert_int_equal(symlink("main.c", link), 0);
	{
		auto_free char *path = NULL;

		assert_true(asprintf(&path, "%s/src/main.c", t.work) > 0);
		assert_int_equal(chmod(path, 0750), 0);
	}
	answer = ask(&t, "copy_directory",
		"{\"source\":\"@/work/src\",\"destination\":\"@/work/copy\"}");
	assert_true(answer.ok);
	assert_int_equal(answer.n_entries, 4);
	assert_true(is_there(t.work, "copy/deep/other.h"));
	{
		auto_free char *path = NULL, *data = NULL;
		size_t n;

		assert_true(asprintf(&path, "%s/copy/main.c", t.work) > 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0750);
		assert_int_equal(file_read(AT_FDCWD, path, 1000, &data, &n), 0);
		assert_int_equal(n, 36);
	}
	answer = ask(&t, "copy_directory",
		"{\"source\":\"@/work/src\",\"destination\":\"@/work/copy\"}");
	assert_false(answer.ok); /* it is there already */
	assert_int_equal(answer.code, EEXIST);
	answer = ask(&t, "copy_directory",
		"{\"source\":\"@/work/src\",\"destination\":\"@/work/src/deep/in\"}");
	assert_false(answer.ok);
	answer = ask(&t, "copy_directory",
		"{\"source\":\"@/work/src\",\"destination\":\"@/outside/src\"}");
	assert_int_equal(answer.code, EACCES);
	assert_false(is_there(t.outside, "src"));
	tree_done(&t);
}

static void a_directory_is_moved(void **state)
{
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	answer = ask(
		&t, "move_directory", "{\"source\":\"@/work/src\",\"destination\":\"@/work/lib\"}");
	assert_true(answer.ok);
	assert_true(is_there(t.work, "lib/deep/other.h"));
	assert_false(is_there(t.work, "src"));
	tree_done(&t);
}

static void a_tree_with_a_hidden_place_is_not_changed(void **state)
{
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	t.paths[1].path = "src/deep";
	answer = ask(&t, "delete_directory", "{\"path\":\"@/work/src\"}");
	assert_false(answer.ok);
	assert_int_equal(answer.code, EACCES);
	assert_true(is_there(t.work, "src/main.c")); /* nothing was begun */
	answer = ask(
		&t, "move_directory", "{\"source\":\"@/work/src\",\"destination\":\"@/work/lib\"}");
	assert_int_equal(answer.code, EACCES);
	t.grant.n_paths = 1;
	answer = ask(&t, "delete_directory", "{\"path\":\"@/work/src\"}");
	assert_true(answer.ok);
	assert_int_equal(answer.n_entries, 4);
	assert_false(is_there(t.work, "src"));
	tree_done(&t);
}

static void a_delete_does_not_follow_links(void **state)
{
	auto_free char *link = NULL;
	struct files_answer answer;
	struct tree t;

	(void)state;
	tree_open(&t);
	assert_true(asprintf(&link, "%s/src/out", t.work) > 0);
	assert_int_equal(symlink(t.outside, link), 0);
	answer = ask(&t, "delete_directory", "{\"path\":\"@/work/src\"}");
	assert_true(answer.ok);
	assert_true(is_there(t.outside, "secret.txt"));
	tree_done(&t);
}

static void jobs_that_are_none_are_refused(void **state)
{
	struct files_answer answer;
	struct diag diag;
	struct files_job job;
	struct tree t;

	(void)state;
	tree_open(&t);
	answer = ask(&t, "execute_command", "{\"command\":\"id\"}");
	assert_false(answer.ok);
	assert_int_equal(answer.code, ENOTSUP);
	answer = ask(&t, "list_directory", "{}");
	assert_int_equal(answer.code, EINVAL);
	assert_int_equal(files_job_decode(&t.a, "\x80", 1, &job, &diag), -EBADMSG);
	assert_int_equal(files_job_decode(&t.a, "", 0, &job, &diag), -EBADMSG);
	tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listing_shows_all_but_what_is_hidden),
		cmocka_unit_test(a_search_finds_names),
		cmocka_unit_test(grep_finds_lines),
		cmocka_unit_test(long_and_binary_files_are_searched_rightly),
		cmocka_unit_test(nothing_outside_the_grant_is_read),
		cmocka_unit_test(the_kernel_holds_the_grant_too),
		cmocka_unit_test(a_directory_is_copied_with_its_modes_and_links),
		cmocka_unit_test(a_directory_is_moved),
		cmocka_unit_test(a_tree_with_a_hidden_place_is_not_changed),
		cmocka_unit_test(a_delete_does_not_follow_links),
		cmocka_unit_test(jobs_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
