/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the plan of a monitor that was killed: no register but a monitor's own gets out.
 */
#include <stdint.h>
#include <stdlib.h>

#include "collect/counters/msr_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	struct msr_plan p;
	int rc = msr_plan_parse(&p, (const char *)data, size, &err);

	if ((rc == 0) != (err.code == ERR_NONE))
		abort();
	for (size_t i = 0; i < p.row.n; i++) {
		const struct msr_row *r = &p.row.v[i];

		if (r->ctr ? r->reg < 0xC0010200 || r->reg >= 0xC0010260 || r->ctr != r->reg + 1
			   : r->reg != MSR_GLOBAL_CTL && r->reg != MSR_HWCR &&
				     r->reg != MSR_PREFETCH_INTEL && r->reg != MSR_PREFETCH_AMD)
			abort();
	}
	msr_plan_free(&p);
	return 0;
}
