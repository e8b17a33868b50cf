/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples made of records of Arm's Statistical Profiling Extension, one row each, with the fields
 * of their packets.
 */
#include <assert.h>

#include "store/raw_int.h"

/* The fields are the last columns, as they stand in spe_field.def. */
static_assert(C_spe_timestamp - C_spe_events == SPE_TIME_STAMP - SPE_EVENTS_CODE, "");
static_assert(C_spe_refused - C_spe_run == C_ibs_op_refused - C_ibs_op_run, "columns of samples");

#define N1_MODEL      0x4100d0c0u /* implementer and part of MIDR_EL1 */
#define N1_MASK	      0xff00fff0u
#define LATE_PREFETCH 12

static int begin(struct raw *c, struct err *err)
{
	return raw_walk_begin(c, false, err);
}

static int next(struct raw *c, struct err *err)
{
	(void)err;
	if (!raw_walk_next(c))
		return 0;
	c->spe_taken = false;
	return 1;
}

/* Of the sample at hand, taken apart when the first of its fields is asked for. */
static const struct spe *spe_of(struct raw *c)
{
	if (!c->spe_taken) {
		const struct pd_sample *s = raw_sample(c);

		c->spe_refused = spe_read(&c->spe, s && s->has & PERF_SAMPLE_RAW ? s->raw : NULL,
					  s ? s->raw_size : 0);
		c->spe_taken = true;
	}
	return c->spe_refused ? NULL : &c->spe;
}

static void put_late_prefetch(const struct spe *x, struct raw_cell *out)
{
	uint64_t v;

	if ((x->midr & N1_MASK) == N1_MODEL && x->events_size > 1 &&
	    !spe_get(x, SPE_EVENTS_CODE, &v))
		value_int(out, v >> LATE_PREFETCH & 1);
}

static void put_packets(struct raw *c, struct raw_cell *out)
{
	const struct pd_sample *s = raw_sample(c);
	size_t len = s->raw_size - SPE_RAW_HEAD, n;
	const uint8_t *p = s->raw + SPE_RAW_HEAD;
	struct spe_packet k = { .kind = SPE_PAD };
	size_t end = 0;

	/* behind the record stand bytes that fill up the sample */
	for (size_t at = 0; at < len && (n = spe_packet_read(&k, p + at, len - at, at)); at += n)
		if (k.kind != SPE_PAD)
			end = at + n;
	*out = (struct raw_cell){ .kind = V_BLOB, .s = (const char *)p, .len = end, .stays = true };
}

static int value(struct raw *c, enum store_column_id col, struct raw_cell *out, struct err *err)
{
	const struct spe *x;
	const char *why;
	uint64_t v;

	if (col < C_spe_refused) /* the same as of an IBS op */
		return raw_samples.value(c, raw_sample_column((int)(col - C_spe_run)), out, err);
	x = spe_of(c);
	if (col == C_spe_refused)
		value_text(out, c->spe_refused, true);
	else if (!x)
		return 0;
	else if (col == C_spe_midr)
		value_int(out, x->midr);
	else if (col == C_spe_operation)
		value_text(out, spe_class_name(x), true);
	else if (col == C_spe_subclass)
		value_text(out, spe_subclass_name(x), true);
	else if (col == C_spe_source)
		value_text(out, spe_source_name(x, &why), true);
	else if (col == C_spe_late_prefetch)
		put_late_prefetch(x, out);
	else if (col == C_spe_packets)
		put_packets(c, out);
	else if (!spe_get(x, (enum spe_field)((int)(col - C_spe_events)), &v))
		value_int(out, v);
	return 0;
}

const struct raw_kind raw_spe = { begin, next, value };
