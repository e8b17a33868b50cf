/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay - runs a fuzzer's entry point over files and folders, so that its corpus is a test on any
 * compiler. Speaks TAP: one line per file.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned count;

static void one_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t len = 0, got;

	if (!f)
		return;
	do {
		uint8_t *more = realloc(data, len + 65536);

		if (!more)
			abort();
		data = more;
		got = fread(data + len, 1, 65536, f);
		len += got;
	} while (got);
	(void)fclose(f);
	/* an exact copy, so that a sanitizer sees every step past the end */
	uint8_t *exact = malloc(len ? len : 1);

	if (!exact)
		abort();
	if (len)
		memcpy(exact, data, len);
	free(data);
	(void)LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	printf("ok %u - %s\n", ++count, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	(void)fflush(stdout);
}

static void one_path(const char *path)
{
	struct stat st;
	struct dirent **list = NULL;
	int n;

	if (stat(path, &st))
		return;
	if (!S_ISDIR(st.st_mode)) {
		one_file(path);
		return;
	}
	n = scandir(path, &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char sub[4096];

		if (list[i]->d_name[0] != '.' &&
		    snprintf(sub, sizeof(sub), "%s/%s", path, list[i]->d_name) < (int)sizeof(sub))
			one_path(sub);
		free(list[i]);
	}
	free(list);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		one_path(argv[i]);
	if (count)
		printf("1..%u\n", count);
	else
		printf("1..0 # SKIP no corpus here\n");
	return 0;
}
