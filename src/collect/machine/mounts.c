/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/mounts.h"

#include <stddef.h>
#include <string.h>

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The next field of a line, its escapes undone in place. NULL: none. */
static char *take_mount_field(char **line)
{
	char *s = *line, *to = s, *p = s;

	if (!s)
		return NULL;
	while (*p && *p != ' ') {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && is_octal(p[2]) &&
		    is_octal(p[3])) {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to++ = *p++;
		}
	}
	*line = *p ? p + 1 : NULL;
	*to = '\0';
	return s;
}

bool mount_read(struct mount *m, char *line)
{
	const char *f;

	(void)take_mount_field(&line); /* number, parent */
	(void)take_mount_field(&line);
	m->device = take_mount_field(&line);
	m->root = take_mount_field(&line);
	m->point = take_mount_field(&line);
	while ((f = take_mount_field(&line)) && strcmp(f, "-") != 0) /* options, groups */
		;
	m->type = take_mount_field(&line);
	(void)take_mount_field(&line); /* source */
	m->options = line;
	return f && m->type && m->options;
}

const char *mounts_cgroup(char *text, bool unified)
{
	const char *second = NULL;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *dir, *type, *options;

		(void)take_mount_field(&line); /* source */
		dir = take_mount_field(&line);
		type = take_mount_field(&line);
		options = take_mount_field(&line);
		if (!options)
			continue;
		if (!unified && !strcmp(type, "cgroup") && strstr(options, "perf_event"))
			return dir;
		if (!strcmp(type, "cgroup2") && !second)
			second = dir;
	}
	return second;
}
