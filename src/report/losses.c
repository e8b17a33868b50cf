/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/losses.h"

void losses_json(struct json *j, const struct pd_losses *l)
{
	const struct {
		const char *name;
		uint64_t n;
	} all[] = {
		{ "lost", l->lost },
		{ "lost_records", l->lost_records },
		{ "lost_samples", l->lost_samples },
		{ "read_lost", l->read_lost },
		{ "throttles", l->throttles },
		{ "unthrottles", l->unthrottles },
		{ "aux_lost", l->aux_lost },
		{ "unattributed", l->unattributed },
	};

	json_object(j, "losses");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		json_u64(j, all[i].name, all[i].n);
	json_end_object(j);
}
