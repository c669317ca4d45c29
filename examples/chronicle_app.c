/*
 * A program that edits a file and lets its user take that back, with the installed
 * library alone:
 *
 *	cc chronicle_app.c $(pkg-config --cflags --libs interlock-chronicle) -o chronicle_app
 *	./chronicle_app STORE DIRECTORY FILE
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <chronicle/chronicle.h>

static int tell(void *ctx, const struct il_change *change)
{
	(void)ctx;
	printf("changed: %s (%llu → %llu bytes)\n", change->path,
		(unsigned long long)change->size_before, (unsigned long long)change->size_after);
	return 0;
}

static int append(int dir_fd, const char *path, const char *text)
{
	int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -1;
	return close(fd);
}

static int edit(struct il_chronicle *chronicle, const char *root, int root_fd, const char *path)
{
	struct il_snapshot_info info = { .action_type = "append", .summary = "a line is added" };
	struct il_chronicle_place place = {
		.dir_fd = root_fd, .root = root, .path = path, .may_create = true
	};
	struct il_rollback back = { 0 };
	char id[IL_SNAPSHOT_ID_SIZE], own[IL_SNAPSHOT_ID_SIZE];
	struct diag diag = { 0 };
	int r = il_chronicle_begin(chronicle, &info, &place, 1, id, NULL, &diag);

	/* No snapshot, no action. */
	if (r != 0)
		return fprintf(stderr, "no snapshot: %s\n", diag.text), 1;
	r = append(root_fd, path, "one more line\n");
	if (il_chronicle_seal(
		    chronicle, id, r == 0 ? IL_OUTCOME_DONE : IL_OUTCOME_FAILED, tell, NULL) != 0)
		return 1;
	back.id = id;
	r = il_chronicle_rollback(chronicle, &back, NULL, NULL, own, &diag);
	if (r != 0)
		return fprintf(stderr, "not taken back: %s\n", diag.text), 1;
	printf("taken back: %s\n", own);
	return 0;
}

int main(int argc, char **argv)
{
	struct il_chronicle_options options = { 0 };
	struct il_chronicle *chronicle = NULL;
	struct diag diag = { 0 };
	char *root;
	int root_fd, status;

	if (argc != 4)
		return fprintf(stderr, "usage: %s STORE DIRECTORY FILE\n", argv[0]), 64;
	root = realpath(argv[2], NULL);
	root_fd = root ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	options.dir = argv[1];
	if (root_fd < 0 || il_chronicle_open(&options, &chronicle, &diag) != 0)
		return fprintf(stderr, "cannot open: %s\n", diag.text), 1;
	status = edit(chronicle, root, root_fd, argv[3]);
	il_chronicle_close(chronicle);
	(void)close(root_fd);
	free(root);
	return status;
}
