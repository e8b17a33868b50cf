/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * truth - what really happened, for tests to hold what a tool printed against. A line for each
 *event when it is closed:
 *
 *	PMU NAME CONFIG CONFIG1 PID CPU ENABLED_NS RUNNING_NS COUNTED TRUE SAMPLED DROPPED
 *
 * COUNTED is what the counter held in the end, TRUE what it would have held had it never had to
 * wait for its turn. SAMPLED is what it had counted when its last samples were taken, in all
 * threads;
 *of that, no sample stands for DROPPED, which was forgotten as its period was changed.
 */
#include "context.h"
#include "ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void sim_truth_write(const struct sim *sim, const struct sim_counter *k)
{
	struct sim_sampled sampled = sim_sampled(sim, k);
	char line[512];
	int fd, n;

	if (!sim->truth || !k->pmu)
		return;
	n = snprintf(line, sizeof(line),
		     "%s %s %#llx %#llx %d %d %llu %llu %llu %.0f %.0f %.0f %.0f\n", k->pmu->name,
		     k->event.name, (unsigned long long)k->event.config,
		     (unsigned long long)k->event.config1, k->context->pid, k->context->cpu,
		     (unsigned long long)k->enabled, (unsigned long long)k->ran,
		     (unsigned long long)sim_counter_value(sim, k), k->true_count, sampled.until,
		     sampled.dropped, k->whole);
	fd = open(sim->truth, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, line, (size_t)n) != n)
		fprintf(stderr, "sim: cannot write %s\n", sim->truth);
	close(fd);
}
