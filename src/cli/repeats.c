/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/repeats.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "perfdata/perfdata.h"

#define MOST 100000 /* names that are tried */

const char *repeats_file(struct arena *a, const char *name, size_t k)
{
	return arena_printf(a, "%s.%zu", name, k);
}

static bool is_repeat(const char *path)
{
	char magic[8];

	return file_in_head(path, magic, sizeof(magic)) == sizeof(magic) &&
	       pd_begins(magic, sizeof(magic));
}

static bool repeat_name(char out[4096], const char *name, size_t k)
{
	int n = snprintf(out, 4096, "%s.%zu", name, k);

	return n > 0 && n < 4096;
}

size_t repeats_count(const char *name)
{
	char path[4096];
	size_t n = 0;

	if (!*name || file_look(name, NULL))
		return 0;
	while (n < MOST && repeat_name(path, name, n + 1) && is_repeat(path))
		n++;
	return n;
}

static void move_to_old(const char *path)
{
	char old[4096];
	int n = snprintf(old, sizeof(old), "%s.old", path);

	if (n > 0 && n < (int)sizeof(old))
		(void)!rename(path, old);
}

void repeats_move_old(const char *name)
{
	char path[4096];

	if (is_repeat(name))
		move_to_old(name);
	for (size_t k = 2; k < MOST && repeat_name(path, name, k) && is_repeat(path); k++)
		move_to_old(path);
}

int repeats_hint(const char *name, const char *command, struct err *err)
{
	size_t n = repeats_count(name);

	if (!n)
		return -1;
	return err_hint(err,
			"%.60s.1 to .%zu are recordings of several runs: cyclade %s %.60s.1; all "
			"of them: cyclade sum %.60s",
			name, n, command, name, name);
}
