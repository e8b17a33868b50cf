/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/losses.h"

#include <string.h>

void losses_of(const struct pd_losses *l, struct loss out[LOSSES])
{
	const struct loss all[LOSSES] = {
		{ "lost", "events lost because the ring was full", l->lost },
		{ "lost_records", "gaps that this made", l->lost_records },
		{ "lost_samples", "samples the kernel dropped", l->lost_samples },
		{ "read_lost", "samples lost by the counters' own count", l->read_lost },
		{ "throttles", "sampling paused by the kernel", l->throttles },
		{ "unthrottles", "and resumed", l->unthrottles },
		{ "aux_lost", "damaged pieces of AUX trace", l->aux_lost },
		{ "unattributed", "samples that belong to no event", l->unattributed },
	};

	memcpy(out, all, sizeof(all));
}

void losses_json(struct json *j, const struct pd_losses *l)
{
	struct loss loss[LOSSES];

	losses_of(l, loss);
	json_object(j, "losses");
	for (size_t i = 0; i < LOSSES; i++)
		json_u64(j, loss[i].name, loss[i].n);
	json_end_object(j);
}
