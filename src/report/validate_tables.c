/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verdicts on events as tables: failed ones first, those that could not be tested last.
 */
#include "report/validate_tables.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

TABLE_CTX_AS(report_of, struct validate_report)

/* ---- the machine ----------------------------------------------------------------------------- */

/* clang-format off */
TABLE_CELL(pmu, out->n = !report_of(t)->no_pmu)
/* clang-format on */

#define CTX(...) TABLE_CTX(struct validate_report, __VA_ARGS__)
static const struct table_column machine_columns[] = {
	COLUMN("cpu", "CPU", T_ID, 0, "that the kernels ran on", CTX(cpu)),
	COLUMN("cpu_desc", "CPU", T_TEXT, 0, "what the CPU is called", CTX(cpu_desc)),
	COLUMN("hypervisor", "hypervisor", T_TEXT, 0, "of a virtual machine", CTX(hypervisor)),
	COLUMN("model", "model", T_TEXT, 0, "whose events are tested", CTX(model)),
	COLUMN("pmu", "PMU", T_FLAG, 0, "the CPU's counters can be used", .get = pmu),
	COLUMN("no_pmu", "no PMU", T_TEXT, 0, "why not", CTX(no_pmu)),
	COLUMN("no_busy_core", "no busy core", T_TEXT, 0,
	       "why no event was tested while the core's other thread was busy",
	       CTX(v, no_sibling)),
	COLUMN("emulated", "emulated", T_FLAG, 0, "time follows instructions: no pipeline",
	       CTX(v, emulated)),
	COLUMN("groups", "groups", T_COUNT, 0, "of events that counted together, over all kernels",
	       CTX(v, groups)),
	COLUMN("stopped", "stopped", T_FLAG, 0, "before all was tested", CTX(v, stopped)),
};
static const struct table_form machine_form = { "machine", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(machine_columns) };

/* ---- events ---------------------------------------------------------------------------------- */

static void put_fault(struct buf *b, const struct validated *v)
{
	switch (v->cause) {
	case CAUSE_FACTOR:
		buf_printf(b, "%.4g times what it should, in all kernels", v->weight);
		break;
	case CAUSE_QUANTITY:
		buf_printf(b, "%.3g of %s %s", fabs(v->weight), v->with,
			   v->weight < 0 ? "missing" : "as well");
		break;
	case CAUSE_SPECULATION:
		buf_printf(b, "work on wrong paths as well: %.3g for each mispredict", v->weight);
		break;
	case CAUSE_UNIT:
		buf_printf(b, "counts %.3g of %s instead", v->weight, v->with);
		break;
	case CAUSE_CORE:
		buf_puts(b, "counts the core's other thread, too");
		break;
	case CAUSE_SMT:
		buf_puts(b, "wrong while the core's other thread is busy");
		if (!isnan(v->weight))
			buf_printf(b, ": %.3g times what it should", v->weight);
		break;
	case CAUSE_NONE:
		buf_puts(b, v->verdict == VALIDATE_DEAD ? "counts nothing"
							: "no quantity explains it");
	}
	if (v->kernel)
		buf_printf(b, " (%s)", v->kernel);
}

void validate_put_text(struct buf *b, const struct validated *v)
{
	if (v->verdict == VALIDATE_UNTESTED) {
		buf_puts(b, v->why ? v->why : "");
	} else if (validate_failed(v->verdict)) {
		if (v->prefetchers && !strcmp(v->prefetchers, "off"))
			buf_puts(b, "without prefetchers: ");
		put_fault(b, v);
	} else if (v->rule->kind == COUNTS_SOME) {
		buf_printf(b, "counts in %s,%s and nothing where nothing is", v->kernel,
			   v->rule->most > 0 ? " no more than that does," : "");
	} else if (v->rule->kind == COUNTS_LEAST) {
		buf_puts(b, "all that retires, and wrong paths");
	} else if (v->rule->more) {
		buf_puts(b, "no fewer than the kernels do");
	}
	if (validate_passed(v->verdict) && v->not_beside)
		buf_printf(b, "%snot tested beside a busy thread: %s", b->len ? "; " : "",
			   v->not_beside);
}

TABLE_ROW_AS(row_of, struct validated)

/* r->at: rank, row */
static bool next_event(const struct table *t, struct table_row *r)
{
	static const unsigned char rank[] = {
		[VALIDATE_OVER] = 0,	 [VALIDATE_UNDER] = 0,	[VALIDATE_DEAD] = 0,
		[VALIDATE_LEAKS] = 0,	 [VALIDATE_WITHIN] = 1, [VALIDATE_EXACT] = 1,
		[VALIDATE_UNTESTED] = 2,
	};
	const struct validate *v = report_of(t)->v;

	for (; r->at[0] < 3; r->at[0]++, r->at[1] = 0)
		while (r->at[1] < v->n_rows) {
			r->p = &v->row[r->at[1]++];
			if (rank[row_of(r)->verdict] == r->at[0])
				return true;
		}
	return false;
}

TABLE_GET(counts)
{
	if (!row_of(r)->rule)
		return;
	validate_rule_put(out->scratch, row_of(r)->rule);
	out->text = buf_str(out->scratch);
}

TABLE_CELL(says, validate_put_text(out->scratch, row_of(r)); out->text = buf_str(out->scratch))

TABLE_GET(verdict)
{
	const struct validated *v = row_of(r);

	out->text = validate_verdict_key[v->verdict];
	out->dim = v->verdict == VALIDATE_UNTESTED;
}

/* clang-format off */
#define EXACTLY(v, why) ((struct estimate){ (v), 0, (why) })
#define OF(...) TABLE_FIELD(struct validated, __VA_ARGS__)
/* clang-format on */

/* Returns why an event has no such figure. */
static const char *no_figure(const struct validated *v)
{
	return v->verdict == VALIDATE_UNTESTED ? "not tested"
	       : v->verdict == VALIDATE_DEAD   ? "it counts nothing"
					       : "no exact count is known";
}

TABLE_GET(off)
{
	const struct validated *v = row_of(r);
	double in_it = validate_failed(v->verdict) ? 0 : v->deviation_half;

	cell_estimate(out,
		      isnan(v->deviation - in_it)
			      ? ESTIMATE_NONE(no_figure(v))
			      : (struct estimate){ v->deviation - in_it, v->deviation_half, NULL });
}

TABLE_GET(limit)
{
	const struct validated *v = row_of(r);

	cell_estimate(out, isnan(v->limit)
				   ? ESTIMATE_NONE(no_figure(v))
				   : (struct estimate){ v->limit, NAN,
							"a bound: it has the error in it" });
}

TABLE_GET(weight)
{
	const struct validated *v = row_of(r);

	cell_estimate(out, v->cause && !isnan(v->weight)
				   ? (struct estimate){ v->weight, NAN, "fitted to all kernels" }
				   : ESTIMATE_NONE("no quantity explains it, or none has to"));
}

static const struct table_column event_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY | C_FLEX, "its name", OF(event, name)),
	COLUMN("prefetchers", "prefetchers", T_TEXT, C_KEY | C_SPARSE,
	       "on, off: of the hardware, if --prefetchers asked for it", OF(prefetchers)),
	COLUMN("verdict", "verdict", T_TEXT, 0,
	       "exact, within, over-counts, under-counts, dead, leaks, not tested", .get = verdict),
	COLUMN("deviation", "off by", T_SHARE, C_SPARSE | C_ERROR | C_WHY,
	       "relative, in the worst kernel", .get = off),
	COLUMN("limit", "would see", T_SHARE, C_SPARSE | C_WHY,
	       "the smallest relative error that would have been found", .get = limit),
	COLUMN("tree", "in the tree", T_FLAG, C_DROP, "a node of the model's tree rests on it",
	       OF(event, used)),
	COLUMN("text", "in words", T_TEXT, C_FLEX | C_CUT, "what explains it, or why not tested",
	       .get = says),
	COLUMN("counts", "counts", T_TEXT, C_DATA, "what it should count (list kernels)",
	       .get = counts),
	COLUMN("cause", "cause", T_TEXT, C_DATA | C_0_IS_NONE,
	       "factor, quantity, speculation, unit, whole core, busy core", OF(cause),
	       TABLE_NAMES(validate_cause_key)),
	COLUMN("with", "with", T_TEXT, C_DATA, "the quantity that explains it", OF(with)),
	COLUMN("weight", "weight", T_REAL, C_DATA | C_WHY,
	       "the factor, or how many of the quantity", .get = weight),
	COLUMN("kernel", "kernel", T_TEXT, C_DATA, "where it is worst", OF(kernel)),
	COLUMN("repeats", "repeats", T_COUNT, C_DATA, "over all kernels", OF(repeats)),
};
#undef OF
static const struct table_form events_form = { "events",	   NULL,
					       TABLE_MAIN,	   TABLE_COLUMNS(event_columns),
					       .next = next_event, .rest = "event" };

/* ---- cells ----------------------------------------------------------------------------------- */

TABLE_ROW_AS(cell_of, struct validate_cell)

/* clang-format off */
TABLE_CELL(cell_event, out->text = report_of(t)->v->row[cell_of(r)->event].event->name)
TABLE_CELL(cell_node, out->n = cell_of(r)->on_node - 1; out->none = !cell_of(r)->on_node)
TABLE_CELL(cell_other, out->n = cell_of(r)->other - 1; out->none = !cell_of(r)->other)
#define UNKNOWN(r) (isnan(cell_of(r)->expected) ? "no exact count is known" : NULL)
#define HAS_BOUNDS(r) (UNKNOWN(r) || cell_of(r)->expected > 0)
TABLE_CELL(expected, cell_estimate(out, EXACTLY(cell_of(r)->expected, UNKNOWN(r))))
TABLE_CELL(least, if (HAS_BOUNDS(r)) cell_estimate(out, EXACTLY(cell_of(r)->least, NULL)))
TABLE_CELL(most, if (HAS_BOUNDS(r) && isfinite(cell_of(r)->most))
			 cell_estimate(out, EXACTLY(cell_of(r)->most, NULL)))
#define OF(...) TABLE_FIELD(struct validate_cell, __VA_ARGS__)
/* clang-format on */
static const struct table_column cell_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "its name", .get = cell_event),
	COLUMN("kernel", "kernel", T_TEXT, C_KEY, "that ran (list kernels)", OF(kernel, name)),
	COLUMN("where", "where", T_TEXT, C_KEY | C_0_IS_NONE,
	       "its memory or code: L1, L2, L3, memory", OF(at), TABLE_NAMES(validate_at_key)),
	COLUMN("memory_node", "memory of", T_ID, C_KEY | C_SPARSE,
	       "NUMA node that its memory is bound to", .get = cell_node),
	COLUMN("other_cpu", "other CPU", T_ID, C_KEY | C_SPARSE, "that had the lines before",
	       .get = cell_other),
	COLUMN("other_is", "other is", T_TEXT, C_SPARSE | C_0_IS_NONE,
	       "same core, same L3 cache, another L3 cache of the socket, another socket", OF(pair),
	       TABLE_NAMES(validate_pair_key)),
	COLUMN("busy", "busy", T_TEXT, C_KEY, "kernel on the core's other thread", OF(busy, name)),
	COLUMN("prefetchers", "prefetchers", T_TEXT, C_KEY | C_SPARSE, "as in events",
	       OF(prefetchers)),
	COLUMN("expected", "expected", T_REAL, C_WHY, "for an iteration, the empty one subtracted",
	       .get = expected),
	COLUMN("least", "least", T_REAL, 0, "that passes", .get = least),
	COLUMN("most", "most", T_REAL, 0, "that passes; none: any number", .get = most),
	COLUMN("counted", "counted", T_REAL, C_ERROR | C_WHY, "for an iteration", OF(got)),
	COLUMN("wrong", "wrong", T_FLAG, 0, "it is beyond the tolerance, twice", OF(wrong)),
	COLUMN("repeats", "repeats", T_COUNT, 0, "of both kernels", OF(repeats)),
};
#undef OF
static const struct table_form cells_form = { "cells", NULL, TABLE_DATA,
					      TABLE_COLUMNS(cell_columns), .rest = "cell" };

/* ---- nodes ----------------------------------------------------------------------------------- */

TABLE_ROW_AS(node_of, struct validate_node)

TABLE_GET(node_verdict)
{
	static const char *const words[] = { "not tested", "bound by it", "not bound by it" };

	out->text = words[node_of(r)->verdict];
	out->dim = node_of(r)->verdict == NODE_UNTESTED;
}

TABLE_GET(node_kernel)
{
	cell_printf(out, "%s%s%s", node_of(r)->kernel->name, node_of(r)->at ? "@" : "",
		    validate_at_key[node_of(r)->at]);
}

TABLE_GET(node_text)
{
	out->text = node_of(r)->verdict == NODE_UNTESTED ? node_of(r)->why : NULL;
	out->says = "";
}

#define OF(member) TABLE_FIELD(struct validate_node, member)
static const struct table_column node_columns[] = {
	COLUMN("node", "node", T_TEXT, C_KEY, "of the model's tree", OF(node)),
	COLUMN("kernel", "kernel", T_TEXT, C_KEY, "that is built to be bound by it",
	       .get = node_kernel),
	COLUMN("share", "share", T_SHARE, C_ERROR, "that it has there", OF(share)),
	COLUMN("verdict", "comes out", T_TEXT, 0,
	       "bound by it: its threshold says so; not bound by it, not tested",
	       .get = node_verdict),
	COLUMN("text", "in words", T_TEXT, C_FLEX | C_CUT | C_SPARSE, "why it was not tested",
	       .get = node_text),
};
#undef OF
static const struct table_form nodes_form = { "nodes", "nodes in kernels built to be bound by them",
					      0, TABLE_COLUMNS(node_columns), .rest = "node" };

/* ---- losses, all of it ----------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct validate, member)
static const struct table_column loss_columns[] = {
	COLUMN("shared", "shared", T_COUNT, C_LOSS,
	       "repeats in which others had the counters: dropped", OF(dropped)),
};
#undef OF
static const struct table_form losses_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
					       TABLE_COLUMNS(loss_columns) };

static const struct table_form *const forms[] = { &machine_form,       &events_form,
						  &cells_form,	       &nodes_form,
						  &validate_skid_form, &validate_address_form,
						  &losses_form };
const struct document_form validate_document = { "validate", 1, forms, 7, NULL, 0 };

static size_t count(const struct validate *v, bool (*is)(enum validate_verdict), bool used)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_rows; i++)
		n += is(v->row[i].verdict) && (!used || v->row[i].event->used);
	return n;
}

/* "walk@L3" */
static void put_kernel(struct buf *b, const struct validate_cell *c)
{
	buf_printf(b, "%s%s%s%s", b->len ? ", " : "", c->kernel->name, c->at ? "@" : "",
		   validate_at_key[c->at]);
}

static bool is_left(const struct validate *v, const struct validate_cell *c, const char *why)
{
	return c->left && !strcmp(c->left, why) && (!v->no_other || strcmp(why, v->no_other) != 0);
}

/* Kernels that could not run: each reason once. */
static void put_left(struct document *d, const struct validate *v)
{
	for (size_t i = 0; i < v->n_cells; i++) {
		const char *why = v->cell[i].left;
		struct buf names = BUF_INIT;
		bool before = !why;

		for (size_t k = 0; k < i && !before; k++)
			before = is_left(v, &v->cell[k], why);
		for (size_t k = i; k < v->n_cells && !before; k++) {
			const struct validate_cell *c = &v->cell[k];
			bool named = !is_left(v, c, why);

			for (size_t n = i; n < k && !named; n++)
				named = is_left(v, &v->cell[n], why) && v->cell[n].at == c->at &&
					v->cell[n].kernel == c->kernel;
			if (!named)
				put_kernel(&names, c);
		}
		if (names.len)
			document_fact(d, "not run", false, "%s: %s", buf_str(&names), why);
		d->failed |= names.failed;
		buf_free(&names);
	}
}

static void put_facts(struct document *d, const struct validate_report *r)
{
	const struct validate *v = r->v;
	size_t failed = count(v, validate_failed, false), used = count(v, validate_failed, true);
	size_t passed = count(v, validate_passed, false);
	char s[NUM_MAX];

	document_fact(d, "verdict", failed > 0, "%zu event%s pass%s, %zu fail%s%s, %zu not tested",
		      passed, passed == 1 ? "" : "s", passed == 1 ? "es" : "", failed,
		      used ? ", of which the tree needs " : "", used ? num_exact(s, used) : "",
		      v->n_rows - passed - failed);
	if (v->stopped)
		document_fact(d, "stopped", true, "before all was tested");
	if (r->no_pmu)
		document_fact(d, "no PMU", true, "software events only: %s", r->no_pmu);
	if (r->no_model)
		document_fact(d, "model", false, "none, generic names only: %s", r->no_model);
	if (v->emulated)
		document_fact(
			d, "emulated", true,
			"time follows instructions here: cycles are held against instructions");
	if (v->no_sibling)
		document_fact(d, "busy core", false, "not tested: %s", v->no_sibling);
	if (v->no_other)
		document_fact(d, "migrations", false, "not tested: %s", v->no_other);
	put_left(d, v);
	if (!r->n_skid && !v->stopped)
		document_fact(d, "skid", false, "not tested: %s",
			      r->no_pmu ? "no PMU here" : "no event of loads alone was tested");
	if (!r->n_addresses && !v->stopped)
		document_fact(d, "addresses", false, "not tested: %s",
			      r->no_pmu ? "no PMU here" : "no event that samples loads was tested");
	if (r->kept)
		document_fact(d, "kept", false, "in %s", r->kept);
	document_next(d, "cyclade validate --table cells", "what was counted in each kernel");
}

void validate_put(struct document *d, const struct validate_report *r)
{
	const struct validate *v = r->v;
	const struct table losses = { .form = &losses_form, .array = v, .n = 1 };
	struct table events = { .form = &events_form, .ctx = r };

	const struct table addresses =
		TABLE_OF(validate_address_form, r, r->address, r->n_addresses);

	document_title(d, INK_BOLD, "CPU %u%s%s%s%s", r->cpu, r->cpu_desc ? ", " : "",
		       r->cpu_desc ? r->cpu_desc : "", r->hypervisor ? ", " : "",
		       r->hypervisor ? r->hypervisor : "");
	document_table(d, &(struct table){ .form = &machine_form, .ctx = r, .array = r, .n = 1 });
	document_table(d, &events);
	document_table(d, &TABLE_OF(cells_form, r, v->cell, v->n_cells));
	document_table(d, &TABLE_OF(nodes_form, r, r->node, r->n_nodes));
	document_table(d, &TABLE_OF(validate_skid_form, r, r->skid, r->n_skid));
	document_table(d, &addresses);
	document_table(d, &losses);
	put_facts(d, r);
}
