/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_dump - what the event grammar makes of words, one event a line, for scripts to compare:
 *
 *	event_dump ROOT EVENT...
 *	name<TAB>type config config1 config2 euser ekernel ehv eguest ehost precise period freq
 *group
 *
 * "!what" where parsing failed. Probes' pointers are shown as 1.
 */
#include <stdio.h>

#include "collect/event.h"

static void dump(const struct event *ev)
{
	const struct perf_event_attr *a = &ev->attr;
	bool probe = ev->pmu[0] == 'u' || ev->pmu[0] == 'k';

	printf("%s\t0x%x 0x%llx 0x%llx 0x%llx %u %u %u %u %u %u %llu %u %d\n", ev->name, a->type,
	       (unsigned long long)a->config,
	       (unsigned long long)(probe && a->config1 > 0xffff ? 1 : a->config1),
	       (unsigned long long)a->config2, a->exclude_user, a->exclude_kernel, a->exclude_hv,
	       a->exclude_guest, a->exclude_host, a->precise_ip,
	       (unsigned long long)a->sample_period, a->freq, ev->group);
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		struct event_list list = EVENT_LIST_INIT;
		struct err err = ERR_INIT;

		printf("# %s\n", argv[i]);
		if (event_parse(&list, argv[1], argv[i], &err))
			printf("!%s\n?%s\n", err.what, err.hint);
		vec_each (&list.ev, struct event *, ev)
			dump(ev);
		event_list_free(&list);
	}
	return 0;
}
