/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory operations as tables: by source, translation, snoop, lock, block, function, instruction,
 * thread and CPU, with the latency that the recording has; all latencies; histograms.
 */
#include <math.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "base/num.h"
#include "report/memory/memory_int.h"
#include "report/recorded.h"

enum {
	ROWS = 15, /* of sources and of functions that people are shown unless --limit says */
	LEAST = 5,
	BAR = 32, /* characters of a histogram's longest bar */
};

#define SMALL 0.005 /* a share of the samples that people are not shown unless asked for */

static const struct memory_view *view_of(const struct table *t)
{
	return t->ctx;
}

static const struct memory_group *group_of(const struct table_row *r)
{
	return r->p;
}

static const struct memory_spread *spread_of(const struct table *t, const struct table_row *r)
{
	return memory_spread(view_of(t)->m, group_of(r), view_of(t)->latency);
}

/* ---- figures of a spread --------------------------------------------------------------------- */

enum { MEAN, P50, P90, P99, MOST, TIMED, CYCLES_SHARE };

static void put_figure(const struct memory *m, const struct memory_spread *s, size_t which,
		       struct table_cell *out)
{
	static const double q[] = { [P50] = 0.5, [P90] = 0.9, [P99] = 0.99 };

	if (which == TIMED)
		out->n = s ? s->n : 0;
	else if (!s)
		cell_none(out, "no sample has this latency");
	else if (which == MOST)
		out->n = s->most;
	else
		cell_estimate(out, which == MEAN	   ? memory_mean(s)
				   : which == CYCLES_SHARE ? memory_cycles_share(m, s)
							   : memory_quantile(s, q[which]));
}

TABLE_GET(of_group)
{
	put_figure(view_of(t)->m, spread_of(t, r), c->which, out);
}

TABLE_GET(of_spread)
{
	put_figure(view_of(t)->m, r->p, c->which, out);
}

/* clang-format off */
#define CYCLES(key_, which_, flags_, means_, get_) \
	COLUMN(key_, key_, T_REAL, C_ERROR | C_SPARSE | flags_, means_, .get = get_, \
	       .which = which_, .unit = "cycles")
#define SPREAD(get_) \
	COLUMN("timed", "timed", T_COUNT, C_DATA, "samples that have the latency", .get = get_, \
	       .which = TIMED), \
	CYCLES("mean", MEAN, C_DROP, "of the latency", get_), \
	CYCLES("p50", P50, 0, "half of the samples took no longer", get_), \
	CYCLES("p90", P90, C_DROP, "90 % took no longer", get_), \
	CYCLES("p99", P99, C_DROP, "99 % took no longer", get_), \
	COLUMN("most", "most", T_COUNT, C_SPARSE, "the longest", .get = get_, .which = MOST, \
	       .unit = "cycles")
/* clang-format on */

/* ---- groups ---------------------------------------------------------------------------------- */

/* Of all samples that say something, or of those that access memory. */
static uint64_t whole(const struct memory *m, enum memory_by by)
{
	uint64_t all = m->samples - m->without;

	return (by >= MEMORY_SOURCE && by <= MEMORY_BLOCK) || by == MEMORY_TYPE ||
			       by == MEMORY_FIELD
		       ? all - m->no_access
		       : all;
}

static struct estimate share_of(const struct memory *m, uint64_t n, uint64_t all)
{
	struct error_bar e = error_bar_share((double)n, (double)all, (double)all);

	(void)m;
	return (struct estimate){ e.share, e.half, NULL };
}

TABLE_CELL(share, cell_estimate(out, share_of(view_of(t)->m, group_of(r)->samples,
					      whole(view_of(t)->m, group_of(r)->by))))

#define OF(member) TABLE_FIELD(struct memory_group, member)
/* clang-format off */
#define SAMPLES \
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT, "of the samples", .get = share), \
	COLUMN("samples", "samples", T_COUNT, 0, "each counts once", OF(samples))
#define ACCESSES \
	COLUMN("loads", "loads", T_COUNT, C_DATA, "samples that load", OF(loads)), \
	COLUMN("stores", "stores", T_COUNT, C_DATA, "samples that store", OF(stores)), \
	COLUMN("cycles_share", "of cycles", T_SHARE, C_ERROR | C_SPARSE, \
	       "of the cycles of all samples' latencies", .get = of_group, .which = CYCLES_SHARE)
/* clang-format on */

static void put_text(struct table_cell *out, const char *text)
{
	if (text)
		cell_printf(out, "%s", text);
	out->says = "not told";
}

/* A set of the group's: which is enum memop_set. */
TABLE_GET(set)
{
	char text[MEMOP_TEXT];
	struct memop op;

	(void)t;
	memory_op(&op, group_of(r));
	put_text(out, memop_set_text(text, (enum memop_set)c->which, op.set[c->which]));
}

static void put_source(const struct memory_group *g, struct table_cell *out)
{
	char text[MEMOP_TEXT];
	struct memop op;

	memory_op(&op, g);
	put_text(out, memop_source(text, &op));
}

TABLE_CELL(source, put_source(group_of(r), out))

TABLE_GET(level)
{
	struct memop op;

	(void)t;
	(void)c;
	memory_op(&op, group_of(r));
	out->text = memop_level_name(op.level);
}

TABLE_GET(where)
{
	struct memop op;

	(void)t;
	(void)c;
	memory_op(&op, group_of(r));
	out->text = op.where ? memop_where_name(op.where) : NULL;
}

TABLE_GET(hit)
{
	struct memop op;

	(void)t;
	(void)c;
	memory_op(&op, group_of(r));
	out->none = !(op.has & MEMOP_HAS_HIT);
	out->n = op.hit;
}

TABLE_GET(locked)
{
	struct memop op;

	(void)t;
	(void)c;
	memory_op(&op, group_of(r));
	out->none = !(op.has & MEMOP_HAS_LOCKED);
	out->n = op.locked;
	out->says = "not told";
}

static const struct table_column source_columns[] = {
	SAMPLES,
	COLUMN("kind", "kind", T_TEXT, C_KEY, "load, store, prefetch, exec (a fetch)", .get = set,
	       .which = MEMOP_KIND),
	COLUMN("source", "source", T_TEXT, C_PEOPLE, "", .get = source),
	COLUMN("level", "level", T_TEXT, C_KEY | C_DATA, "L1, LFB, L2, L3, RAM, ...", .get = level),
	COLUMN("where", "where", T_TEXT, C_KEY | C_DATA, "whose; null: its own, or not told",
	       .get = where),
	COLUMN("hit", "hit", T_FLAG, C_KEY | C_DATA, "the level had it; 0: missed", .get = hit),
	SPREAD(of_group),
};
static const struct table_column tlb_columns[] = {
	SAMPLES,
	COLUMN("tlb", "translation", T_TEXT, C_KEY, "what translated the address", .get = set,
	       .which = MEMOP_TLB),
	SPREAD(of_group),
};
static const struct table_column snoop_columns[] = {
	SAMPLES,
	COLUMN("snoop", "snoop", T_TEXT, C_KEY, "other caches: none, hit, miss, hitm, fwd, peer",
	       .get = set, .which = MEMOP_SNOOP),
	SPREAD(of_group),
};
static const struct table_column lock_columns[] = {
	SAMPLES,
	COLUMN("locked", "locked", T_FLAG, C_KEY, "a locked operation", .get = locked),
	SPREAD(of_group),
};
static const struct table_column block_columns[] = {
	SAMPLES,
	COLUMN("blocked", "blocked by", T_TEXT, C_KEY, "a store before it: data, address",
	       .get = set, .which = MEMOP_BLOCK),
	SPREAD(of_group),
};

/* ---- code, threads, CPUs --------------------------------------------------------------------- */

static struct images *images_of(const struct table *t)
{
	return spaces_images(view_of(t)->spaces);
}

static void put_function(const struct memory_group *g, struct table_cell *out)
{
	if (g->symbol)
		out->text = g->symbol->name;
	out->says = "[no symbol]";
}

static void put_dso(const struct table *t, const struct memory_group *g, struct table_cell *out)
{
	if (g->key[1] != IMAGE_NONE)
		out->text = image_name(images_of(t), (uint32_t)g->key[1]);
	out->says = "[in no mapping]";
}

/* In the file; without the file, its place there; of what is in none, as it was sampled. */
static void put_address(const struct table *t, const struct memory_group *g, struct table_cell *out)
{
	uint32_t image = (uint32_t)g->key[1];

	out->n = g->key[0];
	out->none = g->by == MEMORY_FUNCTION && !g->symbol;
	if (!out->none && image != IMAGE_NONE && image_key(images_of(t), image)->kind == IMAGE_FILE)
		(void)image_to_vaddr(images_of(t), image, g->key[0], &out->n);
}

TABLE_CELL(function, put_function(group_of(r), out))
TABLE_CELL(dso, put_dso(t, group_of(r), out))
TABLE_CELL(address, put_address(t, group_of(r), out))

/* clang-format off */
#define CODE(of_) \
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name", .get = function), \
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = dso), \
	COLUMN("address", "address", T_ADDRESS, C_KEY | C_DATA, of_, .get = address)
/* clang-format on */
#define LINE(flags_)                                                                             \
	COLUMN("file", "file", T_TEXT, flags_ | C_FLEX | C_KEEP_END, "of the source", OF(file)), \
		COLUMN("line", "line", T_ID, flags_, "in it", .get = line)
TABLE_GET(line)
{
	(void)t;
	(void)c;
	out->n = group_of(r)->line;
	out->none = !group_of(r)->file;
}

static const struct table_column line_columns[] = {
	SAMPLES,
	ACCESSES,
	SPREAD(of_group),
	LINE(C_KEY),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the file of its code", .get = dso),
};
static const struct table_column function_columns[] = {
	SAMPLES,
	ACCESSES,
	SPREAD(of_group),
	CODE("of its start, in the file"),
};
static const struct table_column instruction_columns[] = {
	SAMPLES, ACCESSES, SPREAD(of_group), CODE("of the instruction, in the file"), LINE(C_DATA),
};

TABLE_CELL(pid, out->n = memory_pid(group_of(r)))
TABLE_CELL(tid, out->n = memory_tid(group_of(r)))

TABLE_GET(comm)
{
	char text[MEMORY_COMM];

	(void)c;
	cell_printf(out, "%s", memory_comm(view_of(t)->spaces, group_of(r), text));
}

TABLE_GET(cpu)
{
	(void)t;
	(void)c;
	out->n = group_of(r)->key[0];
	out->none = out->n == UINT32_MAX;
}

static const struct table_column thread_columns[] = {
	SAMPLES,
	ACCESSES,
	SPREAD(of_group),
	COLUMN("pid", "pid", T_ID, C_KEY, "its process", .get = pid),
	COLUMN("tid", "tid", T_ID, C_KEY, "its number", .get = tid),
	COLUMN("comm", "comm", T_TEXT, C_KEY | C_FLEX, "its name", .get = comm),
};
static const struct table_column cpu_columns[] = {
	SAMPLES,
	ACCESSES,
	SPREAD(of_group),
	COLUMN("cpu", "CPU", T_ID, C_KEY, "that the samples were taken on", .get = cpu),
};

/* ---- data ------------------------------------------------------------------------------------ */

static bool is_typed(const struct table_row *r)
{
	return group_of(r)->access.why == TYPES_KNOWN;
}

TABLE_GET(type)
{
	const struct types_access *a = &group_of(r)->access;

	(void)t;
	(void)c;
	out->text = a->type;
	if (!a->type)
		cell_none(out, types_why_means(a->why));
	out->says = types_why_key(a->why);
}

TABLE_GET(field)
{
	(void)t;
	(void)c;
	if (is_typed(r) && *group_of(r)->access.field)
		out->text = group_of(r)->access.field;
	out->says = "";
}

/* Numbers that unknown types do not have: 0, 1, 2. */
TABLE_GET(of_type)
{
	const struct types_access *a = &group_of(r)->access;

	(void)t;
	out->n = c->which == 0 ? a->offset : c->which == 1 ? a->size : a->type_size;
	out->none = !is_typed(r);
	out->says = "";
}

/* clang-format off */
#define TYPE \
	COLUMN("type", "type", T_TEXT, C_KEY | C_WHY | C_FLEX, "of the data that is accessed", \
	       .get = type)
/* clang-format on */
static const struct table_column type_columns[] = {
	SAMPLES,
	ACCESSES,
	SPREAD(of_group),
	TYPE,
	COLUMN("type_size", "bytes", T_COUNT, C_KEY, "of the type", .get = of_type, .which = 2),
};
static const struct table_column field_columns[] = {
	SAMPLES,
	ACCESSES,
	SPREAD(of_group),
	TYPE,
	COLUMN("field", "field", T_TEXT, C_KEY | C_FLEX | C_KEEP_END,
	       "of the type; null: the type has none", .get = field),
	COLUMN("offset", "at", T_COUNT, C_KEY,
	       "bytes from the start of the type; of an array: "
	       "its first element",
	       .get = of_type, .which = 0),
	COLUMN("size", "bytes", T_COUNT, 0, "of the field", .get = of_type, .which = 1),
	COLUMN("type_size", "of", T_COUNT, C_KEY | C_DATA, "bytes of the type", .get = of_type,
	       .which = 2),
};
#undef OF

/* ---- hot and cold fields -------------------------------------------------------------------- */

static const struct memory_layout *layout_of(const struct table_row *r)
{
	return r->p;
}

TABLE_CELL(layout_type, out->text = layout_of(r)->type->access.type)
TABLE_CELL(layout_size, out->n = layout_of(r)->type->access.type_size)
TABLE_CELL(layout_samples, out->n = layout_of(r)->type->samples)
TABLE_CELL(layout_share, cell_estimate(out, share_of(view_of(t)->m, layout_of(r)->hot_samples,
						     layout_of(r)->type->samples)))

/* "key, next" */
TABLE_GET(hot_fields)
{
	const struct memory_layout *l = layout_of(r);

	(void)t;
	(void)c;
	for (size_t i = 0; i < l->n_hot; i++)
		buf_printf(out->scratch, "%s%s", i ? ", " : "", l->hot[i]->access.field);
	out->text = buf_str(out->scratch);
}

#define OF(member) TABLE_FIELD(struct memory_layout, member)
static const struct table_column layout_columns[] = {
	COLUMN("samples", "samples", T_COUNT, 0, "of the type", .get = layout_samples),
	COLUMN("hot_share", "hot", T_SHARE, C_ERROR, "of these: to hot fields",
	       .get = layout_share),
	COLUMN("type_size", "bytes", T_BYTES, 0, "of the type", .get = layout_size),
	COLUMN("hot_bytes", "of hot", T_BYTES, 0, "of hot fields", OF(hot_bytes)),
	COLUMN("lines", "lines", T_REAL, 0,
	       "cache lines with hot fields by object, where objects lie one behind the other",
	       OF(lines)),
	COLUMN("lines_split", "split", T_REAL, 0,
	       "the same, if the hot fields were a structure of their own", OF(lines_split)),
	COLUMN("type", "type", T_TEXT, C_KEY | C_FLEX, "the structure", .get = layout_type),
	COLUMN("hot", "hot fields", T_TEXT, C_FLEX | C_CUT,
	       "the fewest that have 95 % of its samples, most first", .get = hot_fields),
};
#undef OF

/* ---- all latencies --------------------------------------------------------------------------- */

static const struct memory_spread *row_spread(const struct table_row *r)
{
	return r->p;
}

static const struct memory_group *spreads_group(const struct table *t, const struct table_row *r)
{
	return &view_of(t)->m->group[row_spread(r)->group];
}

TABLE_CELL(latency, out->text = memop_latency_key(row_spread(r)->latency))
TABLE_CELL(means, out->text = memop_latency_means(row_spread(r)->latency))
TABLE_CELL(spread_kind, {
	char text[MEMOP_TEXT];
	struct memop op;

	memory_op(&op, spreads_group(t, r));
	put_text(out, memop_set_text(text, MEMOP_KIND, op.set[MEMOP_KIND]));
})
TABLE_CELL(spread_source, put_source(spreads_group(t, r), out))
TABLE_CELL(spread_function, put_function(spreads_group(t, r), out))
TABLE_CELL(spread_dso, put_dso(t, spreads_group(t, r), out))
TABLE_CELL(spread_address, put_address(t, spreads_group(t, r), out))

#define LATENCY COLUMN("latency", "latency", T_TEXT, C_KEY, "which", .get = latency)
static const struct table_column latency_columns[] = {
	LATENCY,
	SPREAD(of_spread),
	COLUMN("means", "", T_TEXT, C_FLEX | C_CUT, "what it is", .get = means),
};
static const struct table_column source_latency_columns[] = {
	COLUMN("kind", "kind", T_TEXT, C_KEY, "load, store, ...", .get = spread_kind),
	COLUMN("source", "source", T_TEXT, C_KEY, "of the data", .get = spread_source),
	LATENCY,
	SPREAD(of_spread),
};
/* of functions and of instructions */
static const struct table_column code_latency_columns[] = {
	COLUMN("function", "function", T_TEXT, C_KEY, "its name", .get = spread_function),
	COLUMN("dso", "of", T_TEXT, C_KEY, "its file", .get = spread_dso),
	COLUMN("address", "address", T_ADDRESS, C_KEY,
	       "of the function's start, or the instruction", .get = spread_address),
	LATENCY,
	SPREAD(of_spread),
};

/* ---- histograms: at[0] a spread, at[1] its bin, 1 + log2 ------------------------------------- */

static double low_of(const struct table_row *r)
{
	return r->at[1] ? ldexp(1, (int)r->at[1] - 1) : 0;
}

static double high_of(const struct table_row *r)
{
	return ldexp(1, (int)r->at[1]);
}

static uint64_t count_of(const struct table_row *r)
{
	return memory_count(row_spread(r), (int)r->at[1] - 1);
}

/* From the first bin with samples to the last one; r->p is the spread. */
static bool bin_next(const struct table *t, struct table_row *r)
{
	const struct memory_spread *s = t->array;

	if (r->p)
		r->at[1]++;
	for (; r->at[0] < t->n; r->at[0]++, r->at[1] = 0) {
		r->p = &s[r->at[0]];
		while (high_of(r) <= s[r->at[0]].bin[0].cycles)
			r->at[1]++;
		if (low_of(r) <= (double)s[r->at[0]].most)
			return true;
	}
	return false;
}

TABLE_CELL(low, out->n = (uint64_t)low_of(r))
TABLE_CELL(high, out->n = (uint64_t)high_of(r))
TABLE_CELL(bin_samples, out->n = count_of(r))
TABLE_CELL(bin_share, cell_estimate(out, share_of(view_of(t)->m, count_of(r), row_spread(r)->n)))

TABLE_GET(bar)
{
	uint64_t most = 1, n = count_of(r);
	char hashes[BAR + 1];

	(void)t;
	(void)c;
	for (int log2 = -1; log2 < 32; log2++) {
		uint64_t x = memory_count(row_spread(r), log2);

		most = x > most ? x : most;
	}
	memset(hashes, '#', BAR);
	hashes[(n * BAR + most - 1) / most] = 0;
	cell_printf(out, "%s", hashes);
}

TABLE_CELL(heading, cell_printf(out, "%s latency, %s", memop_latency_head(row_spread(r)->latency),
				memop_latency_means(row_spread(r)->latency)))

/* clang-format off */
#define BINS \
	COLUMN("low", "cycles", T_COUNT, C_KEY, "the least of the bin", .get = low), \
	COLUMN("high", "to below", T_COUNT, 0, "the first of the next bin", .get = high), \
	COLUMN("samples", "samples", T_COUNT, 0, "in the bin", .get = bin_samples), \
	COLUMN("share", "share", T_SHARE, C_ERROR, "of the samples with this latency", \
	       .get = bin_share)
/* clang-format on */
static const struct table_column histogram_columns[] = {
	COLUMN("latency", "latency", T_TEXT, C_KEY | C_DATA, "which", .get = latency),
	COLUMN("heading", "", T_TEXT, C_PEOPLE | C_GROUP, "", .get = heading),
	BINS,
	COLUMN("bar", "", T_TEXT, C_PEOPLE, "", .get = bar),
};
static const struct table_column source_histogram_columns[] = {
	COLUMN("kind", "kind", T_TEXT, C_KEY, "load, store, ...", .get = spread_kind),
	COLUMN("source", "source", T_TEXT, C_KEY, "of the data", .get = spread_source),
	COLUMN("latency", "latency", T_TEXT, C_KEY, "which", .get = latency),
	BINS,
};

/* ---- the head -------------------------------------------------------------------------------- */

TABLE_CELL(shown, out->text = memop_latency_key(view_of(t)->latency))

#define OF(member) TABLE_FIELD(struct memory, member)
static const struct table_column head_columns[] = {
	COLUMN("samples", "samples", T_COUNT, 0, "of events that tell of memory", OF(samples)),
	COLUMN("no_access", "no access", T_COUNT, 0, "IBS ops that access no memory",
	       OF(no_access)),
	COLUMN("latency", "latency", T_TEXT, 0, "that the tables by source and so on have",
	       .get = shown),
	COLUMN("without", "without", T_COUNT, C_LOSS,
	       "samples without what should tell of memory, or damaged", OF(without)),
};
#undef OF

/* clang-format off */
#define FORM(name_, flags_, columns_, next_, rest_) \
	static const struct table_form name_##_form = { \
		#name_, NULL, flags_, TABLE_COLUMNS(columns_), .next = next_, .rest = rest_ \
	}
FORM(summary, TABLE_ONE | TABLE_HEAD | TABLE_DATA, head_columns, NULL, NULL);
FORM(sources, TABLE_MAIN, source_columns, NULL, "source");
FORM(tlb, 0, tlb_columns, NULL, NULL);
FORM(snoops, 0, snoop_columns, NULL, NULL);
FORM(locks, 0, lock_columns, NULL, NULL);
FORM(blocks, 0, block_columns, NULL, NULL);
FORM(functions, 0, function_columns, NULL, "function");
FORM(lines, 0, line_columns, NULL, "line");
FORM(instructions, TABLE_DATA, instruction_columns, NULL, NULL);
FORM(threads, TABLE_DATA, thread_columns, NULL, NULL);
FORM(cpus, TABLE_DATA, cpu_columns, NULL, NULL);
FORM(types, TABLE_DATA, type_columns, NULL, NULL);
FORM(fields, 0, field_columns, NULL, "field");
FORM(layouts, 0, layout_columns, NULL, "type");
FORM(latencies, 0, latency_columns, NULL, NULL);
FORM(source_latencies, TABLE_DATA, source_latency_columns, NULL, NULL);
FORM(function_latencies, TABLE_DATA, code_latency_columns, NULL, NULL);
FORM(instruction_latencies, TABLE_DATA, code_latency_columns, NULL, NULL);
FORM(histogram, 0, histogram_columns, bin_next, NULL);
FORM(source_histogram, TABLE_DATA, source_histogram_columns, bin_next, NULL);
/* clang-format on */

static const struct table_form *const forms[] = { &summary_form,
						  &recorded_form,
						  &sources_form,
						  &tlb_form,
						  &snoops_form,
						  &locks_form,
						  &blocks_form,
						  &memory_objects_form,
						  &memory_object_sources_form,
						  &memory_walks_form,
						  &memory_allocations_form,
						  &functions_form,
						  &lines_form,
						  &instructions_form,
						  &threads_form,
						  &cpus_form,
						  &types_form,
						  &fields_form,
						  &layouts_form,
						  &latencies_form,
						  &source_latencies_form,
						  &function_latencies_form,
						  &instruction_latencies_form,
						  &histogram_form,
						  &source_histogram_form,
						  &recorded_losses_form };
const struct document_form memory_document = {
	.name = "mem", .version = 2, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

/* ---- what biases the figures ----------------------------------------------------------------- */

static void add_bias(struct document *d, const struct memop_how *how, const char *event)
{
	if (how->least)
		document_fact(d, "only slow loads", true,
			      "%s samples loads of %u cycles or more: shares and quantiles are of "
			      "these alone",
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

static void add_facts(struct document *d, const struct memory_view *v)
{
	const struct memory *m = v->m;
	char a[NUM_MAX], b[NUM_MAX];
	bool stores = false;

	for (size_t i = 0; i < v->source.n_events; i++)
		add_bias(d, &m->how[i], v->source.event[i].name);
	for (size_t i = m->first[MEMORY_SOURCE]; i < m->first[MEMORY_SOURCE + 1]; i++)
		stores |= m->group[i].stores && !memory_spread(m, &m->group[i], MEMOP_LATENCY_DATA);
	if (m->raw)
		document_fact(d, "multi-op", false,
			      "an instruction of several ops is sampled once for each: it has more "
			      "samples than its runs");
	if (m->raw && v->latency == MEMOP_LATENCY_DATA)
		document_fact(
			d, "latency", false,
			"told of loads that missed the data cache: hits and stores have none");
	else if (stores && v->latency == MEMOP_LATENCY_DATA)
		document_fact(d, "latency", false, "stores have none, or not all of them");
	if (m->period_varies)
		document_fact(d, "periods", false,
			      "they differ: each sample counts once here, though some stand for "
			      "more events");
	if (m->no_access)
		document_fact(d, "no access", false, "%s of %s ops access no memory",
			      num_exact(a, m->no_access), num_exact(b, m->samples));
	if (m->without)
		document_fact(d, "without", true, "%s of %s samples do not say what they accessed",
			      num_exact(a, m->without), num_exact(b, m->samples));
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The first that samples have: loads' data, else what there is. */
static enum memop_latency choose_latency(const struct memory *m)
{
	static const enum memop_latency order[] = { MEMOP_LATENCY_DATA, MEMOP_LATENCY_FETCH,
						    MEMOP_LATENCY_TAG, MEMOP_LATENCY_INSTRUCTION };

	for (size_t i = 0; i < sizeof(order) / sizeof(*order) && m->first[1]; i++)
		if (memory_spread(m, &m->group[0], order[i]))
			return order[i];
	return MEMOP_LATENCY_DATA;
}

static void add_groups(struct document *d, const struct memory_view *v,
		       const struct table_form *form, enum memory_by by)
{
	const struct memory *m = v->m;
	struct table t = { .form = form,
			   .ctx = v,
			   .array = &m->group[m->first[by]],
			   .stride = sizeof(*m->group),
			   .n = m->first[by + 1] - m->first[by] };

	if (by == MEMORY_FUNCTION || by == MEMORY_SOURCE || by == MEMORY_LINE || by == MEMORY_FIELD)
		t.people = v->limit ? v->limit : table_enough(&t, 0, LEAST, ROWS, SMALL);
	/* nothing was told of it */
	t.data_only = by >= MEMORY_TLB && by <= MEMORY_BLOCK && t.n == 1 &&
		      !m->group[m->first[by]].key[0];
	document_table(d, &t);
}

/* The spreads of groups of `by`. */
static void add_spreads(struct document *d, const struct memory_view *v,
			const struct table_form *form, enum memory_by by, size_t least)
{
	const struct memory *m = v->m;
	size_t from = m->first[by], until = m->first[by + 1];
	struct table t = { .form = form, .ctx = v, .stride = sizeof(*m->spread) };

	if (from < until) {
		const struct memory_group *last = &m->group[until - 1];

		t.n = last->first_spread + last->n_spreads - m->group[from].first_spread;
		if (t.n)
			t.array = &m->spread[m->group[from].first_spread];
	}
	t.data_only = t.n < least;
	document_table(d, &t);
}

/* For people where a split would save a quarter of the lines. */
static void add_layouts(struct document *d, const struct memory_view *v)
{
	const struct memory *m = v->m;
	struct table t = { .form = &layouts_form,
			   .ctx = v,
			   .array = m->layout,
			   .stride = sizeof(*m->layout),
			   .n = m->n_layouts,
			   .data_only = true };

	for (size_t i = 0; i < m->n_layouts; i++)
		t.data_only &= m->layout[i].lines_split > 0.75 * m->layout[i].lines;
	t.people = LEAST;
	document_table(d, &t);
}

void memory_put(struct document *d, struct memory_view *v)
{
	const struct table head = { .form = &summary_form, .ctx = v, .array = v->m, .n = 1 };
	char a[NUM_MAX];

	v->latency = choose_latency(v->m);
	document_table(d, &head);
	recorded_head(d, &v->source);
	document_title(d, INK_PLAIN, "%s samples of memory operations; latencies: %s, in cycles",
		       num_exact(a, v->m->samples - v->m->without - v->m->no_access),
		       memop_latency_means(v->latency));
	add_groups(d, v, &sources_form, MEMORY_SOURCE);
	add_groups(d, v, &tlb_form, MEMORY_TLB);
	add_groups(d, v, &snoops_form, MEMORY_SNOOP);
	add_groups(d, v, &locks_form, MEMORY_LOCK);
	add_groups(d, v, &blocks_form, MEMORY_BLOCK);
	memory_put_objects(d, v);
	add_groups(d, v, &functions_form, MEMORY_FUNCTION);
	add_groups(d, v, &lines_form, MEMORY_LINE);
	add_groups(d, v, &instructions_form, MEMORY_INSTRUCTION);
	add_groups(d, v, &threads_form, MEMORY_THREAD);
	add_groups(d, v, &cpus_form, MEMORY_CPU);
	add_groups(d, v, &types_form, MEMORY_TYPE);
	add_groups(d, v, &fields_form, MEMORY_FIELD);
	add_layouts(d, v);
	add_spreads(d, v, &latencies_form, MEMORY_ALL, 2);
	add_spreads(d, v, &source_latencies_form, MEMORY_SOURCE, 0);
	add_spreads(d, v, &function_latencies_form, MEMORY_FUNCTION, 0);
	add_spreads(d, v, &instruction_latencies_form, MEMORY_INSTRUCTION, 0);
	add_spreads(d, v, &histogram_form, MEMORY_ALL, 1);
	add_spreads(d, v, &source_histogram_form, MEMORY_SOURCE, 0);
	add_facts(d, v);
	memory_put_object_facts(d, v);
	recorded_tail(d, &v->source);
}
