/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of AMD's Instruction-Based Sampling, one row each, with the fields of their registers.
 */
#include <assert.h>

#include "store/raw_int.h"

/* What both tables begin with, in its order: columns of samples. */
static const enum store_column_id same[] = {
	C_samples_run,	C_samples_sample,   C_samples_time,   C_samples_cpu,	C_samples_pid,
	C_samples_tid,	C_samples_comm,	    C_samples_event,  C_samples_period, C_samples_ip,
	C_samples_mode, C_samples_function, C_samples_offset, C_samples_dso,	C_samples_address,
	C_samples_file, C_samples_line,
};
#define N_SAME ((int)(sizeof(same) / sizeof(*same)))
static_assert(C_ibs_op_refused - C_ibs_op_run == N_SAME, "columns of `same`");
static_assert(C_ibs_fetch_refused - C_ibs_fetch_run == N_SAME, "columns of `same`");
/* The fields are the last columns, as they stand in ibs_field.def. */
static_assert(C_ibs_op_load_resync - C_ibs_op_op_max_count == IBS_LOAD_RESYNC - IBS_OP_MAX, "");
static_assert(C_ibs_fetch_itlb_refill - C_ibs_fetch_fetch_max_count ==
		      IBS_ITLB_REFILL - IBS_FETCH_MAX,
	      "");

enum store_column_id raw_sample_column(int i)
{
	return same[i];
}

static int begin(struct raw *c, struct err *err)
{
	c->part = ibs_part_of(pd_info(raw_of(c)->r.rec)->cpuid);
	return raw_walk_begin(c, false, err);
}

static int next(struct raw *c, struct err *err)
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

static void put_register(const struct ibs *x, enum ibs_register r, struct raw_cell *out)
{
	if (x->has >> r & 1)
		value_int(out, x->reg[r]);
}

static void put_source(const struct ibs *x, bool code, struct raw_cell *out)
{
	const char *why;
	enum ibs_source s = ibs_source(x, &why);
	uint64_t n;

	if (!code)
		value_text(out, s == IBS_SOURCE_UNKNOWN ? NULL : ibs_source_name(s), true);
	else if (!ibs_source_code(x, &n))
		value_int(out, n);
}

static void put_more(const struct ibs *x, struct raw_cell *out)
{
	if (x->more_len)
		*out = (struct raw_cell){ .kind = V_BLOB,
					  .s = (const char *)x->more,
					  .len = x->more_len,
					  .stays = true };
}

static void put_field(const struct ibs *x, int field, struct raw_cell *out)
{
	uint64_t v;

	if (ibs_get(x, (enum ibs_field)field, &v))
		return;
	if (field != IBS_WIDTH)
		value_int(out, v);
	else if (v) /* in bytes, as every width */
		value_int(out, 1u << (v - 1));
}

/* What is not in ibs_field.def. */
static void op_value(const struct ibs *x, enum store_column_id col, struct raw_cell *out)
{
	switch (col) {
	case C_ibs_op_caps:
		value_int(out, x->caps);
		break;
	case C_ibs_op_more:
		put_more(x, out);
		break;
	case C_ibs_op_source:
	case C_ibs_op_source_code:
		put_source(x, col == C_ibs_op_source_code, out);
		break;
	case C_ibs_op_op_ctl:
		put_register(x, IBS_REG_OP_CTL, out);
		break;
	case C_ibs_op_op_data:
		put_register(x, IBS_REG_OP_DATA, out);
		break;
	case C_ibs_op_op_data2:
		put_register(x, IBS_REG_OP_DATA2, out);
		break;
	case C_ibs_op_op_data3:
		put_register(x, IBS_REG_OP_DATA3, out);
		break;
	case C_ibs_op_op_data4:
		put_register(x, IBS_REG_OP_DATA4, out);
		break;
	default:
		put_field(x, IBS_OP_MAX + (int)(col - C_ibs_op_op_max_count), out);
		break;
	}
}

static void fetch_value(const struct ibs *x, enum store_column_id col, struct raw_cell *out)
{
	uint64_t v;

	switch (col) {
	case C_ibs_fetch_caps:
		value_int(out, x->caps);
		break;
	case C_ibs_fetch_more:
		put_more(x, out);
		break;
	case C_ibs_fetch_itlb_page_size:
		if (!ibs_code_page(x, &v))
			value_int(out, v);
		break;
	case C_ibs_fetch_fetch_ctl:
		put_register(x, IBS_REG_FETCH_CTL, out);
		break;
	case C_ibs_fetch_fetch_extended:
		put_register(x, IBS_REG_FETCH_EXTENDED, out);
		break;
	default:
		put_field(x, IBS_FETCH_MAX + (int)(col - C_ibs_fetch_fetch_max_count), out);
		break;
	}
}

static int value(struct raw *c, enum store_column_id col, struct raw_cell *out, struct err *err)
{
	bool op = c->table == STORE_ibs_op;
	int i = (int)col - (op ? C_ibs_op_run : C_ibs_fetch_run);
	const struct ibs *x;

	if (i < N_SAME)
		return raw_samples.value(c, same[i], out, err);
	x = ibs_of(c);
	if (i == N_SAME)
		value_text(out, c->ibs_refused, true);
	else if (x && op)
		op_value(x, col, out);
	else if (x)
		fetch_value(x, col, out);
	return 0;
}

const struct raw_kind raw_ibs = { begin, next, value };
