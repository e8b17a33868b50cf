/* SPDX-License-Identifier: BSD-3-Clause */
/* A row's samples by event, whichever way it keeps them. */
#include "analyse/profile/profile_int.h"

const struct tally profile_no_tally = { 0, 0, 0 };

void profile_tallies(const struct profile_row *r, size_t n_events, struct tally *to)
{
	for (size_t e = 0; !r->event && e < n_events; e++)
		tally_add(&to[e], &r->tally[e]);
	for (uint32_t i = 0; r->event && i < r->n_cells; i++)
		tally_add(&to[r->event[i]], &r->tally[i]);
}
