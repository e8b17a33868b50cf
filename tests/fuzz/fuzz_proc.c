/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts of /proc: lines of modules, kallsyms and maps, a status, a list of tasks. What is read is
 * written again in the kernel's form and must be read as the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/machine/synth_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void module(const char *line)
{
	struct synth_module m, again;
	char text[256];

	if (!synth_module_line(&m, line))
		return;
	must(m.name[0] && strlen(m.name) <= 60 && m.start);
	(void)snprintf(text, sizeof(text), "%s %llu 1 - Live 0x%016llx", m.name,
		       (unsigned long long)m.size, (unsigned long long)m.start);
	must(synth_module_line(&again, text) && again.start == m.start && again.size == m.size &&
	     !strcmp(again.name, m.name));
}

static void symbol(const char *line)
{
	struct synth_symbol s, again;
	char text[512];

	if (!synth_symbol_line(&s, line))
		return;
	must(s.name[0] && strlen(s.name) < sizeof(s.name));
	(void)snprintf(text, sizeof(text), "%016llx %c %s", (unsigned long long)s.addr, s.type,
		       s.name);
	must(synth_symbol_line(&again, text) && again.addr == s.addr && again.type == s.type &&
	     !strcmp(again.name, s.name));
}

static void mapping(const char *line)
{
	struct synth_mapping m, again;
	char text[8192];

	if (!synth_mapping_line(&m, line))
		return;
	must(m.start < m.end && m.path > line && m.path <= line + strlen(line));
	must(!(m.prot & ~(uint32_t)(PROT_READ | PROT_WRITE | PROT_EXEC)));
	if (strlen(m.path) > 4096)
		return;
	(void)snprintf(text, sizeof(text), "%llx-%llx %c%c%c%c %08llx %02x:%02x %llu          %s",
		       (unsigned long long)m.start, (unsigned long long)m.end,
		       m.prot & PROT_READ ? 'r' : '-', m.prot & PROT_WRITE ? 'w' : '-',
		       m.prot & PROT_EXEC ? 'x' : '-', m.shared ? 's' : 'p',
		       (unsigned long long)m.offset, m.major, m.minor, (unsigned long long)m.inode,
		       m.path);
	must(synth_mapping_line(&again, text) && again.start == m.start && again.end == m.end &&
	     again.offset == m.offset && again.major == m.major && again.minor == m.minor &&
	     again.inode == m.inode && again.prot == m.prot && again.shared == m.shared &&
	     !strcmp(again.path, m.path));
}

static void tasks(const char *text)
{
	enum { MOST = 64 };
	pid_t v[MOST + 1];
	size_t n, k;
	char again[MOST * 12 + 1];
	int len = 0;

	v[MOST] = -1;
	n = synth_tasks_text(text, v, MOST);
	must(n <= MOST && v[MOST] == -1);
	for (k = 0; k < n; k++) {
		must(v[k] > 0);
		len += snprintf(again + len, sizeof(again) - (size_t)len, "%d ", (int)v[k]);
	}
	again[len] = '\0';
	must(synth_tasks_text(again, v, MOST) == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text, *save = NULL;
	struct synth_status st;

	if (size > 65536)
		return 0;
	text = malloc(size + 1);
	must(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	tasks(text);
	(void)synth_status_text(&st, text);
	must(strlen(st.name) <= 60);
	if (size)
		memcpy(text, data, size);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		module(line);
		symbol(line);
		mapping(line);
	}
	free(text);
	return 0;
}
