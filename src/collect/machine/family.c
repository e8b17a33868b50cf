/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/family.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "base/nomem.h"
#include "collect/synth.h"
#include "collect/machine/synth_int.h"

#define CHILDREN_MAX (1u << 20) /* bytes of a list */

static size_t children_of_task(pid_t pid, pid_t tid, pid_t *out, size_t max)
{
	struct buf text = BUF_INIT;
	size_t n = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	if (!file_slurp(&text, path, CHILDREN_MAX, NULL) && text.len)
		n = synth_tasks_text(text.s, out, max);
	buf_free(&text);
	return n;
}

size_t family_tasks(pid_t pid, pid_t *out, size_t max)
{
	pid_t *process = calloc(max + 1, sizeof(*process));
	size_t n = 0, n_processes = 1;

	if (!process) {
		nomem_note();
		return 0;
	}
	process[0] = pid;
	for (size_t p = 0; p < n_processes && n < max; p++) {
		size_t n_threads;
		pid_t *thread;

		if (synth_threads(process[p], &thread, &n_threads, NULL))
			continue;
		for (size_t i = 0; i < n_threads && n < max; i++) {
			out[n++] = thread[i];
			n_processes += children_of_task(process[p], thread[i],
							process + n_processes, max - n_processes);
		}
		free(thread);
	}
	free(process);
	return n;
}
