/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree - a machine made of files, in a folder of its own below /tmp.
 */
#ifndef CYCLADE_TESTS_COLLECT_TREE_H
#define CYCLADE_TESTS_COLLECT_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tree_file {
	const char *path, *text; /* text NULL: a folder */
};

static inline int tree_remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st;
	(void)flag;
	(void)f;
	return remove(path);
}

static inline void tree_remove(const char *root)
{
	(void)nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void tree_put(const char *root, const char *path, const char *text)
{
	char full[512];
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *p = full + strlen(root) + 1; *p; p++)
		if (*p == '/') {
			*p = 0;
			(void)mkdir(full, 0755);
			*p = '/';
		}
	if (!text) {
		(void)mkdir(full, 0755);
		return;
	}
	f = fopen(full, "w");
	if (!f)
		abort();
	(void)fputs(text, f);
	(void)fclose(f);
}

/* `root` is a template for mkdtemp; files end with a NULL path. */
static inline void tree_make(char *root, const struct tree_file *files)
{
	if (!mkdtemp(root))
		abort();
	for (; files->path; files++)
		tree_put(root, files->path, files->text);
}

#endif
