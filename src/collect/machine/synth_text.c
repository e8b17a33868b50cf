/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/machine/synth_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* "name size refs users state 0xaddress [flags]" */
bool synth_module_line(struct synth_module *m, const char *line)
{
	unsigned long long size, start;

	if (sscanf(line, "%60s %llu %*s %*s %*s 0x%llx", m->name, &size, &start) != 3 || !start)
		return false;
	m->size = size;
	m->start = start;
	return true;
}

bool synth_symbol_line(struct synth_symbol *s, const char *line)
{
	unsigned long long addr;

	if (sscanf(line, "%llx %c %255s", &addr, &s->type, s->name) != 3)
		return false;
	s->addr = addr;
	return true;
}

bool synth_status_text(struct synth_status *st, char *text)
{
	bool found = false;
	char *save = NULL;

	memset(st, 0, sizeof(*st));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned v;

		if (!strncmp(line, "Name:\t", 6)) {
			(void)snprintf(st->name, sizeof(st->name), "%.60s", line + 6);
		} else if (sscanf(line, "Tgid: %u", &v) == 1) {
			st->tgid = v;
			found = true;
		} else if (sscanf(line, "PPid: %u", &v) == 1) {
			st->ppid = v;
		} else if (sscanf(line, "Uid: %u", &v) == 1) {
			st->uid = v;
		}
	}
	return found;
}

/* "start-end perms offset major:minor inode   path" */
bool synth_mapping_line(struct synth_mapping *m, const char *line)
{
	unsigned long long start, end, offset, inode;
	char perms[8];
	int path = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, perms, &offset,
		   &m->major, &m->minor, &inode, &path) != 7 ||
	    end <= start || strlen(perms) < 4)
		return false;
	m->start = start;
	m->end = end;
	m->offset = offset;
	m->inode = inode;
	m->prot = (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u) |
		  (perms[2] == 'x' ? PROT_EXEC : 0u);
	m->shared = perms[3] == 's';
	m->path = line + path;
	return true;
}

size_t synth_tasks_text(const char *text, pid_t *out, size_t max)
{
	size_t n = 0;

	while (n < max) {
		char *end;
		long v = strtol(text, &end, 10);

		if (end == text || v <= 0 || v > INT32_MAX)
			break;
		out[n++] = (pid_t)v;
		text = end;
	}
	return n;
}
