/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time in which groups were on.
 */
#include "model/slices/slices_int.h"

bool slices_on_at(const struct slices *s, const uint32_t *group, size_t n, uint64_t t, bool *visit)
{
	*visit = false;
	for (size_t i = 0; i < n; i++) {
		const struct slices_kept *k = &s->group[group[i]];
		size_t at = slices_last_before(k, t);
		enum slices_state state = at + 1 < k->t.n ? slices_state_of(k, at) : k->now;

		if (state == SLICES_OFF)
			return false;
		*visit = *visit || state == SLICES_VISIT;
	}
	return true;
}

/* Time in a slice that could be counted, on all targets. */
static double ran_in(const struct slices *s, const struct slices_kept *k, size_t slice)
{
	const struct slices_cell *c = &k->cell.v[slice * k->stride];
	double sum = 0;

	for (size_t t = 0; t < s->n_targets && k->n; t++)
		sum += c[k->stride + t].enabled - c[t].enabled;
	return sum;
}

void slices_when_seen(const struct slices *s, const uint32_t *group, size_t n, uint64_t from,
		      uint64_t to, struct slices_seen *out)
{
	const struct slices_kept *ref = NULL;
	bool was = false;

	*out = (struct slices_seen){ 0 };
	/* one that was never switched off has all of the time */
	for (size_t g = 0; g < s->n_groups && !ref; g++)
		if (!s->group[g].state.n && s->group[g].n && s->group[g].t.n > 1)
			ref = &s->group[g];
	if (!ref)
		return;
	for (size_t i = slices_nearest(ref, from); i < slices_nearest(ref, to); i++) {
		uint64_t mid = ref->t.v[i] + (ref->t.v[i + 1] - ref->t.v[i]) / 2;
		double ran = ran_in(s, ref, i);
		bool visit, on = slices_on_at(s, group, n, mid, &visit);

		out->all += ran;
		out->time += on ? ran : 0;
		out->visits += on && visit && !was;
		was = on && visit;
	}
}
