/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_memory - latencies of the memory operations of instructions, beside the samples: mean,
 * its error, and the latency that 90 % of them kept below.
 */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "report/annotate/annotate_int.h"

/* Samples at addresses within an instruction are that instruction's; the group with most counts. */
void annotate_memory(struct annotate *a, const struct memory *m, struct images *images)
{
	const struct annotate_target *t = &a->target;
	size_t end = m->first[MEMORY_INSTRUCTION + 1];

	a->latency = memory_shown_latency(m);
	for (size_t i = m->first[MEMORY_INSTRUCTION]; i < end; i++) {
		const struct memory_group *g = &m->group[i];
		uint64_t vaddr;
		size_t at;

		if (g->symbol != t->symbol || (uint32_t)g->key[1] != t->image ||
		    !memory_spread(m, g, a->latency))
			continue;
		if (!image_to_vaddr(images, t->image, g->key[0], &vaddr))
			vaddr = g->key[0];
		at = annotate_insn_at(a, vaddr);
		if (at == SIZE_MAX || a->insn.v[at].memory) /* they come with most samples first */
			continue;
		a->insn.v[at].memory = g;
		a->memory = m;
	}
	if (a->memory)
		annotate_note(a, "cycles: %s latency, %s", memop_latency_head(a->latency),
			      memop_latency_means(a->latency));
}

static const struct memory_spread *spread_line_memory(const struct annotate *a,
						      const struct annotate_insn *i)
{
	return a->memory && i->memory ? memory_spread(a->memory, i->memory, a->latency) : NULL;
}

/* ---- on a terminal --------------------------------------------------------------------------- */

void annotate_memory_head(struct buf *out, const struct annotate *a)
{
	if (a->memory)
		buf_printf(out, "  %7s %-6s %7s", "cycles", "+-", "p90");
}

void annotate_memory_blank(struct buf *out, const struct annotate *a)
{
	if (a->memory)
		buf_fill(out, ' ', ANNOTATE_MEMORY_WIDTH);
}

void annotate_memory_cells(struct buf *out, const struct annotate *a, const struct annotate_insn *i)
{
	const struct memory_spread *s = spread_line_memory(a, i);
	struct estimate mean, p90;
	char error[16] = "+-?";

	if (!s) {
		annotate_memory_blank(out, a);
		return;
	}
	mean = memory_mean(s);
	p90 = memory_quantile(a->memory, s, 0.9);
	if (!isnan(mean.half) && mean.half < 99999)
		(void)snprintf(error, sizeof(error), mean.half < 9.95 ? "+-%.1f" : "+-%.0f",
			       mean.half);
	buf_printf(out, mean.v < 9999.5 ? "  %7.1f" : "  %7.0f", mean.v);
	buf_printf(out, " %-6s %7.0f", error, p90.v);
}

/* ---- as columns ------------------------------------------------------------------------------ */

enum { TIMED, MEAN, P90, MOST };

TABLE_GET(line_memory_latency)
{
	const struct memory_spread *s =
		is_insn(t, r) ? spread_line_memory(annotated_of(t), annotated_insn_of(r)) : NULL;

	if (!s)
		cell_none(out, "no sample has a latency");
	else if (c->which == MEAN || c->which == P90)
		cell_estimate(out, c->which == MEAN
					   ? memory_mean(s)
					   : memory_quantile(annotated_of(t)->memory, s, 0.9));
	else
		out->n = c->which == TIMED ? s->n : s->most;
	out->says = s ? out->says : "";
}

const struct table_column annotate_memory_columns[] = {
	COLUMN("timed", "timed", T_COUNT, C_DATA, "samples that have a latency",
	       .get = line_memory_latency, .which = TIMED),
	COLUMN("latency", "cycles", T_REAL, C_ERROR | C_SPARSE,
	       "mean latency, as in the tables of mem", .unit = "cycles",
	       .get = line_memory_latency, .which = MEAN),
	COLUMN("latency_p90", "p90", T_REAL, C_ERROR | C_DATA, "90 % took no longer",
	       .unit = "cycles", .get = line_memory_latency, .which = P90),
	COLUMN("latency_most", "most", T_COUNT, C_DATA, "the longest", .unit = "cycles",
	       .get = line_memory_latency, .which = MOST),
};
const size_t annotate_n_memory_columns =
	sizeof(annotate_memory_columns) / sizeof(*annotate_memory_columns);
