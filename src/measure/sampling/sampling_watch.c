/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether every CPU stayed. A CPU that goes offline takes its events along, and they do not return
 * with it. Nothing in the recording shows it: the rings are just empty. So each CPU has an event
 * that counts nothing beside those that sample; its time shows whether the CPU was there all along.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/nomem.h"
#include "measure/sampling/sampling_int.h"

static const struct counter_event nothing = { .attr = { .type = PERF_TYPE_SOFTWARE,
							.config = PERF_COUNT_SW_DUMMY,
							.exclude_kernel = 1,
							.exclude_hv = 1 },
					      .name = "dummy" };
static const struct counter_group alone = { .event = &nothing, .n = 1 };

void sampling_watch_begin(struct sampling *r)
{
	struct counter_setup s = { .group = &alone,
				   .n_groups = 1,
				   .cpus = r->k.who.cpus.v,
				   .n_cpus = r->k.who.cpus.n,
				   .cgroup_fd = -1 };

	if (!sampling_whole(r) || s.n_cpus < 2)
		return;
	/* without it there is no less in the recording */
	if (counters_open(&r->watch, &s, NULL) ||
	    counters_enable(r->watch, ALL_GROUPS, true, NULL)) {
		counters_close(r->watch);
		r->watch = NULL;
	}
}

void sampling_watch_end(struct sampling *r)
{
	size_t n = r->watch ? counters_targets(r->watch) : 0, gone = 0;
	struct counter_value *v = calloc(n + 1, sizeof(*v));
	struct buf list = BUF_INIT;

	if (v && n && !counters_read(r->watch, 0, v, NULL))
		for (size_t i = 0; i < n; i++) {
			if (!v[i].gone)
				continue;
			buf_printf(&list, "%s%u", gone++ ? ", " : "", r->k.who.cpus.v[i]);
		}
	if (gone)
		measure_news(
			&r->opts,
			"CPU%s %s went offline: no samples of %s from then on, even if %s back",
			gone == 1 ? "" : "s", buf_str(&list), gone == 1 ? "it" : "them",
			gone == 1 ? "it came" : "they came");
	if (!v)
		nomem_note();
	buf_free(&list);
	free(v);
}
