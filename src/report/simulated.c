/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/simulated.h"

#include "base/num.h"

#define OPEN_FROM 0.02 /* of all slots: smaller nodes below the first level stay closed */

/* Of a node with all below it. */
static uint64_t slots_of(const struct simulate *s, enum sim_cause node)
{
	uint64_t n = s->sums.cause[node];

	for (int i = 0; i < SIM_CAUSES; i++)
		if (sim_cause_parent((enum sim_cause)i) == node)
			n += slots_of(s, (enum sim_cause)i);
	return n;
}

/* The largest child of a node; SIM_CAUSES: it has none. */
static enum sim_cause largest(const struct simulate *s, enum sim_cause of)
{
	enum sim_cause best = SIM_CAUSES;

	for (int i = 0; i < SIM_CAUSES; i++)
		if (sim_cause_parent((enum sim_cause)i) == of &&
		    (best == SIM_CAUSES || slots_of(s, (enum sim_cause)i) > slots_of(s, best)))
			best = (enum sim_cause)i;
	return best;
}

static bool is_shown(const struct simulate *s, enum sim_cause node, unsigned depth)
{
	return !depth || (double)slots_of(s, node) >= OPEN_FROM * (double)s->counts.slots;
}

static void put_nodes(struct buf *b, const struct simulate *s, enum sim_cause parent,
		      unsigned depth, bool path)
{
	enum sim_cause most = path ? largest(s, parent) : SIM_CAUSES;
	int last = -1;

	for (int i = 0; i < SIM_CAUSES; i++)
		if (sim_cause_parent((enum sim_cause)i) == parent &&
		    is_shown(s, (enum sim_cause)i, depth))
			last = i;
	for (int i = 0; i <= last; i++) {
		enum sim_cause node = (enum sim_cause)i;

		if (sim_cause_parent(node) != parent || !is_shown(s, node, depth))
			continue;
		buf_printf(b, "row\t%u\t%s%s%s\t%.17g\t0\t1\t%s\t\t\n", depth, i == last ? "l" : "",
			   node == most ? "p" : "", i == last || node == most ? "" : "-",
			   (double)slots_of(s, node) / (double)s->counts.slots,
			   sim_cause_name(node));
		put_nodes(b, s, node, depth + 1, node == most);
	}
}

static void put_notes(struct buf *b, const struct simulate *s)
{
	const struct core *m = s->opts.machine;
	const struct sim_counts *n = &s->counts;
	unsigned from[CORE_ASSUMED + 1] = { 0 };
	char a[NUM_MAX], c[NUM_MAX], d[NUM_MAX], e[NUM_MAX];

	for (int i = 0; i < CORE_PARTS; i++)
		from[m->part_from[i]]++;
	buf_printf(
		b,
		"note\t%s cycles, %s instructions (%.2f a cycle); %s of %s branches mispredicted\n",
		num_count(a, (double)n->cycles), num_count(c, (double)n->insns),
		(double)n->insns / (double)(n->cycles ? n->cycles : 1),
		num_count(d, (double)n->mispredicted), num_count(e, (double)n->branches));
	buf_printf(b,
		   "note\tModelled, not measured: of the figures of %s %u are documented, %u "
		   "measured, "
		   "%u assumed. Compare versions with it; it is no stopwatch.\n",
		   m->id, from[CORE_DOCUMENTED], from[CORE_MEASURED], from[CORE_ASSUMED]);
	buf_printf(b,
		   "note\tNot in it: the kernel (%s system calls)%s, waiting, other threads' use "
		   "of the core, changes of frequency.\n",
		   num_exact(a, s->calls), s->children ? ", processes that it started" : "");
	if (n->unknown * 1000 > n->insns)
		buf_printf(
			b,
			"note\t%.1f %% of the instructions have no model: their cost is a guess.\n",
			100.0 * (double)n->unknown / (double)n->insns);
	if (s->sums.full)
		buf_printf(b,
			   "note\tThere are more than %s ways of calls: others are shown under "
			   "their callers.\n",
			   num_exact(a, CONTEXTS_MOST));
}

void simulated_tree_write(struct buf *out, const struct simulate *s)
{
	buf_printf(out, "cyclade.tree.rows 1\ncpu\tmodelled: %s\nview\t%llu\t\n",
		   s->opts.machine->id, (unsigned long long)s->counts.slots);
	if (s->counts.slots)
		put_nodes(out, s, SIM_CAUSES, 0, true);
	put_notes(out, s);
}
