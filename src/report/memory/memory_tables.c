/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory operations as tables: by source, translation, snoop, lock, block, function, instruction,
 * thread and CPU, with the latency that the recording has.
 */
#include <math.h>

#include "analyse/error_bar.h"
#include "base/num.h"
#include "report/memory/memory_int.h"
#include "report/recorded.h"

enum {
	ROWS = 15, /* of sources and of functions that people are shown unless --limit says */
	LEAST = 5,
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

void memory_cell_figure(const struct memory *m, const struct memory_spread *s, size_t which,
			struct table_cell *out)
{
	static const double q[] = { [MEMORY_P50] = 0.5, [MEMORY_P90] = 0.9, [MEMORY_P99] = 0.99 };

	if (which == MEMORY_TIMED)
		out->n = s ? s->n : 0;
	else if (!s)
		cell_none(out, "no sample has this latency");
	else if (which == MEMORY_MOST)
		out->n = s->most;
	else
		cell_estimate(out, which == MEMORY_MEAN ? memory_mean(s)
				   : which == MEMORY_CYCLES_SHARE
					   ? memory_cycles_share(m, s)
					   : memory_quantile(m, s, q[which]));
}

TABLE_GET(of_group)
{
	memory_cell_figure(view_of(t)->m, spread_of(t, r), c->which, out);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Of all samples that say something, of those that access memory, or data. */
static uint64_t whole(const struct memory *m, enum memory_by by)
{
	uint64_t all = m->samples - m->without;

	if (by == MEMORY_TYPE || by == MEMORY_FIELD)
		return all - m->no_access - m->fetches;
	return by >= MEMORY_SOURCE && by <= MEMORY_BLOCK ? all - m->no_access : all;
}

struct estimate memory_part(uint64_t n, uint64_t all)
{
	return error_bar_part(n, all, NULL);
}

TABLE_CELL(share, cell_estimate(out, memory_part(group_of(r)->samples,
						 whole(view_of(t)->m, group_of(r)->by))))

TABLE_CELL(open_misses, cell_estimate(out, memory_open(group_of(r))))

#define OF(member) TABLE_FIELD(struct memory_group, member)
/* clang-format off */
#define SAMPLES \
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT, "of the samples", .get = share), \
	COLUMN("samples", "samples", T_COUNT, 0, "each counts once", OF(samples))
#define ACCESSES \
	COLUMN("loads", "loads", T_COUNT, C_DATA, "samples that load", OF(loads)), \
	COLUMN("stores", "stores", T_COUNT, C_DATA, "samples that store", OF(stores)), \
	COLUMN("open_misses", "open", T_REAL, C_ERROR | C_SPARSE | C_DROP, \
	       "misses of the core that were open when its loads missed the L2 cache, on " \
	       "average", \
	       .get = open_misses), \
	COLUMN("cycles_share", "of cycles", T_SHARE, C_ERROR | C_SPARSE, \
	       "of the cycles of all samples' latencies", .get = of_group, \
	       .which = MEMORY_CYCLES_SHARE)
/* of code */
#define FETCHES \
	COLUMN("fetches", "fetches", T_COUNT, C_DATA, "samples of instruction fetches (AMD)", \
	       OF(fetches)), \
	COLUMN("fetches_inside", "inside", T_COUNT, C_DATA, \
	       "of all fetches, those whose address lies within an instruction, which has them", \
	       OF(fetches_inside)), \
	COLUMN("fetches_aborted", "aborted", T_COUNT, C_DATA, \
	       "fetches that delivered nothing; not among the fetches", OF(fetches_aborted))
/* clang-format on */

void memory_cell_text(struct table_cell *out, const char *text)
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
	memory_cell_text(out, memop_set_text(text, (enum memop_set)c->which, op.set[c->which]));
}

void memory_cell_source(const struct memory_group *g, struct table_cell *out)
{
	char text[MEMOP_TEXT];
	struct memop op;

	memory_op(&op, g);
	memory_cell_text(out, memop_source(text, &op));
}

TABLE_CELL(source, memory_cell_source(group_of(r), out))

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
	MEMORY_SPREAD(of_group),
};
static const struct table_column tlb_columns[] = {
	SAMPLES,
	COLUMN("tlb", "translation", T_TEXT, C_KEY, "what translated the address", .get = set,
	       .which = MEMOP_TLB),
	MEMORY_SPREAD(of_group),
};
static const struct table_column snoop_columns[] = {
	SAMPLES,
	COLUMN("snoop", "snoop", T_TEXT, C_KEY, "other caches: none, hit, miss, hitm, fwd, peer",
	       .get = set, .which = MEMOP_SNOOP),
	MEMORY_SPREAD(of_group),
};
static const struct table_column lock_columns[] = {
	SAMPLES,
	COLUMN("locked", "locked", T_FLAG, C_KEY, "a locked operation", .get = locked),
	MEMORY_SPREAD(of_group),
};
static const struct table_column block_columns[] = {
	SAMPLES,
	COLUMN("blocked", "blocked by", T_TEXT, C_KEY, "a store before it: data, address",
	       .get = set, .which = MEMOP_BLOCK),
	MEMORY_SPREAD(of_group),
};

/* ---- code, threads, CPUs --------------------------------------------------------------------- */

static struct images *images_of(const struct table *t)
{
	return spaces_images(view_of(t)->spaces);
}

void memory_cell_function(const struct memory_group *g, struct table_cell *out)
{
	if (g->symbol)
		out->text = g->symbol->name;
	out->says = "[no symbol]";
}

void memory_cell_dso(const struct table *t, const struct memory_group *g, struct table_cell *out)
{
	if (g->key[1] != IMAGE_NONE)
		out->text = image_name(images_of(t), (uint32_t)g->key[1]);
	out->says = "[in no mapping]";
}

/* In the file; without the file, its place there; of what is in none, as it was sampled. */
void memory_cell_address(const struct table *t, const struct memory_group *g,
			 struct table_cell *out)
{
	uint32_t image = (uint32_t)g->key[1];

	out->n = g->key[0];
	out->none = g->by == MEMORY_FUNCTION && !g->symbol;
	if (!out->none && image != IMAGE_NONE && image_key(images_of(t), image)->kind == IMAGE_FILE)
		(void)image_to_vaddr(images_of(t), image, g->key[0], &out->n);
}

TABLE_CELL(function, memory_cell_function(group_of(r), out))
TABLE_CELL(dso, memory_cell_dso(t, group_of(r), out))
TABLE_CELL(address, memory_cell_address(t, group_of(r), out))

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
	FETCHES,
	MEMORY_SPREAD(of_group),
	LINE(C_KEY),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the file of its code", .get = dso),
};
static const struct table_column function_columns[] = {
	SAMPLES, ACCESSES, FETCHES, MEMORY_SPREAD(of_group), CODE("of its start, in the file"),
};
static const struct table_column instruction_columns[] = {
	SAMPLES,
	ACCESSES,
	FETCHES,
	MEMORY_SPREAD(of_group),
	CODE("of the instruction, in the file"),
	LINE(C_DATA),
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
	MEMORY_SPREAD(of_group),
	COLUMN("pid", "pid", T_ID, C_KEY, "its process", .get = pid),
	COLUMN("tid", "tid", T_ID, C_KEY, "its number", .get = tid),
	COLUMN("comm", "comm", T_TEXT, C_KEY | C_FLEX, "its name", .get = comm),
};
static const struct table_column cpu_columns[] = {
	SAMPLES,
	ACCESSES,
	MEMORY_SPREAD(of_group),
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
	MEMORY_SPREAD(of_group),
	TYPE,
	COLUMN("type_size", "bytes", T_COUNT, C_KEY, "of the type", .get = of_type, .which = 2),
};
static const struct table_column field_columns[] = {
	SAMPLES,
	ACCESSES,
	MEMORY_SPREAD(of_group),
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
TABLE_CELL(layout_share,
	   cell_estimate(out, memory_part(layout_of(r)->hot_samples, layout_of(r)->type->samples)))

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

/* "key, uses" */
TABLE_GET(ordered_fields)
{
	const struct memory_layout *l = layout_of(r);

	(void)t;
	(void)c;
	for (size_t i = 0; i < l->n_hot; i++)
		buf_printf(out->scratch, "%s%s", i ? ", " : "", l->hot[l->order[i]]->access.field);
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
	COLUMN("lines_order", "ordered", T_REAL, 0,
	       "the same, if the hot fields were the first ones of the structure", OF(lines_order)),
	COLUMN("used", "used", T_SHARE, 0, "of the bytes of these lines: those of hot fields",
	       OF(used)),
	COLUMN("type", "type", T_TEXT, C_KEY | C_FLEX, "the structure", .get = layout_type),
	COLUMN("hot", "hot fields", T_TEXT, C_FLEX | C_CUT,
	       "the fewest that have 95 % of its samples, most first", .get = hot_fields),
	COLUMN("order", "order", T_TEXT, C_DATA, "the hot fields in an order without gaps",
	       .get = ordered_fields),
};
#undef OF

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
						  &memory_regions_form,
						  &memory_map_form,
						  &memory_picture_form,
						  &memory_nodes_form,
						  &memory_object_nodes_form,
						  &memory_object_ways_form,
						  &memory_locked_form,
						  &memory_allocations_form,
						  &memory_sites_form,
						  &functions_form,
						  &lines_form,
						  &instructions_form,
						  &threads_form,
						  &cpus_form,
						  &types_form,
						  &fields_form,
						  &layouts_form,
						  &memory_latencies_form,
						  &memory_source_latencies_form,
						  &memory_function_latencies_form,
						  &memory_instruction_latencies_form,
						  &memory_histogram_form,
						  &memory_source_histogram_form,
						  &memory_linear_form,
						  &memory_source_linear_form,
						  &recorded_losses_form };
static const struct format faces[] = { { "svg", memory_svg, true, true } };
const struct document_form memory_document = { .name = "mem",
					       .version = 2,
					       .table = forms,
					       .n_tables = sizeof(forms) / sizeof(*forms),
					       .face = faces,
					       .n_faces = 1 };

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
	add_serial(d, m);
	add_fetches(d, m);
	if (m->no_access)
		document_fact(d, "no access", false, "%s of %s ops access no memory",
			      num_exact(a, m->no_access), num_exact(b, m->samples));
	if (m->without)
		document_fact(d, "without", true, "%s of %s samples do not say what they accessed",
			      num_exact(a, m->without), num_exact(b, m->samples));
}

/* ---- all of it ------------------------------------------------------------------------------- */

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

/* For people where a split, or another order, would save a quarter of the lines. */
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
		t.data_only &= m->layout[i].lines_split > 0.75 * m->layout[i].lines &&
			       m->layout[i].lines_order > 0.75 * m->layout[i].lines;
	t.people = LEAST;
	document_table(d, &t);
}

void memory_put(struct document *d, struct memory_view *v)
{
	const struct table head = { .form = &summary_form, .ctx = v, .array = v->m, .n = 1 };
	char a[NUM_MAX];

	v->latency = memory_shown_latency(v->m);
	document_table(d, &head);
	recorded_head(d, &v->source);
	if (v->m->samples)
		document_title(d, INK_PLAIN,
			       "%s samples of memory operations; latencies: %s, in cycles",
			       num_exact(a, v->m->samples - v->m->without - v->m->no_access),
			       memop_latency_means(v->latency));
	else
		document_title(d, INK_PLAIN, "no samples of memory operations (record --mem)");
	add_groups(d, v, &sources_form, MEMORY_SOURCE);
	add_groups(d, v, &tlb_form, MEMORY_TLB);
	add_groups(d, v, &snoops_form, MEMORY_SNOOP);
	add_groups(d, v, &locks_form, MEMORY_LOCK);
	add_groups(d, v, &blocks_form, MEMORY_BLOCK);
	memory_put_objects(d, v);
	memory_put_map(d, v);
	memory_put_nodes(d, v);
	add_groups(d, v, &functions_form, MEMORY_FUNCTION);
	add_groups(d, v, &lines_form, MEMORY_LINE);
	add_groups(d, v, &instructions_form, MEMORY_INSTRUCTION);
	add_groups(d, v, &threads_form, MEMORY_THREAD);
	add_groups(d, v, &cpus_form, MEMORY_CPU);
	add_groups(d, v, &types_form, MEMORY_TYPE);
	add_groups(d, v, &fields_form, MEMORY_FIELD);
	add_layouts(d, v);
	memory_put_latencies(d, v);
	memory_put_linear(d, v);
	add_facts(d, v);
	memory_put_object_facts(d, v);
	memory_put_node_facts(d, v);
	recorded_tail(d, &v->source);
}
