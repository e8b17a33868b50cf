/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/validate_skid.h"

bool validate_skid_fits(const struct validate_event *e)
{
	const struct validate_rule *r = validate_rule_of(e->name);

	if (e->absent || !r || r->kind != COUNTS_SUM || r->weight[Q_LOADS] != 1)
		return false;
	for (unsigned q = 0; q < QUANTITIES; q++)
		if (q != Q_LOADS && r->weight[q] != 0)
			return false;
	return true;
}

double validate_skid_time(const struct validate_skid_opts *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_events; i++)
		n += validate_skid_fits(&o->event[i]);
	return (double)n * VALIDATE_PRECISE * VALIDATE_SAMPLED;
}

/* ---- a level --------------------------------------------------------------------------------- */

static int one_level(struct validate_skid *out, struct validate_samples *s,
		     const struct kernel_skid *k, struct err *err)
{
	struct validate_sample_opts o = { .event = out->event,
					  .precise = out->precise,
					  .regs = UINT64_C(1) << k->reg,
					  .kernel = kernel_find("skid") };

	if (validate_sample(s, &o, &out->why, err))
		return -1;
	validate_skid_sum(out, k, s->seen, s->n);
	return 0;
}

int validate_skid(struct validate_skid **out, size_t *n, struct arena *a,
		  const struct validate_skid_opts *o, struct err *err)
{
	struct validate_skid *row =
		arena_alloc(a, (o->n_events * VALIDATE_PRECISE + 1) * sizeof(*row));
	struct validate_samples *s = arena_alloc(a, sizeof(*s));
	struct kernel_skid k;
	size_t events = 0, done = 0;
	int rc = 0;

	*n = 0;
	*out = row;
	if (!row || !s)
		return err_nomem(err);
	if (!kernel_skid_place(&k))
		return 0;
	*s = VALIDATE_SAMPLES_INIT;
	for (size_t i = 0; i < o->n_events; i++)
		events += validate_skid_fits(&o->event[i]);
	for (size_t i = 0; !rc && i < o->n_events; i++) {
		if (!validate_skid_fits(&o->event[i]))
			continue;
		for (unsigned level = 0; !rc && level < VALIDATE_PRECISE; level++) {
			struct validate_skid *x = &row[(*n)++];

			*x = (struct validate_skid){ .event = &o->event[i], .precise = level };
			rc = one_level(x, s, &k, err);
			if (o->news &&
			    !o->news(o->ctx, (double)++done / (double)(events * VALIDATE_PRECISE)))
				return rc;
		}
	}
	return rc;
}
