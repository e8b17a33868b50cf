/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory operations by object: objects, the sources of the data of each, and the log of allocations
 * that some of their names come from.
 */
#include <math.h>

#include "base/num.h"
#include "report/memory/memory_int.h"
#include "report/recorded.h"

enum {
	ROWS = 15, /* shown to people without --limit */
	LEAST = 5,
};

#define SMALL 0.005 /* a share of the samples that people are not shown unless asked for */

TABLE_CTX_AS(object_view_of, struct memory_view)

static const struct memory_object *object_row_of(const struct table *t, const struct table_row *r)
{
	(void)t;
	return r->p;
}

TABLE_ROW_AS(source_of_row, struct memory_object_source)

/* ---- objects ------------------------------------------------------------------------------- */

void memory_cell_object(const struct table *t, const struct memory_object *o,
			struct table_cell *out)
{
	out->text = NULL;
	if (!o->why) {
		data_name(out->scratch, &o->data, spaces_images(object_view_of(t)->spaces));
		out->text = out->scratch->len ? buf_str(out->scratch) : NULL;
	}
	out->says = o->why ? o->why : data_kind_name(o->data.kind);
}

TABLE_CELL(object_share, cell_estimate(out, memory_object_share(object_view_of(t)->objects,
								&object_row_of(t, r)->n)))
TABLE_CELL(object_cycles_share, cell_estimate(out, memory_object_cycles(object_view_of(t)->objects,
									&object_row_of(t, r)->n)))
TABLE_CELL(object_remote, cell_estimate(out, memory_object_remote(&object_row_of(t, r)->n)))
TABLE_CELL(missed, cell_estimate(out, memory_object_missed(&object_row_of(t, r)->n)))
TABLE_CELL(object_mean, cell_estimate(out, memory_object_mean(&object_row_of(t, r)->n)))
TABLE_CELL(name_object, memory_cell_object(t, object_row_of(t, r), out))
TABLE_CELL(lines_used, cell_estimate(out, memory_lines_used(object_row_of(t, r))))
TABLE_CELL(lines_seen, cell_estimate(out, memory_lines_seen(object_row_of(t, r))))

/* Lines, and their samples; null if nothing is known of their bytes. */
TABLE_GET(lines)
{
	const struct memory_object *o = object_row_of(t, r);

	out->n = c->which ? o->lines.samples : o->lines.lines;
	out->none = isnan(memory_lines_seen(o).v);
}

TABLE_GET(line_size)
{
	out->n = object_row_of(t, r)->lines.size;
	out->none = isnan(memory_lines_seen(object_row_of(t, r)).v);
}

TABLE_GET(object_cycles)
{
	const struct memory_counts *n = &object_row_of(t, r)->n;

	out->n = (uint64_t)n->cycles;
	out->none = !n->timed;
}

TABLE_GET(object_size_cell)
{
	const struct memory_object *o = object_row_of(t, r);

	out->n = o->data.size;
	out->none = o->why || !o->data.start;
}

TABLE_GET(start_object)
{
	const struct memory_object *o = object_row_of(t, r);

	out->n = o->data.start;
	out->none = o->why || !o->data.start;
}

TABLE_GET(object_pid_cell)
{
	const struct memory_object *o = object_row_of(t, r);

	out->n = o->pid;
	out->none = o->why || o->data.kind == DATA_KERNEL;
}

/* Returns the frame of an allocation's site. */
static const struct heap_frame *object_frame_of(const struct table *t, const struct table_row *r)
{
	const struct heap_site *s = object_row_of(t, r)->data.site;

	return s && s->n ? s->frame : NULL;
}

TABLE_GET(object_function)
{
	const struct heap_frame *f = object_frame_of(t, r);

	out->text = f && f->symbol ? f->symbol->name : NULL;
}

TABLE_GET(object_file)
{
	const struct heap_frame *f = object_frame_of(t, r);

	out->text = f ? f->file : NULL;
}

TABLE_GET(object_line)
{
	const struct heap_frame *f = object_frame_of(t, r);

	out->n = f ? f->line : 0;
	out->none = !out->n;
}

TABLE_GET(object_dso)
{
	const struct memory_object *o = object_row_of(t, r);
	const struct heap_frame *f = object_frame_of(t, r);
	uint32_t image = f ? f->image : o->data.image;

	if (image != IMAGE_NONE && !o->why)
		out->text = image_name(spaces_images(object_view_of(t)->spaces), image);
}

#define OF(member) TABLE_FIELD(struct memory_object, member)
static const struct table_column object_columns[] = {
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT, "of the samples", .get = object_share),
	COLUMN("samples", "samples", T_COUNT, 0, "each counts once", OF(n.samples)),
	COLUMN("loads", "loads", T_COUNT, 0, "samples that load", OF(n.loads)),
	COLUMN("stores", "stores", T_COUNT, C_DROP, "samples that store", OF(n.stores)),
	COLUMN("missed_share", "missed L1", T_SHARE, C_ERROR | C_SPARSE | C_DROP,
	       "of the loads whose source is told: not from the L1 cache", .get = missed),
	COLUMN("remote_share", "remote", T_SHARE, C_ERROR | C_SPARSE | C_DROP,
	       "of these loads: from another node", .get = object_remote),
	COLUMN("cycles_share", "of cycles", T_SHARE, C_ERROR | C_SPARSE,
	       "of the cycles of all samples' latencies", .get = object_cycles_share),
	COLUMN("cycles", "cycles", T_COUNT, C_DATA, "sum of the latencies; null: none has one",
	       .unit = "cycles", .get = object_cycles),
	COLUMN("mean", "mean", T_REAL, C_ERROR | C_SPARSE | C_DROP, "latency", .unit = "cycles",
	       .get = object_mean),
	COLUMN("walks", "walks", T_COUNT, C_DATA, "samples whose address a page walk translated",
	       OF(n.walks)),
	COLUMN("threads", "threads", T_COUNT, C_DROP, "that accessed it", OF(threads)),
	COLUMN("line_used", "lines used", T_SHARE, C_ERROR | C_WHY | C_SPARSE | C_DROP,
	       "of the bytes of the cache lines that samples touched: used, bytes that no sample "
	       "saw included",
	       .get = lines_used),
	COLUMN("line_seen", "seen", T_SHARE, C_DATA, "of these bytes: used by a sample, the least",
	       .get = lines_seen),
	COLUMN("lines", "lines", T_COUNT, C_DATA,
	       "cache lines that line_seen and line_used are of: touched by samples", .get = lines),
	COLUMN("line_samples", "line samples", T_COUNT, C_DATA, "samples in these", .get = lines,
	       .which = 1),
	COLUMN("line_size", "line size", T_BYTES, C_DATA, "bytes of a cache line",
	       .get = line_size),
	COLUMN("kind", "kind", T_TEXT, C_KEY,
	       "variable, heap, stack, anonymous, file, shared memory, kernel, unknown",
	       OF(data.kind), .name_of = data_kind_name),
	COLUMN("object", "object", T_TEXT, C_KEY | C_FLEX | C_CUT,
	       "a variable, who allocated it, whose stack, a file", .get = name_object),
	COLUMN("why", "why", T_TEXT, C_KEY | C_DATA, "why it is no object", OF(why)),
	COLUMN("function", "function", T_TEXT, C_DATA, "that allocated it", .get = object_function),
	COLUMN("file", "file", T_TEXT, C_DATA, "of its source", .get = object_file),
	COLUMN("line", "line", T_ID, C_DATA, "in it", .get = object_line),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the file of that code, or of the variable",
	       .get = object_dso),
	COLUMN("tid", "tid", T_ID, C_KEY | C_DATA | C_0_IS_NONE, "whose stack", OF(data.tid)),
	COLUMN("pid", "pid", T_ID, C_DATA, "process of the first sample; null: kernel",
	       .get = object_pid_cell),
	COLUMN("address", "address", T_ADDRESS, C_DATA, "where it begins; of a site the first one",
	       .get = start_object),
	COLUMN("size", "size", T_BYTES, C_DATA, "of that", .get = object_size_cell),
};
#undef OF
const struct table_form memory_objects_form = { "objects", "what was accessed", 0,
						TABLE_COLUMNS(object_columns), .rest = "object" };

/* ---- the sources of each ------------------------------------------------------------------- */

static const struct memory_object *owner(const struct table *t, const struct table_row *r)
{
	return &object_view_of(t)->objects->object[source_of_row(r)->object];
}

static void put_object_op(const struct table_row *r, size_t which, struct table_cell *out)
{
	char text[MEMOP_TEXT];
	struct memop op;

	memory_object_op(&op, source_of_row(r));
	out->text = NULL;
	if (which == 0 && memop_set_text(text, MEMOP_KIND, op.set[MEMOP_KIND]))
		cell_printf(out, "%s", text);
	else if (which == 1)
		out->text = memop_level_name(op.level);
	else if (which == 2 && op.where)
		out->text = memop_where_name(op.where);
}

TABLE_CELL(op, put_object_op(r, c->which, out))
TABLE_CELL(object_hit, out->n = source_of_row(r)->hit; out->none = !source_of_row(r)->told)
TABLE_CELL(owner_name, memory_cell_object(t, owner(t, r), out))
TABLE_CELL(owner_kind, out->text = data_kind_name(owner(t, r)->data.kind))
TABLE_CELL(owner_why, out->text = owner(t, r)->why)
TABLE_CELL(source_mean, cell_estimate(out, memory_object_mean(&source_of_row(r)->n)))

#define OF(member) TABLE_FIELD(struct memory_object_source, member)
static const struct table_column source_columns[] = {
	COLUMN("kind", "kind", T_TEXT, C_KEY, "of the object", .get = owner_kind),
	COLUMN("object", "object", T_TEXT, C_KEY, "as in the table of objects", .get = owner_name),
	COLUMN("why", "why", T_TEXT, C_KEY, "why it is no object", .get = owner_why),
	COLUMN("operation", "operation", T_TEXT, C_KEY, "load, store, ...", .get = op, .which = 0),
	COLUMN("level", "level", T_TEXT, C_KEY, "L1, LFB, L2, L3, RAM, ...", .get = op, .which = 1),
	COLUMN("where", "where", T_TEXT, C_KEY, "whose; null: its own, or not told", .get = op,
	       .which = 2),
	COLUMN("hit", "hit", T_FLAG, C_KEY, "the level had it; 0: missed", .get = object_hit),
	COLUMN("samples", "samples", T_COUNT, 0, "each counts once", OF(n.samples)),
	COLUMN("timed", "timed", T_COUNT, 0, "samples that have a latency", OF(n.timed)),
	COLUMN("mean", "mean", T_REAL, C_ERROR, "latency", .unit = "cycles", .get = source_mean),
};
#undef OF
const struct table_form memory_object_sources_form = { "object_sources", NULL, TABLE_DATA,
						       TABLE_COLUMNS(source_columns) };

/* ---- page walks -------------------------------------------------------------------------- */

TABLE_ROW_AS(pages_of, struct memory_object_pages)

static const struct memory_object *walked(const struct table *t, const struct table_row *r)
{
	return &object_view_of(t)->objects->object[pages_of(r)->object];
}

TABLE_CELL(walk_share, cell_estimate(out, memory_pages_share(pages_of(r))))
TABLE_CELL(walk_cycles,
	   cell_estimate(out, memory_pages_cycles(object_view_of(t)->objects, pages_of(r))))
TABLE_CELL(walked_name, memory_cell_object(t, walked(t, r), out))
TABLE_CELL(walked_kind, out->text = data_kind_name(walked(t, r)->data.kind))
TABLE_CELL(walked_why, out->text = walked(t, r)->why)

TABLE_GET(object_advice)
{
	if (memory_pages_advice(object_view_of(t)->objects, pages_of(r)))
		out->text = "huge pages";
}

#define OF(member) TABLE_FIELD(struct memory_object_pages, member)
static const struct table_column pages_columns[] = {
	COLUMN("walk_share", "walks", T_SHARE, C_ERROR | C_WHY,
	       "of the samples whose translation is told: by a page walk", .get = walk_share),
	COLUMN("walk_cycles_share", "of cycles", T_SHARE, C_ERROR | C_WHY | C_HEAT,
	       "what walks took, of the cycles of all samples: latencies, or walks if longer",
	       .get = walk_cycles),
	COLUMN("walks", "walked", T_COUNT, 0, "samples", OF(walks)),
	COLUMN("samples", "samples", T_COUNT, C_DROP, "in all", OF(samples)),
	COLUMN("page_size", "page", T_BYTES, C_KEY | C_SPARSE | C_0_IS_NONE, "null: not recorded",
	       OF(page)),
	COLUMN("advice", "advice", T_TEXT, C_SPARSE,
	       "huge pages: they would save up to the cycles of the walks", .get = object_advice),
	COLUMN("kind", "kind", T_TEXT, C_KEY | C_DROP, "of the object", .get = walked_kind),
	COLUMN("object", "object", T_TEXT, C_KEY | C_FLEX | C_CUT, "as in the table of objects",
	       .get = walked_name),
	COLUMN("why", "why", T_TEXT, C_KEY | C_DATA, "why it is no object", .get = walked_why),
};
#undef OF
const struct table_form memory_walks_form = { "walks", "page walks", 0,
					      TABLE_COLUMNS(pages_columns), .rest = "object" };

/* ---- the log ------------------------------------------------------------------------------- */

enum { OBJECTS, PROCESSES, OWN, TABLES, RATE, NOT_LOGGED, WITHOUT, OF_OTHERS };

TABLE_GET(object_fact)
{
	const struct heap_facts *f = object_view_of(t)->objects->heap;
	const struct data_logs l = data_logs(object_view_of(t)->spaces);
	const uint64_t v[] = {
		[OBJECTS] = f ? f->objects : 0, [PROCESSES] = f ? f->processes : 0,
		[OWN] = f ? f->own : 0,		[TABLES] = f ? f->tables : 0,
		[RATE] = f ? f->rate : 0,	[NOT_LOGGED] = f ? f->not_logged : 0,
		[WITHOUT] = l.without,		[OF_OTHERS] = l.of_others,
	};

	out->n = v[c->which];
	out->none = !f;
}

#define FACT(key, head, which_, flags, means) \
	COLUMN(key, head, T_COUNT, flags, means, .get = object_fact, .which = which_)
static const struct table_column allocation_columns[] = {
	FACT("objects", "objects", OBJECTS, 0, "allocations, mappings and stacks; null: no log"),
	FACT("processes", "processes", PROCESSES, 0, "that left a log"),
	FACT("own_malloc", "own malloc", OWN, 0,
	     "of these, with a malloc of their own, which is not logged"),
	FACT("by_tables", "by tables", TABLES, 0,
	     "of these, whose call chains follow call-frame tables; others', frame pointers alone"),
	FACT("without_log", "without log", WITHOUT, C_LOSS,
	     "processes that executed a program without the library that logs"),
	FACT("pid_namespace", "PID namespace", OF_OTHERS, C_LOSS,
	     "logs of processes in one: of no process of the recording"),
	FACT("rate", "one in", RATE, 0, "of objects below 4 KB one of so many was logged"),
	FACT("not_logged", "not logged", NOT_LOGGED, C_LOSS,
	     "allocations and releases for which the log had no room"),
};
#undef FACT
const struct table_form memory_allocations_form = { "allocations", NULL, TABLE_ONE | TABLE_DATA,
						    TABLE_COLUMNS(allocation_columns) };

/* ---- sites --------------------------------------------------------------------------------- */

TABLE_ROW_AS(object_site_of, struct memory_site)

static const struct heap_frame *site_frame(const struct table_row *r)
{
	const struct heap_site *s = object_site_of(r)->site;

	return s->n ? s->frame : NULL;
}

TABLE_CELL(site_kind,
	   out->text = data_kind_name(object_site_of(r)->site->type == HEAP_MAP ? DATA_ANONYMOUS
										: DATA_HEAP))
TABLE_CELL(site_name, out->text = object_site_of(r)->site->n ? object_site_of(r)->site->name : NULL;
	   out->says = "[no call chain]")
TABLE_CELL(site_function, {
	const struct heap_frame *f = site_frame(r);

	out->text = f && f->symbol ? f->symbol->name : NULL;
})
TABLE_CELL(site_file, out->text = site_frame(r) ? site_frame(r)->file : NULL)
TABLE_CELL(site_line, {
	out->n = site_frame(r) ? site_frame(r)->line : 0;
	out->none = !out->n;
})
TABLE_CELL(site_dso, {
	const struct heap_frame *f = site_frame(r);

	if (f && f->image != IMAGE_NONE)
		out->text = image_name(spaces_images(object_view_of(t)->spaces), f->image);
})

#define OF(member) TABLE_FIELD(struct memory_site, member)
static const struct table_column site_columns[] = {
	COLUMN("most_bytes", "at once", T_BYTES, C_HEAT, "allocated at one time, at most",
	       OF(most_bytes)),
	COLUMN("bytes", "bytes", T_BYTES, 0, "of all its allocations", OF(bytes)),
	COLUMN("allocations", "allocations", T_COUNT, 0, "that were logged", OF(allocations)),
	COLUMN("left", "left", T_COUNT, C_DROP, "of these: never freed", OF(left)),
	COLUMN("left_bytes", "left bytes", T_BYTES, 0, "of those", OF(left_bytes)),
	COLUMN("kind", "kind", T_TEXT, C_KEY, "heap, anonymous", .get = site_kind),
	COLUMN("object", "object", T_TEXT, C_KEY | C_FLEX | C_CUT,
	       "who allocated it, as in the table of objects; null: not known", .get = site_name),
	COLUMN("function", "function", T_TEXT, C_DATA, "that allocated it", .get = site_function),
	COLUMN("file", "file", T_TEXT, C_DATA, "of its source", .get = site_file),
	COLUMN("line", "line", T_ID, C_DATA, "in it", .get = site_line),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the file of that code", .get = site_dso),
};
#undef OF
const struct table_form memory_sites_form = { "sites", "allocations", 0,
					      TABLE_COLUMNS(site_columns), .rest = "site" };

/* ---- all of it ----------------------------------------------------------------------------- */

/* People see objects that walk, programs all. */
static void put_walks(struct document *d, const struct memory_view *v)
{
	const struct memory_objects *o = v->objects;
	struct table t = TABLE_OF(memory_walks_form, v, o->pages, o->n_pages);

	while (t.people < o->n_pages && o->pages[t.people].walks)
		t.people++;
	t.data_only = !t.people;
	if (t.people > (v->limit ? v->limit : LEAST))
		t.people = v->limit ? v->limit : LEAST;
	document_table(d, &t);
}

/* For people, if there is nothing else to see. */
static void put_sites(struct document *d, const struct memory_view *v)
{
	const struct memory_objects *o = v->objects;

	document_table(d,
		       &TABLE_OF(memory_sites_form, v, o->site, o->n_sites,
				 .people = v->limit ? v->limit : ROWS, .data_only = v->m->samples));
}

void memory_put_objects(struct document *d, const struct memory_view *v)
{
	const struct memory_objects *o = v->objects;
	struct table objects = TABLE_OF(memory_objects_form, v, o->object, o->n);
	const struct table sources =
		TABLE_OF(memory_object_sources_form, v, o->source, o->n_sources);
	const struct table allocations = {
		.form = &memory_allocations_form, .ctx = v, .array = o, .n = 1
	};

	objects.people = v->limit ? v->limit : table_enough(&objects, 0, LEAST, ROWS, SMALL);
	objects.data_only = o->no_address == o->all.samples;
	document_table(d, &objects);
	document_table(d, &sources);
	put_walks(d, v);
	document_table(d, &allocations);
	put_sites(d, v);
}

/* Returns the samples in memory that an allocation log would name. */
static uint64_t unnamed(const struct memory_objects *o)
{
	uint64_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		n += o->object[i].why ? o->object[i].n.samples : 0;
	return n - o->no_address;
}

/* Processes without a log, and logs of processes in another PID namespace. */
static void put_logs(struct document *d, const struct memory_view *v)
{
	struct data_logs l = data_logs(v->spaces);
	char a[NUM_MAX];

	if (l.without)
		document_fact(d, "no log", true,
			      "%s process%s logged no allocations (%s%s%u%s): static, with more "
			      "rights, of a sanitizer or another C library, or in a container "
			      "without the library",
			      num_exact(a, l.without), l.without == 1 ? "" : "es",
			      l.name ? l.name : "", l.name ? ", pid " : "pid ", (unsigned)l.pid,
			      l.without > 1 ? ", ..." : "");
	if (l.of_others)
		document_fact(d, "PID namespace", true,
			      "%s log%s of processes in one: their allocations have no names, and "
			      "samples of them no objects",
			      num_exact(a, l.of_others), l.of_others == 1 ? " is" : "s are");
}

void memory_put_object_facts(struct document *d, const struct memory_view *v)
{
	const struct memory_objects *o = v->objects;
	char a[NUM_MAX], b[NUM_MAX];

	if (o->no_address && o->no_address == o->all.samples)
		document_fact(d, "no addresses", true,
			      "no sample says where its data are: no objects, cache lines, pages "
			      "or sharing; record --mem has them, without --fields=-addr (-d adds "
			      "them to other events)");
	else if (o->no_address)
		document_fact(d, "no address", true, "%s of %s samples are of no object",
			      num_exact(a, o->no_address), num_exact(b, o->all.samples));
	if (!o->heap && unnamed(o))
		document_fact(
			d, "objects", false,
			"%s samples are in memory without a name: cyclade record --mem --heap "
			"logs allocations",
			num_exact(a, unnamed(o)));
	for (size_t i = 0; i < o->n_pages; i++)
		if (memory_pages_advice(o, &o->pages[i])) {
			document_fact(d, "huge pages", false,
				      "would save up to the cycles of page walks: "
				      "madvise(MADV_HUGEPAGE), "
				      "or GLIBC_TUNABLES=glibc.malloc.hugetlb=1 for malloc");
			break;
		}
	if (o->heap && o->heap->rate > 1)
		document_fact(d, "allocations", true,
			      "of objects below 4 KB one in %s was logged: the others are unknown",
			      num_exact(a, o->heap->rate));
	if (o->heap && o->heap->not_logged)
		document_fact(d, "not logged", true,
			      "%s allocations or releases: the log had no room",
			      num_exact(a, o->heap->not_logged));
	if (o->heap && o->heap->own)
		document_fact(d, "own malloc", true,
			      "%s processes bring a malloc of their own: only their mappings are "
			      "known",
			      num_exact(a, o->heap->own));
	if (o->heap && o->heap->processes > o->heap->tables)
		document_fact(d, "call chains", false,
			      "of the allocations of %s process%s: by frame pointers alone; code "
			      "without them ends a chain",
			      num_exact(a, o->heap->processes - o->heap->tables),
			      o->heap->processes - o->heap->tables == 1 ? "" : "es");
	put_logs(d, v);
}
