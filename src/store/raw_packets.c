/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples whose raw data are taken apart, one row each: registers of AMD's Instruction-Based
 * Sampling, packets of Arm's Statistical Profiling Extension.
 */
#include "store/raw_int.h"

/* ---- IBS ------------------------------------------------------------------------------------- */

/* Returns the fields of the sample at hand, decoded when the first of them is asked for. */
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

/* A column that is null if the raw data are no sample. */
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

/* ---- SPE ------------------------------------------------------------------------------------- */

#define N1_MODEL      0x4100d0c0u /* implementer and part of MIDR_EL1 */
#define N1_MASK	      0xff00fff0u
#define LATE_PREFETCH 12

/* Returns the fields of the sample at hand, decoded when the first of them is asked for. */
static const struct spe *spe_spe_of(struct raw *c)
{
	if (!c->spe_taken) {
		const struct pd_sample *s = raw_sample(c);

		c->spe_refused = spe_read(&c->spe, s && s->has & PERF_SAMPLE_RAW ? s->raw : NULL,
					  s ? s->raw_size : 0);
		c->spe_taken = true;
	}
	return c->spe_refused ? NULL : &c->spe;
}

/* A column that is null if the raw data are no record. */
#define SPE_GET(name, ...)                                                   \
	RAW_GET(                                                             \
		name, const struct spe *x = spe_spe_of(raw); out->none = !x; \
		if (x) { __VA_ARGS__; })
RAW_GET(spe_refused, (void)spe_spe_of(raw); out->text = raw->spe_refused)
SPE_GET(spe_midr, out->n = x->midr)
SPE_GET(spe_operation, out->text = spe_class_name(x))
SPE_GET(spe_subclass, out->text = spe_subclass_name(x))
SPE_GET(spe_source, const char *why; out->text = spe_source_name(x, &why))
SPE_GET(spe_field, out->none = spe_get(x, (enum spe_field)c->which, &out->n))
SPE_GET(spe_late_prefetch, uint64_t v = 0;
	bool has = (x->midr & N1_MASK) == N1_MODEL && x->events_size > 1 &&
		   !spe_get(x, SPE_EVENTS_CODE, &v);
	raw_put(out, has, v >> LATE_PREFETCH & 1))

static void put_packets(struct raw *raw, struct table_cell *out)
{
	const struct pd_sample *s = raw_sample(raw);
	size_t len = s->raw_size - SPE_RAW_HEAD, n;
	const uint8_t *p = s->raw + SPE_RAW_HEAD;
	struct spe_packet k = { .kind = SPE_PAD };
	size_t end = 0;

	/* behind the record stand bytes that fill up the sample */
	for (size_t at = 0; at < len && (n = spe_packet_read(&k, p + at, len - at, at)); at += n)
		if (k.kind != SPE_PAD)
			end = at + n;
	raw_put_blob(out, true, p, end);
}
SPE_GET(spe_packets, put_packets(raw, out))
