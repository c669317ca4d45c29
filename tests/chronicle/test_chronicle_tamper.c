/*
 * Whatever is changed in the store behind its back is found: every byte of every file, every
 * file removed, the tail cut, links of the chain exchanged.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "tests/chronicle/world.h"
#include "tests/support/cmocka.h"

static void fill(struct world *w)
{
	char id[IL_SNAPSHOT_ID_SIZE], text[200];

	world_open(w);
	for (int i = 0; i < 3; i++) {
		(void)snprintf(text, sizeof(text), "text number %d of some length to be found", i);
		put(w, "f", text);
		begin_at(w, "", true, id);
		put(w, "g", text + 3);
		seal(w, id);
	}
	il_chronicle_close(w->c);
	w->c = NULL;
}

/* The verdict of a reader: intact, broken, or not even openable. */
static int verdict(struct world *w, char *ret_text)
{
	struct il_chronicle_options options = w->options;
	struct il_chronicle_report report = { 0 };
	struct diag diag = { 0 };

	options.read_only = true;
	ret_text[0] = '\0';
	if (il_chronicle_open(&options, &w->c, &diag) != 0) {
		w->c = NULL;
		return EXIT_VERIFY_CANNOT_TELL;
	}
	assert_int_equal(il_chronicle_verify(w->c, &report), 0);
	il_chronicle_close(w->c);
	w->c = NULL;
	memcpy(ret_text, report.text, sizeof(report.text));
	return report.status;
}

static void flip(const char *path, off_t at)
{
	uint8_t byte;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x20;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	assert_int_equal(close(fd), 0);
}

static void every_byte_of_the_segments_counts(void **state)
{
	struct world w = { 0 };
	char path[400], text[256];
	struct stat st;

	(void)state;
	fill(&w);
	(void)snprintf(path, sizeof(path), "%s/segments/00000001", w.store);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
	for (off_t at = 0; at < st.st_size; at++) {
		flip(path, at);
		if (verdict(&w, text) == EXIT_VERIFY_INTACT)
			fail_msg("a change of byte %lld was not found", (long long)at);
		else if (text[0] == '\0')
			fail_msg("a change of byte %lld was not named", (long long)at);
		flip(path, at);
	}
	assert_int_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
	world_close(&w);
}

static void every_cut_is_found(void **state)
{
	struct world w = { 0 };
	char path[400], text[256], command[900];
	struct stat st;

	(void)state;
	fill(&w);
	(void)snprintf(path, sizeof(path), "%s/segments/00000001", w.store);
	assert_int_equal(stat(path, &st), 0);
	(void)snprintf(command, sizeof(command), "cp '%s' '%s/kept'", path, w.dir);
	assert_int_equal(system(command), 0);
	(void)snprintf(command, sizeof(command), "cp '%s/kept' '%s'", w.dir, path);
	for (off_t size = st.st_size - 1; size >= 0; size -= 1 + size / 40) {
		assert_int_equal(truncate(path, size), 0);
		if (verdict(&w, text) == EXIT_VERIFY_INTACT)
			fail_msg("a cut to %lld bytes was not found", (long long)size);
		assert_int_equal(system(command), 0);
	}
	assert_int_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
	world_close(&w);
}

static void a_cut_chain_takes_no_new_snapshot(void **state)
{
	struct world w = { 0 };
	struct il_snapshot_info info = { .action_type = "test" };
	struct il_chronicle_place place = { .path = "f" };
	char path[400], id[IL_SNAPSHOT_ID_SIZE];
	struct stat st;
	struct diag diag;

	(void)state;
	fill(&w);
	(void)snprintf(path, sizeof(path), "%s/segments/00000001", w.store);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 10), 0);
	assert_int_equal(il_chronicle_open(&w.options, &w.c, &diag), 0);
	place.dir_fd = w.tree_fd;
	place.root = w.tree;
	assert_int_equal(
		il_chronicle_begin(w.c, &info, &place, 1, id, NULL, &diag), IL_CHRONICLE_E_BROKEN);
	assert_non_null(strstr(diag.text, "missing"));
	world_close(&w);
}

static void a_head_that_is_changed_or_gone_is_found(void **state)
{
	struct world w = { 0 };
	char path[400], text[256];

	(void)state;
	fill(&w);
	(void)snprintf(path, sizeof(path), "%s/head", w.store);
	for (off_t at = 0; at < 112; at++) {
		flip(path, at);
		assert_int_not_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
		flip(path, at);
		flip(path, 512 + at);
		assert_int_not_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
		flip(path, 512 + at);
	}
	assert_int_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_not_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
	assert_int_equal(unlink(path), 0);
	assert_int_not_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
	world_close(&w);
}

static void another_key_does_not_pass(void **state)
{
	struct world w = { 0 };
	char command[600], text[256];

	(void)state;
	fill(&w);
	(void)snprintf(command, sizeof(command),
		"head -c 64 /dev/zero >'%s/key' && chmod 600 '%s/key'", w.store, w.store);
	assert_int_equal(system(command), 0);
	assert_int_not_equal(verdict(&w, text), EXIT_VERIFY_INTACT);
	world_close(&w);
}

static void a_changed_large_content_is_found_and_not_restored(void **state)
{
	struct world w = { 0 };
	char command[600], text[256], id[IL_SNAPSHOT_ID_SIZE];
	char *large = malloc((size_t)5 << 20), *found;

	(void)state;
	world_open(&w);
	memset(large, 'x', (size_t)5 << 20);
	large[((size_t)5 << 20) - 1] = '\0';
	put(&w, "large", large);
	begin_at(&w, "large", false, id);
	put(&w, "large", "small");
	seal(&w, id);
	(void)snprintf(command, sizeof(command),
		"for f in '%s'/large/*; do printf y | dd of=\"$f\" bs=1 seek=3000000 conv=notrunc "
		"2>/dev/null; done",
		w.store);
	assert_int_equal(system(command), 0);
	assert_true(roll_back(&w, id, NULL, false) < 0);
	found = get(&w, "large");
	assert_string_equal(found, "small");
	il_chronicle_close(w.c);
	assert_int_equal(verdict(&w, text), EXIT_VERIFY_BROKEN);
	assert_non_null(strstr(text, "changed"));
	(void)snprintf(command, sizeof(command), "rm '%s'/large/*", w.store);
	assert_int_equal(system(command), 0);
	assert_int_equal(verdict(&w, text), EXIT_VERIFY_BROKEN);
	assert_non_null(strstr(text, "missing"));
	free(large);
	free(found);
	world_close(&w);
}

static void a_store_open_to_others_is_refused(void **state)
{
	struct world w = { 0 };
	struct diag diag;

	(void)state;
	fill(&w);
	assert_int_equal(chmod(w.store, 0755), 0);
	assert_true(il_chronicle_open(&w.options, &w.c, &diag) < 0);
	assert_non_null(strstr(diag.text, "closed to others"));
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_of_the_segments_counts),
		cmocka_unit_test(every_cut_is_found),
		cmocka_unit_test(a_cut_chain_takes_no_new_snapshot),
		cmocka_unit_test(a_head_that_is_changed_or_gone_is_found),
		cmocka_unit_test(another_key_does_not_pass),
		cmocka_unit_test(a_changed_large_content_is_found_and_not_restored),
		cmocka_unit_test(a_store_open_to_others_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
