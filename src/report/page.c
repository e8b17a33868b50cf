/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/page.h"

#include <math.h>
#include <stdio.h>

const char *page_leaning(const struct flow_sums *s)
{
	return s->late ? "counts have no error bar: the event is not precise, so samples come "
			 "late, by a number of cycles that is not recorded, and more often where "
			 "the processor waits. Record with :pp, if the CPU has it for the event"
		       : "the event counts no branches, so stacks are more often of code where "
			 "the processor waits. Errors with ~ contain the difference of the halves "
			 "of stacks, not what no stack shows";
}

const char *page_error(char out[NUM_MAX], struct flow_value v)
{
	const char *mark = v.leans ? "~" : "";
	double share = v.half / v.v;

	if (!isfinite(share))
		(void)snprintf(out, NUM_MAX, "+-?%s", mark);
	else if (share >= 0.9995)
		(void)snprintf(out, NUM_MAX, "+-100 %%+%s", mark);
	else
		(void)snprintf(out, NUM_MAX, "+-%.1f %%%s", 100 * share, mark);
	return out;
}

const char *page_estimate(char out[NUM_MAX], double v)
{
	if (v >= 0 && v < 99.5)
		(void)snprintf(out, NUM_MAX, "%.3g", v);
	else
		(void)num_count(out, v < 1e6 ? round(v) : v);
	return out;
}

const char *page_share(char out[NUM_MAX], double v)
{
	if (isnan(v))
		(void)snprintf(out, NUM_MAX, "-");
	else
		(void)num_percent(out, v);
	return out;
}
