/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes on the tables of memory operations: their bias, the events of their figures, next steps.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "report/memory/memory_int.h"

/* ---- bias of the figures --------------------------------------------------------------------- */

static void add_bias(struct document *d, const struct memop_how *how, const char *event)
{
	if (how->least && how->from == MEMOP_FROM_SPE)
		document_fact(d, "only slow", true,
			      "%s samples operations of %u cycles or more, their wait for issue "
			      "included: shares and quantiles are of these alone",
			      event, how->least);
	if (how->l3_only)
		document_fact(
			d, "only L3 misses", true,
			"%s samples what missed the L3 cache: nothing is said of the rest, and "
			"its period counts all ops, so that samples cannot be scaled up",
			event);
	if (how->from == MEMOP_FROM_OP && how->cycles)
		document_fact(
			d, "cycles mode", true,
			"%s selects ops by cycles: those after stalls are favoured, and "
			"instructions cannot be compared with each other (cnt_ctl=1 selects by "
			"dispatched ops)",
			event);
	if (how->by_software)
		document_fact(
			d, "filtered", false,
			"the kernel dropped samples of %s by where the interrupt came, not by "
			"where the op was: near system calls some are missing or strange",
			event);
}

static bool same_least(const struct memop_how *a, const struct memop_how *b)
{
	return a->least && a->least == b->least && a->from != MEMOP_FROM_SPE &&
	       b->from != MEMOP_FROM_SPE;
}

/* Events that sample slow loads, those with the same limit together. */
static void add_slow(struct document *d, const struct memory_view *v)
{
	const struct memop_how *how = v->m->how;

	for (size_t i = 0; i < v->source.n_events; i++) {
		struct buf names = BUF_INIT;
		size_t n = 0;
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= same_least(&how[k], &how[i]);
		for (size_t k = i; k < v->source.n_events && !again; k++)
			if (same_least(&how[k], &how[i]))
				buf_printf(&names, "%s%s", n++ ? ", " : "",
					   v->source.event[k].name);
		if (n)
			document_fact(
				d, "only slow loads", true,
				"%s sample%s loads of %u cycles or more: shares and quantiles "
				"are of these alone",
				buf_str(&names), n == 1 ? "s" : "", how[i].least);
		buf_free(&names);
	}
}

/* Kinds of cores whose events are added up. */
static void add_cores(struct document *d, const struct memory_view *v)
{
	static const char *const pmu[] = { "cpu_core/", "cpu_atom/" };
	bool has[2] = { false, false };

	for (size_t i = 0; i < v->source.n_events; i++)
		for (size_t k = 0; k < 2; k++)
			has[k] |= v->m->how[i].from > MEMOP_FROM_NOTHING &&
				  v->source.event[i].samples &&
				  !strncmp(v->source.event[i].name, pmu[k], strlen(pmu[k]));
	if (!has[0] || !has[1])
		return;
	document_fact(d, "kinds of cores", true,
		      "samples of P and E cores are added up, though their caches and latencies "
		      "differ; -e 'cpu_core/*' and -e 'cpu_atom/*' show them apart");
}

/* The function with the most cycles among those whose misses do not overlap. */
static void add_serial(struct document *d, const struct memory *m)
{
	const struct memory_group *most = NULL;
	double cycles = 0;

	for (size_t i = m->first[MEMORY_FUNCTION]; i < m->first[MEMORY_FUNCTION + 1]; i++) {
		const struct memory_group *g = &m->group[i];

		if (!g->symbol || !memory_serial(m, g))
			continue;
		if (memory_spread(m, g, MEMOP_LATENCY_DATA)->sum > cycles)
			most = g;
		cycles = fmax(cycles, memory_spread(m, g, MEMOP_LATENCY_DATA)->sum);
	}
	if (most)
		document_fact(
			d, "one by one", false,
			"misses of %s hardly overlap (%.1f open): each load waits for the one "
			"before, as in a list; prefetch, or walk several at a time",
			most->symbol->name, memory_open(most).v);
}

static void add_fetches(struct document *d, const struct memory *m)
{
	uint64_t done = 0, inside = 0, aborted = 0;
	char a[NUM_MAX], b[NUM_MAX];

	for (size_t i = m->first[MEMORY_INSTRUCTION]; i < m->first[MEMORY_INSTRUCTION + 1]; i++) {
		done += m->group[i].fetches;
		inside += m->group[i].fetches_inside;
		aborted += m->group[i].fetches_aborted;
	}
	if (inside)
		document_fact(d, "fetches", false,
			      "%s of %s samples lie within an instruction: they count for it",
			      num_exact(a, inside), num_exact(b, done + aborted));
	if (aborted)
		document_fact(d, "aborted", false,
			      "%s of %s fetches delivered nothing: their latencies are apart",
			      num_exact(a, aborted), num_exact(b, done + aborted));
}

static bool memory_is_spe(const struct memory_view *v)
{
	for (size_t i = 0; i < v->source.n_events; i++)
		if (v->m->how[i].from == MEMOP_FROM_SPE)
			return true;
	return false;
}

void memory_put_facts(struct document *d, const struct memory_view *v)
{
	const struct memory *m = v->m;
	char a[NUM_MAX], b[NUM_MAX];
	bool stores = false;

	add_slow(d, v);
	add_cores(d, v);
	for (size_t i = 0; i < v->source.n_events; i++)
		add_bias(d, &m->how[i], v->source.event[i].name);
	for (size_t i = m->first[MEMORY_SOURCE]; i < m->first[MEMORY_SOURCE + 1]; i++)
		stores |= m->group[i].stores && !memory_spread(m, &m->group[i], MEMOP_LATENCY_DATA);
	if (m->raw)
		document_fact(d, "multi-op", false,
			      "an instruction of several ops is sampled once for each: it has more "
			      "samples than its runs");
	if (m->raw && !memory_is_spe(v) && v->latency == MEMOP_LATENCY_DATA)
		document_fact(
			d, "latency", false,
			"told of loads that missed the data cache: hits and stores have none");
	else if (memory_is_spe(v) && v->latency == MEMOP_LATENCY_DATA)
		document_fact(d, "latency", false,
			      "from a load's issue to its data; its wait for registers is in "
			      "`total`, which stores have, too");
	else if (stores && v->latency == MEMOP_LATENCY_DATA)
		document_fact(d, "latency", false, "stores have none, or not all of them");
	if (m->period_varies)
		document_fact(d, "periods", false,
			      "they differ: each sample counts once here, though some stand for "
			      "more events");
	add_serial(d, m);
	add_fetches(d, m);
	if (m->no_access && m->raw)
		document_fact(d, "no access", false, "%s of %s ops access no memory",
			      num_exact(a, m->no_access), num_exact(b, m->samples));
	else if (m->no_access)
		document_fact(d, "latencies alone", false,
			      "%s of %s samples have no word of what they accessed (those of "
			      "record --mem have)",
			      num_exact(a, m->no_access), num_exact(b, m->samples));
	if (m->without)
		document_fact(d, "without", true, "%s of %s samples do not say what they accessed",
			      num_exact(a, m->without), num_exact(b, m->samples));
}
