/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of memory operations as tables: by source, translation, snoop, lock, block, function,
 * line, instruction, thread, CPU, type and field, with the latency that the recording has.
 */
#include "analyse/error_bar.h"
#include "report/memory/memory_int.h"

TABLE_CTX_AS(group_view_of, struct memory_view)
TABLE_ROW_AS(memory_group_of, struct memory_group)

static const struct memory_spread *group_spread_of(const struct table *t, const struct table_row *r)
{
	return memory_spread(group_view_of(t)->m, memory_group_of(r), group_view_of(t)->latency);
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
	memory_cell_figure(group_view_of(t)->m, group_spread_of(t, r), c->which, out);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Returns the whole of shares: all samples with the fact, those that access memory, or data. */
static uint64_t group_whole(const struct memory *m, enum memory_by by)
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

TABLE_CELL(group_share, cell_estimate(out, memory_part(memory_group_of(r)->samples,
						       group_whole(group_view_of(t)->m,
								   memory_group_of(r)->by))))

TABLE_CELL(open_misses, cell_estimate(out, memory_open(memory_group_of(r))))

#define OF(member) TABLE_FIELD(struct memory_group, member)
/* clang-format off */
#define SAMPLES \
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT, "of the samples", .get = group_share), \
	COLUMN("samples", "samples", T_COUNT, 0, "each counts once", OF(samples))
#define ACCESSES \
	COLUMN("loads", "loads", T_COUNT, C_DATA, "samples that load", OF(loads)), \
	COLUMN("stores", "stores", T_COUNT, C_DATA, "samples that store", OF(stores)), \
	COLUMN("open_misses", "open misses", T_REAL, C_ERROR | C_SPARSE | C_DROP, \
	       "L2 misses of the core that were open at a time when a load of these missed, " \
	       "itself included, on average; null: the CPU does not count them", \
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

	memory_op(&op, memory_group_of(r));
	memory_cell_text(out, memop_set_text(text, (enum memop_set)c->which, op.set[c->which]));
}

void memory_cell_source(const struct memory_group *g, struct table_cell *out)
{
	char text[MEMOP_TEXT];
	struct memop op;

	memory_op(&op, g);
	memory_cell_text(out, memop_source(text, &op));
}

TABLE_CELL(group_source, memory_cell_source(memory_group_of(r), out))

TABLE_GET(group_level)
{
	struct memop op;

	memory_op(&op, memory_group_of(r));
	out->text = memop_level_name(op.level);
}

TABLE_GET(group_where)
{
	struct memop op;

	memory_op(&op, memory_group_of(r));
	out->text = op.where ? memop_where_name(op.where) : NULL;
}

TABLE_GET(group_hit)
{
	struct memop op;

	memory_op(&op, memory_group_of(r));
	out->none = !(op.has & MEMOP_HAS_HIT);
	out->n = op.hit;
}

TABLE_GET(locked)
{
	struct memop op;

	memory_op(&op, memory_group_of(r));
	out->none = !(op.has & MEMOP_HAS_LOCKED);
	out->n = op.locked;
	out->says = "not told";
}

static const struct table_column source_columns[] = {
	SAMPLES,
	COLUMN("kind", "kind", T_TEXT, C_KEY, "load, store, prefetch, exec (a fetch)", .get = set,
	       .which = MEMOP_KIND),
	COLUMN("source", "source", T_TEXT, C_PEOPLE, "", .get = group_source),
	COLUMN("level", "level", T_TEXT, C_KEY | C_DATA, "L1, LFB, L2, L3, RAM, ...",
	       .get = group_level),
	COLUMN("where", "where", T_TEXT, C_KEY | C_DATA, "whose; null: its own, or not told",
	       .get = group_where),
	COLUMN("hit", "hit", T_FLAG, C_KEY | C_DATA, "the level had it; 0: missed",
	       .get = group_hit),
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

/* All that tells accesses of these kinds apart. */
static const struct table_column class_columns[] = {
	COLUMN("kind", "kind", T_TEXT, C_KEY, "load, store, prefetch, exec (a fetch)", .get = set,
	       .which = MEMOP_KIND),
	COLUMN("level", "level", T_TEXT, C_KEY, "L1, LFB, L2, L3, RAM, ...", .get = group_level),
	COLUMN("where", "where", T_TEXT, C_KEY, "whose; null: its own, or not told",
	       .get = group_where),
	COLUMN("hit", "hit", T_FLAG, C_KEY, "the level had it; 0: missed", .get = group_hit),
	COLUMN("tlb", "translation", T_TEXT, C_KEY, "what translated the address", .get = set,
	       .which = MEMOP_TLB),
	COLUMN("snoop", "snoop", T_TEXT, C_KEY, "other caches: none, hit, miss, hitm, fwd, peer",
	       .get = set, .which = MEMOP_SNOOP),
	COLUMN("locked", "locked", T_FLAG, C_KEY, "a locked operation", .get = locked),
	COLUMN("blocked", "blocked by", T_TEXT, C_KEY, "a store before it: data, address",
	       .get = set, .which = MEMOP_BLOCK),
};

/* ---- code, threads, CPUs --------------------------------------------------------------------- */

static struct images *images_of(const struct table *t)
{
	return spaces_images(group_view_of(t)->spaces);
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

/* In the file; without the file, its place there; as it was sampled, if it is in no file. */
void memory_cell_address(const struct table *t, const struct memory_group *g,
			 struct table_cell *out)
{
	uint32_t image = (uint32_t)g->key[1];

	out->n = g->key[0];
	out->none = g->by == MEMORY_FUNCTION && !g->symbol;
	if (!out->none && image != IMAGE_NONE && image_key(images_of(t), image)->kind == IMAGE_FILE)
		(void)image_to_vaddr(images_of(t), image, g->key[0], &out->n);
}

TABLE_CELL(group_function, memory_cell_function(memory_group_of(r), out))
TABLE_CELL(group_dso, memory_cell_dso(t, memory_group_of(r), out))
TABLE_CELL(group_address, memory_cell_address(t, memory_group_of(r), out))

/* clang-format off */
#define CODE(of_) \
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name", .get = group_function), \
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = group_dso), \
	COLUMN("address", "address", T_ADDRESS, C_KEY | C_DATA, of_, .get = group_address)
/* clang-format on */
#define LINE(flags_)                                                                             \
	COLUMN("file", "file", T_TEXT, flags_ | C_FLEX | C_KEEP_END, "of the source", OF(file)), \
		COLUMN("line", "line", T_ID, flags_, "in it", .get = group_line)
TABLE_CELL(group_line, out->n = memory_group_of(r)->line; out->none = !memory_group_of(r)->file)

static const struct table_column line_columns[] = {
	SAMPLES,
	ACCESSES,
	FETCHES,
	MEMORY_SPREAD(of_group),
	LINE(C_KEY),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the file of its code", .get = group_dso),
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

TABLE_CELL(group_pid, out->n = memory_pid(memory_group_of(r)))
TABLE_CELL(group_tid, out->n = memory_tid(memory_group_of(r)))

TABLE_GET(group_comm)
{
	char text[MEMORY_COMM];

	cell_printf(out, "%s", memory_comm(group_view_of(t)->spaces, memory_group_of(r), text));
}

TABLE_CELL(group_cpu, out->n = memory_group_of(r)->key[0]; out->none = out->n == UINT32_MAX)

static const struct table_column thread_columns[] = {
	SAMPLES,
	ACCESSES,
	MEMORY_SPREAD(of_group),
	COLUMN("pid", "pid", T_ID, C_KEY, "its process", .get = group_pid),
	COLUMN("tid", "tid", T_ID, C_KEY, "its number", .get = group_tid),
	COLUMN("comm", "comm", T_TEXT, C_KEY | C_FLEX, "its name", .get = group_comm),
};
static const struct table_column cpu_columns[] = {
	SAMPLES,
	ACCESSES,
	MEMORY_SPREAD(of_group),
	COLUMN("cpu", "CPU", T_ID, C_KEY, "that the samples were taken on", .get = group_cpu),
};

/* ---- data ------------------------------------------------------------------------------------ */

static bool is_typed(const struct table_row *r)
{
	return memory_group_of(r)->access.why == TYPES_KNOWN;
}

TABLE_GET(group_type)
{
	const struct types_access *a = &memory_group_of(r)->access;

	out->text = a->type;
	if (!a->type)
		cell_none(out, types_why_means(a->why));
	out->says = types_why_key(a->why);
}

TABLE_GET(group_field)
{
	if (is_typed(r) && *memory_group_of(r)->access.field)
		out->text = memory_group_of(r)->access.field;
	out->says = "";
}

/* Numbers that unknown types do not have: 0, 1, 2. */
TABLE_GET(of_type)
{
	const struct types_access *a = &memory_group_of(r)->access;

	out->n = c->which == 0 ? a->offset : c->which == 1 ? a->size : a->type_size;
	out->none = !is_typed(r);
	out->says = "";
}

/* clang-format off */
#define TYPE \
	COLUMN("type", "type", T_TEXT, C_KEY | C_WHY | C_FLEX, "of the data that is accessed", \
	       .get = group_type)
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
	       "of the type; null: the type has none", .get = group_field),
	COLUMN("offset", "at", T_COUNT, C_KEY,
	       "bytes from the start of the type; of an array: "
	       "its first element",
	       .get = of_type, .which = 0),
	COLUMN("size", "bytes", T_COUNT, 0, "of the field", .get = of_type, .which = 1),
	COLUMN("type_size", "of", T_COUNT, C_KEY | C_DATA, "bytes of the type", .get = of_type,
	       .which = 2),
};
#undef OF

/* clang-format off */
#define FORM(name_, flags_, columns_, rest_) \
	const struct table_form memory_##name_##_form = { \
		#name_, NULL, flags_, TABLE_COLUMNS(columns_), .rest = rest_ \
	}
FORM(sources, TABLE_MAIN, source_columns, "source");
FORM(tlb, 0, tlb_columns, NULL);
FORM(snoops, 0, snoop_columns, NULL);
FORM(locks, 0, lock_columns, NULL);
FORM(blocks, 0, block_columns, NULL);
FORM(classes, 0, class_columns, NULL);
FORM(functions, 0, function_columns, "function");
FORM(lines, 0, line_columns, "line");
FORM(instructions, TABLE_DATA, instruction_columns, NULL);
FORM(threads, TABLE_DATA, thread_columns, NULL);
FORM(cpus, TABLE_DATA, cpu_columns, NULL);
FORM(types, TABLE_DATA, type_columns, NULL);
FORM(fields, 0, field_columns, "field");
/* clang-format on */
