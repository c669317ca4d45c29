/*
 * Runs a fuzz target over the files of its corpus, so that every crash ever found stays found in
 * the everyday tests, with any compiler.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files.h"

#define INPUT_MAX ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	auto_closedir DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
	unsigned n = 0;

	if (!dir) {
		(void)fprintf(stderr, "usage: replay CORPUS\n");
		return 1;
	}
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		auto_free char *data = NULL;
		size_t size;
		int r;

		if (entry->d_name[0] == '.')
			continue;
		r = file_read(dirfd(dir), entry->d_name, INPUT_MAX, &data, &size);
		if (r != 0) {
			(void)fprintf(stderr, "%s: %s\n", entry->d_name, strerror(-r));
			return 1;
		}
		(void)LLVMFuzzerTestOneInput(
			(const uint8_t *)data, size); /* always 0; it aborts on a fault */
		n++;
	}
	printf("%u inputs replayed\n", n);
	return n > 0 ? 0 : 1;
}
