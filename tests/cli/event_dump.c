/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_dump - what the event grammar makes of words, for scripts to compare: event_dump ROOT
 * EVENT...
 *
 *	# EVENT
 *	name<TAB>type=.. config=.. ...		for each event it became
 *	!what					where it was refused, and ?hint
 */
#include <stdio.h>

#include "collect/event.h"

static void dump(const struct event *ev)
{
	const struct perf_event_attr *a = &ev->attr;

	printf("%s\ttype=%u config=0x%llx config1=0x%llx config2=0x%llx exclude_user=%u "
	       "exclude_kernel=%u exclude_hv=%u exclude_idle=%u pinned=%u precise_ip=%u "
	       "bp_type=%u\n",
	       ev->name, a->type, (unsigned long long)a->config, (unsigned long long)a->config1,
	       (unsigned long long)a->config2, a->exclude_user, a->exclude_kernel, a->exclude_hv,
	       a->exclude_idle, a->pinned, a->precise_ip,
	       a->type == PERF_TYPE_BREAKPOINT ? a->bp_type : 0);
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
