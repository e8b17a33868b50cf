/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of AMD's Instruction-Based Sampling, one row each, with the fields of their registers.
 */
#include "store/raw_int.h"

static int begin_ibs(struct raw *c, struct err *err)
{
	c->part = ibs_part_of(pd_info(raw_of(c)->r.rec)->cpuid);
	return raw_walk_begin(c, false, err);
}

static int next_ibs(struct raw *c, struct err *err)
{
	(void)err;
	if (!raw_walk_next(c))
		return 0;
	c->ibs_taken = false;
	return 1;
}

/* Of the sample at hand, taken apart when the first of its fields is asked for. */
static const struct ibs *ibs_of(struct raw *c)
{
	enum ibs_kind kind = c->table == STORE_ibs_op ? IBS_OP : IBS_FETCH;
	const struct pd_sample *s;

	if (!c->ibs_taken) {
		s = raw_sample(c);
		c->ibs_refused = ibs_read(&c->ibs, kind, c->part,
					  s && s->has & PERF_SAMPLE_RAW ? s->raw : NULL,
					  s ? s->raw_size : 0);
		c->ibs_taken = true;
	}
	return c->ibs_refused ? NULL : &c->ibs;
}

const struct raw_kind raw_ibs = { begin_ibs, next_ibs };

/* A column that is null where the raw data are no sample. */
#define IBS_GET(name, ...) \
	RAW_GET(           \
		name, const struct ibs *x = ibs_of(raw); out->none = !x; if (x) { __VA_ARGS__; })
RAW_GET(ibs_refused, (void)ibs_of(raw); out->text = raw->ibs_refused)
IBS_GET(ibs_caps, out->n = x->caps)
IBS_GET(ibs_more, raw_put_blob(out, x->more_len, x->more, x->more_len))
IBS_GET(ibs_register, raw_put(out, x->has >> c->which & 1, x->reg[c->which]))
IBS_GET(ibs_source_code, out->none = ibs_source_code(x, &out->n))
IBS_GET(ibs_code_page, out->none = ibs_code_page(x, &out->n))
IBS_GET(ibs_source, const char *why; enum ibs_source s = ibs_source(x, &why);
	out->text = s == IBS_SOURCE_UNKNOWN ? NULL : ibs_source_name(s))

/* A field of the registers. A width is in bytes, as every width. */
IBS_GET(ibs_field, out->none = ibs_get(x, (enum ibs_field)c->which, &out->n);
	if (c->which == IBS_WIDTH) raw_put(out, !out->none && out->n, 1u << ((out->n - 1) & 31)))
