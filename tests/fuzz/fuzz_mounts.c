/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of mountinfo and of mounts. What is read is escaped and written again, and must be read as
 * the same; a directory with any characters in it is found as the place of cgroups.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

/* As the kernel writes it: what would end a field, or begin an escape, in octal. */
static size_t put(char *to, size_t at, const char *s, char after)
{
	for (; *s; s++) {
		if (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\\')
			at += (size_t)sprintf(to + at, "\\%03o", (unsigned)(unsigned char)*s);
		else
			to[at++] = *s;
	}
	to[at++] = after;
	to[at] = '\0';
	return at;
}

static void again(const struct mount *m, char *text)
{
	struct mount o;
	size_t n = (size_t)sprintf(text, "1 2 ");

	n = put(text, n, m->device, ' ');
	n = put(text, n, m->root, ' ');
	n = put(text, n, m->point, ' ');
	n += (size_t)sprintf(text + n, "rw shared:1 - ");
	n = put(text, n, m->type, ' ');
	(void)sprintf(text + n, "source %s", m->options);
	must(mount_read(&o, text) && !strcmp(o.device, m->device) && !strcmp(o.root, m->root) &&
	     !strcmp(o.point, m->point) && !strcmp(o.type, m->type) &&
	     !strcmp(o.options, m->options));
}

static void cgroup_at(const char *dir, char *text)
{
	const char *found;
	size_t n = (size_t)sprintf(text, "proc /proc proc rw 0 0\ncgroup2 ");

	n = put(text, n, dir, ' ');
	(void)sprintf(text + n, "cgroup2 rw,nosuid 0 0\n");
	found = mounts_cgroup(text, false);
	must(found && !strcmp(found, dir));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text, *copy, *save = NULL;
	const char *dir;
	struct mount m;

	if (size > 65536)
		return 0;
	text = malloc(size + 1);
	copy = malloc(4 * size + 128);
	must(text && copy);
	for (unsigned pass = 0; pass < 2; pass++) {
		if (size)
			memcpy(text, data, size);
		text[size] = '\0';
		if (pass) {
			dir = mounts_cgroup(text, false);
			must(!dir || (dir >= text && dir + strlen(dir) <= text + size));
			continue;
		}
		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			if (!mount_read(&m, line))
				continue;
			again(&m, copy);
			cgroup_at(m.point, copy);
		}
	}
	free(text);
	free(copy);
	return 0;
}
