/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs of this machine as tables, each with its error and how it was measured.
 */
#include "report/calibrate_tables.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

static const char *const units[] = { "cycles", "ns", "GB/s" };

TABLE_CTX_AS(report_of, struct calibrate_report)

/* ---- the machine ----------------------------------------------------------------------------- */

/* clang-format off */
/* clang-format on */

TABLE_GET(stolen)
{
	double v = report_of(t)->c->stolen;

	cell_estimate(out, (struct estimate){ v, 0, isnan(v) ? "the kernel does not say" : NULL });
}

TABLE_GET(ghz)
{
	struct estimate e = report_of(t)->c->hz;

	cell_estimate(out, (struct estimate){ e.v / 1e9, e.half / 1e9, e.why });
}

#define CTX(...) TABLE_CTX(struct calibrate_report, __VA_ARGS__)
static const struct table_column machine_columns[] = {
	COLUMN("cpu", "CPU", T_ID, 0, "that the kernels ran on", CTX(c, cpu)),
	COLUMN("cpu_desc", "CPU", T_TEXT, 0, "what the CPU is called", CTX(cpu_desc)),
	COLUMN("hypervisor", "hypervisor", T_TEXT, 0, "of a virtual machine", CTX(hypervisor)),
	COLUMN("model", "model", T_TEXT, 0, "whose penalties stand beside", CTX(model)),
	COLUMN("ghz", "clock", T_REAL, C_ERROR | C_WHY, "cycles by a chain of additions",
	       .get = ghz, .unit = "GHz"),
	COLUMN("stolen", "stolen", T_SHARE, C_WHY, "of the time, by the hypervisor", .get = stolen),
	COLUMN("repeats", "repeats", T_COUNT, 0, "that count", CTX(c, repeats)),
	COLUMN("stopped", "stopped", T_FLAG, 0, "before all was measured", CTX(c, stopped)),
	COLUMN("no_transfers", "no transfers", T_TEXT, 0, "why lines of other CPUs have no figure",
	       CTX(c, no_pairs)),
	COLUMN("no_nodes", "no nodes", T_TEXT, 0, "why memory of NUMA nodes has no figure",
	       CTX(c, no_places)),
};
static const struct table_form machine_form = { "machine", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(machine_columns) };

/* ---- costs ----------------------------------------------------------------------------------- */

TABLE_ROW_AS(row_of, struct calibrated)

TABLE_GET(how)
{
	const struct calibrated *x = row_of(r);
	char n[NUM_MAX];

	buf_printf(out->scratch, "%s", x->m->kernel);
	if (x->bytes)
		buf_printf(out->scratch, " of %s%s", num_bytes(n, x->bytes),
			   x->huge ? " in huge pages" : "");
	if (x->m->minus)
		buf_printf(out->scratch, " minus %s", x->m->minus);
	out->text = buf_str(out->scratch);
}

TABLE_CELL(cost, cell_estimate(out, row_of(r)->e); out->says = row_of(r)->doubt ? "?" : NULL)

/* clang-format off */
#define OF(...) TABLE_FIELD(struct calibrated, __VA_ARGS__)
/* clang-format on */
static const struct table_column cost_columns[] = {
	COLUMN("measure", "measure", T_TEXT, C_KEY, "its name", OF(m, key)),
	COLUMN("value", "cost", T_REAL, C_ERROR | C_WHY, "what one costs, or bytes a second",
	       .get = cost),
	COLUMN("unit", "unit", T_TEXT, 0, "of the value", OF(m, unit), TABLE_NAMES(units)),
	COLUMN("text", "of what", T_TEXT, C_FLEX | C_CUT, "what was measured", OF(m, means)),
	COLUMN("how", "kernel", T_TEXT, C_DROP, "kernels (list kernels)", .get = how),
	COLUMN("bytes", "bytes", T_BYTES, C_DATA | C_0_IS_NONE,
	       "of memory or code; none: the kernel's own", OF(bytes)),
	COLUMN("huge_pages", "huge pages", T_FLAG, C_DATA, "all memory was in huge pages",
	       OF(huge)),
	COLUMN("repeats", "repeats", T_COUNT, C_DATA, "that count", OF(repeats)),
	COLUMN("interrupted", "interrupted", T_COUNT, C_DATA, "repeats that do not count",
	       OF(dropped)),
	COLUMN("prefetchers", "prefetchers", T_TEXT, C_KEY | C_SPARSE,
	       "on: as they were; off: the hardware's are off; none: nobody asked",
	       OF(prefetchers)),
};
#undef OF
static const struct table_form costs_form = { "costs", NULL, TABLE_MAIN,
					      TABLE_COLUMNS(cost_columns), .rest = "measure" };

/* ---- latency over size ----------------------------------------------------------------------- */

#define BAR 40

/* As long as the logarithm of the latency: 1 ns to 1 us. */
TABLE_GET(bar)
{
	const struct calibrate_point *p = r->p;
	double x = isnan(p->ns.v) || p->ns.v < 1 ? 0 : log10(p->ns.v) / 3;

	for (int i = 0; i < BAR && i < x * BAR; i++)
		buf_putc(out->scratch, '#');
	out->text = buf_str(out->scratch);
}

#define OF(member) TABLE_FIELD(struct calibrate_point, member)
static const struct table_column point_columns[] = {
	COLUMN("bytes", "bytes", T_BYTES, C_KEY, "of the list", OF(bytes)),
	COLUMN("ns", "ns", T_REAL, C_ERROR | C_WHY, "a load that waits for the one before", OF(ns)),
	COLUMN("cycles", "cycles", T_REAL, C_ERROR, "the same", OF(cycles)),
	COLUMN("huge_pages", "huge pages", T_FLAG, 0, "all of it was in huge pages", OF(huge)),
	COLUMN("prefetchers", "prefetchers", T_TEXT, C_KEY | C_SPARSE, "as in costs",
	       OF(prefetchers)),
	COLUMN("bar", "1 ns to 1 us", T_TEXT, C_PEOPLE | C_DROP, "logarithm of ns", .get = bar),
};
#undef OF
static const struct table_form latency_form = { "latency", "latency over size", 0,
						TABLE_COLUMNS(point_columns), .rest = "size" };

/* ---- transfers ------------------------------------------------------------------------------- */

/* clang-format off */
#define PAIR(r) ((const struct calibrate_pair *)(r)->p)
TABLE_CELL(state, out->text = PAIR(r)->modified ? "modified" : "clean")
#define OF(member) TABLE_FIELD(struct calibrate_pair, member)
static const struct table_column pair_columns[] = {
	COLUMN("from", "from CPU", T_ID, C_KEY, "the CPU that has the line", OF(from)),
	COLUMN("to", "to CPU", T_ID, C_KEY, "the CPU that loads it", OF(to)),
	COLUMN("state", "line", T_TEXT, C_KEY, "clean: read before; modified: written",
	       .get = state),
	COLUMN("ns", "ns", T_REAL, C_ERROR | C_WHY, "a load of such a line", OF(ns)),
};
#undef OF
/* clang-format on */
static const struct table_form pairs_form = { "transfers", "lines of another CPU", 0,
					      TABLE_COLUMNS(pair_columns), .rest = "pair" };

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

#define OF(member) TABLE_FIELD(struct calibrate_place, member)
static const struct table_column place_columns[] = {
	COLUMN("memory_node", "memory of", T_ID, C_KEY, "NUMA node that has the memory",
	       OF(memory)),
	COLUMN("cpu_node", "from node", T_ID, C_KEY, "NUMA node of the CPU", OF(node)),
	COLUMN("cpu", "CPU", T_ID, 0, "that runs the kernels", OF(cpu)),
	COLUMN("ns", "ns", T_REAL, C_ERROR | C_WHY, "a load that waits for the one before", OF(ns)),
	COLUMN("gbs", "GB/s", T_REAL, C_ERROR | C_WHY, "reading in order", OF(gbs)),
};
#undef OF
static const struct table_form places_form = { "nodes", "memory of NUMA nodes", 0,
					       TABLE_COLUMNS(place_columns), .rest = "pair" };

/* ---- penalties ------------------------------------------------------------------------------- */

TABLE_ROW_AS(penalty_of, struct calibrate_penalty)

TABLE_GET(models)
{
	const struct account_node *m = penalty_of(r)->model;

	if (!m)
		return;
	cell_printf(out, "%g%s", m->penalty, m->ns ? " ns" : m->reference ? " ref" : "");
}

TABLE_GET(penalty)
{
	cell_estimate(out, penalty_of(r)->e);
	out->says = penalty_of(r)->doubt ? "?" : NULL;
}

/* clang-format off */
TABLE_CELL(penalty_unit, out->text = penalty_of(r)->ns ? "ns" : "cycles")
TABLE_CELL(here, cell_estimate(out, (struct estimate){ penalty_of(r)->model_here, 0, NULL }))
#define OF(member) TABLE_FIELD(struct calibrate_penalty, member)
static const struct table_column penalty_columns[] = {
	COLUMN("node", "node", T_TEXT, C_KEY, "of the cycle account", OF(node)),
	COLUMN("value", "here", T_REAL, C_ERROR | C_WHY, "its penalty on this machine",
	       .get = penalty),
	COLUMN("unit", "unit", T_TEXT, 0, "of the value", .get = penalty_unit),
	COLUMN("from", "from", T_TEXT, 0, "the measure, or the difference of two", OF(from)),
	COLUMN("model", "model", T_TEXT, C_SPARSE, "the model's penalty", .get = models),
	COLUMN("model_here", "model here", T_REAL, C_DATA, "the same in `unit`", .get = here),
	COLUMN("differs", "differs", T_FLAG, 0, "by more than the error", OF(differs)),
};
#undef OF
/* clang-format on */
static const struct table_form penalties_form = { "penalties", "penalties", 0,
						  TABLE_COLUMNS(penalty_columns), .rest = "node" };

/* ---- losses, all of it ----------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct calibrate, member)
static const struct table_column loss_columns[] = {
	COLUMN("interrupted", "interrupted", T_COUNT, C_LOSS,
	       "repeats during which the thread did not run: dropped", OF(dropped)),
	COLUMN("pairs_left_out", "pairs left out", T_COUNT, C_LOSS,
	       "pairs of CPUs that were not measured", OF(pairs_left_out)),
};
#undef OF
static const struct table_form losses_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
					       TABLE_COLUMNS(loss_columns) };

static const struct table_form *const forms[] = { &machine_form, &costs_form,  &latency_form,
						  &pairs_form,	 &places_form, &penalties_form,
						  &losses_form };
static const struct format faces[] = { { "svg", calibrate_svg, true, true } };
const struct document_form calibrate_document = { "calibrate", 1, forms, 7, faces, 1 };

/* Each reason once, with the measures that have no value for it. */
static void put_reasons(struct document *d, const struct calibrate *c)
{
	for (size_t i = 0; i < c->n_rows; i++) {
		const char *why = isnan(c->row[i].e.v) ? c->row[i].e.why : NULL;
		struct buf names = BUF_INIT;
		bool before = false;

		for (size_t k = 0; why && k < c->n_rows; k++) {
			const struct estimate *e = &c->row[k].e;

			if (!isnan(e->v) || !e->why || strcmp(e->why, why) != 0)
				continue;
			before |= k < i;
			buf_printf(&names, "%s%s", names.len ? ", " : "", c->row[k].m->key);
		}
		if (why && !before)
			document_fact(d, "no value", false, "%s: %s", buf_str(&names), why);
		d->failed |= names.failed;
		buf_free(&names);
	}
}

/* Measures that asked for huge pages and got none: their loads wait for page walks, too. */
static void put_small_pages(struct document *d, const struct calibrate *c)
{
	struct buf names = BUF_INIT;

	for (size_t i = 0; i < c->n_rows; i++)
		if (c->row[i].small && !isnan(c->row[i].e.v))
			buf_printf(&names, "%s%s", names.len ? ", " : "", c->row[i].m->key);
	for (size_t i = 0; i < c->n_points; i++)
		if (c->point[i].small && !isnan(c->point[i].ns.v)) {
			buf_printf(&names, "%slatency", names.len ? ", " : "");
			break;
		}
	if (names.len)
		document_fact(d, "no huge pages", true, "%s: TLB misses are in it",
			      buf_str(&names));
	d->failed |= names.failed;
	buf_free(&names);
}

static void put_facts(struct document *d, const struct calibrate_report *r)
{
	const struct calibrate *c = r->c;
	char n[NUM_MAX], s[NUM_MAX];

	if (r->emulator)
		document_fact(d, "emulated", true, "%s; costs are the emulator's", r->emulator);
	if (c->stopped)
		document_fact(d, "stopped", true, "before all was measured");
	if (c->stolen > 0)
		document_fact(d, "stolen", true,
			      "the hypervisor took %s of the time: bars are wider by that share",
			      num_percent(n, c->stolen));
	if (c->dropped)
		document_fact(d, "interrupted", false, "%s of %s repeats do not count",
			      num_exact(n, c->dropped), num_exact(s, c->dropped + c->repeats));
	put_reasons(d, c);
	put_small_pages(d, c);
	if (c->no_pairs)
		document_fact(d, "transfers", false, "not measured: %s", c->no_pairs);
	if (c->no_places)
		document_fact(d, "NUMA nodes", false, "not measured: %s", c->no_places);
	if (c->pairs_left_out)
		document_fact(d, "left out", false, "%s pairs of CPUs",
			      num_exact(n, c->pairs_left_out));
	if (r->no_model)
		document_fact(d, "model", false, "none to compare with: %s", r->no_model);
	if (r->file) {
		document_fact(d, "penalties", false, "are in %s", r->file);
		document_next(d, "cyclade report --account --penalties FILE", "uses them");
	} else {
		document_next(d, "cyclade calibrate -o FILE", "penalties for report --account");
	}
}

void calibrate_put(struct document *d, const struct calibrate_report *r)
{
	const struct calibrate *c = r->c;
	const struct table machine = { .form = &machine_form, .ctx = r, .array = c, .n = 1 };
	const struct table losses = { .form = &losses_form, .array = c, .n = 1 };
#define ROWS(form_, array_, n_)                             \
	&(const struct table){ .form = &(form_),            \
			       .ctx = r,                    \
			       .array = (array_),           \
			       .stride = sizeof(*(array_)), \
			       .n = (n_) }

	document_title(d, INK_BOLD, "CPU %u%s%s at %.3f GHz%s%s", c->cpu, r->cpu_desc ? ", " : "",
		       r->cpu_desc ? r->cpu_desc : "", c->hz.v / 1e9, r->hypervisor ? ", " : "",
		       r->hypervisor ? r->hypervisor : "");
	document_table(d, &machine);
	document_table(d, ROWS(costs_form, c->row, c->n_rows));
	document_table(d, ROWS(latency_form, c->point, c->n_points));
	document_table(d, ROWS(pairs_form, c->pair, c->n_pairs));
	document_table(d, ROWS(places_form, c->place, c->n_places));
	document_table(d, ROWS(penalties_form, r->penalty, r->n_penalties));
	document_table(d, &losses);
	put_facts(d, r);
}
