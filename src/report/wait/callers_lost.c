/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/wait/callers_lost.h"

#include "base/num.h"

#define MUCH 0.05

bool place_is_lost(const struct wait_place *p)
{
	return p->image == IMAGE_NONE && !p->symbol;
}

void callers_lost_put(struct document *d, double lost, double all)
{
	char a[NUM_MAX];

	if (lost > all * MUCH)
		document_fact(d, "callers lost", true,
			      "stacks of %s of the time begin in no mapping; build with "
			      "-fno-omit-frame-pointer",
			      num_percent(a, lost / all));
}
