/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cache lines that threads share, as tables: lines, and the accesses to each.
 */
#include <inttypes.h>

#include "base/fs.h"
#include "base/num.h"
#include "report/recorded.h"
#include "report/sharing_view.h"

#define LINES	20 /* for people */
#define DETAILS 5  /* lines whose accesses people see */

TABLE_CTX_AS(sharing_view_of, struct sharing_view)

/* A row of either table: at[0] is the line. */
static const struct sharing_line *sharing_line_of(const struct table *t, const struct table_row *r)
{
	return &sharing_view_of(t)->s->line[r->at[0]];
}

static bool line_next(const struct table *t, struct table_row *r)
{
	r->at[0] += r->p != NULL;
	if (r->at[0] >= sharing_view_of(t)->s->n)
		return false;
	r->p = sharing_line_of(t, r);
	return true;
}

/* The accesses of the first line, then those of the second, ... */
static bool access_next(const struct table *t, struct table_row *r)
{
	const struct sharing *s = sharing_view_of(t)->s;

	r->at[1] += r->p != NULL;
	if (r->at[0] < s->n && r->at[1] == s->line[r->at[0]].n_accesses) {
		r->at[0]++;
		r->at[1] = 0;
	}
	if (r->at[0] >= s->n)
		return false;
	r->p = &s->access[s->line[r->at[0]].first_access + r->at[1]];
	return true;
}

/* ---- shared by both -------------------------------------------------------------------------- */

TABLE_CELL(cache_line, out->n = sharing_line_of(t, r)->address)
TABLE_CELL(sharing_by_cell, out->text = sharing_by_name(sharing_line_of(t, r)->by))

TABLE_GET(line_pid)
{
	const struct sharing_line *l = sharing_line_of(t, r);

	out->n = l->pid;
	out->none = l->by == SHARING_KERNEL;
}

TABLE_CELL(verdict_text, out->text = sharing_verdict_name(sharing_line_of(t, r)->verdict))

/* c->which: offset of the counts in a row. */
TABLE_GET(hitm)
{
	const struct sharing_counts *n = (const void *)((const char *)r->p + c->which);

	out->n = n->hitm_local + n->hitm_remote;
}

/* clang-format off */
#define LINE(flags) \
	COLUMN("cache_line", "cache line", T_ADDRESS, C_KEY | (flags), \
	       "its first byte, as the first sampled access addressed it", .get = cache_line), \
	COLUMN("process", "pid", T_ID, C_KEY | (flags), \
	       "of the first access to the line; null: kernel", .get = line_pid)
#define COUNTS(type, at) \
	COLUMN("samples", "samples", T_COUNT, C_DATA, "accesses", TABLE_FIELD(type, at.samples)), \
	COLUMN("loads", "loads", T_COUNT, 0, "of these; an atomic access may be both", \
	       TABLE_FIELD(type, at.loads)), \
	COLUMN("stores", "stores", T_COUNT, 0, "of these", TABLE_FIELD(type, at.stores)), \
	COLUMN("locked", "locked", T_COUNT, C_DROP, "atomic accesses", \
	       TABLE_FIELD(type, at.locked)), \
	COLUMN("hitm", "HITM", T_COUNT, C_PEOPLE, "", .get = hitm, \
	       .which = offsetof(type, at)), \
	COLUMN("hitm_local", "local", T_COUNT, C_DATA, \
	       "loads of a line that another core of the node had modified", \
	       TABLE_FIELD(type, at.hitm_local)), \
	COLUMN("hitm_remote", "remote", T_COUNT, C_DROP, \
	       "loads of a line that a remote core had modified", \
	       TABLE_FIELD(type, at.hitm_remote)), \
	COLUMN("peer", "peer", T_COUNT, C_DATA, "loads that another core's cache answered", \
	       TABLE_FIELD(type, at.peer)), \
	COLUMN("timed", "timed", T_COUNT, C_DATA, "loads with a latency", \
	       TABLE_FIELD(type, at.timed))
/* clang-format on */

static void put_mean(struct table_cell *out, const struct sharing_counts *n)
{
	if (n->timed)
		out->e.v = (double)n->latency / (double)n->timed;
}

/* ---- objects --------------------------------------------------------------------------------- */

static const struct sharing_access *main_of(const struct table *t, const struct table_row *r)
{
	return &sharing_view_of(t)->s->access[sharing_line_of(t, r)->main_access];
}

static void put_object(struct table_cell *out, const struct table *t, const struct data_place *p)
{
	if (p->variable) {
		out->text = p->variable->name;
	} else if (p->site || p->tid || p->image != IMAGE_NONE) {
		data_name(out->scratch, p, sharing_view_of(t)->images);
		out->text = buf_str(out->scratch);
	}
	out->says = data_kind_name(p->kind);
}

static void put_offset(struct table_cell *out, const struct data_place *p, uint64_t address)
{
	out->none = !p->start;
	out->n = address - p->start;
}

static void put_type(struct table_cell *out, const struct sharing_access *a)
{
	out->text = a->type.type;
	if (!a->type.type)
		cell_none(out, types_why_means(a->type.why));
}

static void put_sharing_field(struct table_cell *out, const struct sharing_access *a)
{
	if (a->type.field && *a->type.field)
		out->text = a->type.field;
}

/* "node.next", "long"; nothing if the type is not known. */
static void put_type_text(struct table_cell *out, const struct sharing_access *a)
{
	if (a->type.type)
		cell_printf(out, "%s%s%s", a->type.type, *a->type.field ? ", " : "", a->type.field);
	out->says = "";
}

/* "counters+8 (+2)": so many more objects on the line. */
TABLE_GET(main_text)
{
	const struct sharing_line *l = sharing_line_of(t, r);
	const struct data_place *p = &main_of(t, r)->data;

	put_object(out, t, p);
	if (!out->text) {
		if (main_of(t, r)->type.type)
			cell_printf(out, "%s (%s)", main_of(t, r)->type.type,
				    data_kind_name(p->kind));
		else /* else lines look alike */
			cell_printf(out, "0x%" PRIx64 " (%s)", l->address, data_kind_name(p->kind));
		return;
	}
	if (out->text != buf_str(out->scratch))
		buf_printf(out->scratch, "%s", out->text);
	if (p->variable && l->address > p->start)
		buf_printf(out->scratch, "+%" PRIu64, l->address - p->start);
	if (l->variables > 1)
		buf_printf(out->scratch, " (and %" PRIu32 " more)", l->variables - 1);
	out->text = buf_str(out->scratch);
}

TABLE_CELL(main_object, put_object(out, t, &main_of(t, r)->data); out->says = NULL)
TABLE_CELL(main_kind, out->text = data_kind_name(main_of(t, r)->data.kind))
TABLE_CELL(main_offset, put_offset(out, &main_of(t, r)->data, main_of(t, r)->address))
TABLE_CELL(main_type, put_type(out, main_of(t, r)))
TABLE_CELL(main_field, put_sharing_field(out, main_of(t, r)))

/* ---- lines ----------------------------------------------------------------------------------- */

TABLE_GET(sharing_verdict_cell)
{
	const struct sharing_line *l = sharing_line_of(t, r);

	if (l->verdict == SHARING_UNKNOWN)
		cell_none(out, l->why);
	else
		out->text = sharing_verdict_name(l->verdict);
	out->says = "unknown";
}

TABLE_CELL(stake, cell_estimate(out, sharing_line_of(t, r)->stake))
TABLE_CELL(sharing_share, cell_estimate(out, sharing_line_of(t, r)->share))
TABLE_CELL(line_latency, put_mean(out, &sharing_line_of(t, r)->n))

TABLE_GET(sharing_alignment)
{
	out->n = sharing_view_of(t)->s->line_size;
	out->none = !sharing_padded(sharing_line_of(t, r)->verdict);
}

#define OF(member) TABLE_FIELD(struct sharing_line, member)
static const struct table_column line_columns[] = {
	COLUMN("verdict", "verdict", T_TEXT, C_WHY, "what threads share",
	       .get = sharing_verdict_cell),
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT,
	       "of the latency of all sampled loads, times what each stands for",
	       .get = sharing_share),
	COLUMN("stake", "at stake", T_AMOUNT, C_ERROR | C_WHY | C_DROP,
	       "what the line's loads took longer than usual", .unit = "cycles", .get = stake),
	COUNTS(struct sharing_line, n),
	COLUMN("latency", "cycles", T_REAL, C_SPARSE | C_DROP, "mean latency of its loads",
	       .unit = "cycles", .get = line_latency),
	COLUMN("threads", "threads", T_COUNT, 0, "that were seen to use it", OF(threads)),
	COLUMN("readers", "readers", T_COUNT, C_DATA, "of these", OF(readers)),
	COLUMN("writers", "write", T_COUNT, C_DROP, "threads that write", OF(writers)),
	COLUMN("alignment", "align", T_BYTES, C_SPARSE | C_DROP,
	       "alignment and size, in bytes, for what each thread uses by itself",
	       .get = sharing_alignment),
	LINE(C_DATA),
	COLUMN("identity", "identity", T_TEXT, C_DATA,
	       "what makes it one line: process, kernel, file or physical address",
	       .get = sharing_by_cell),
	COLUMN("identity_address", "identity address", T_ADDRESS, C_DATA,
	       "the line's address in that", OF(key)),
	COLUMN("object_text", "object", T_TEXT, C_PEOPLE | C_FLEX, "", .get = main_text),
	COLUMN("object", "object", T_TEXT, C_DATA, "variable or mapping that most samples are of",
	       .get = main_object),
	COLUMN("object_kind", "kind", T_TEXT, C_DATA,
	       "variable, file, heap, stack, anonymous, shared memory, kernel, unknown",
	       .get = main_kind),
	COLUMN("object_offset", "offset in it", T_ID, C_DATA, "of an access, in bytes",
	       .get = main_offset),
	COLUMN("objects", "objects", T_COUNT, C_DATA, "different ones on the line", OF(variables)),
	COLUMN("type", "type", T_TEXT, C_DATA | C_WHY, "of that variable, or of what code accesses",
	       .get = main_type),
	COLUMN("field", "field", T_TEXT, C_DATA, "of an access; null: the type has none",
	       .get = main_field),
};
#undef OF
static const struct table_form lines_form = { "lines",		 NULL,
					      TABLE_MAIN,	 TABLE_COLUMNS(line_columns),
					      .next = line_next, .rest = "line" };

/* ---- accesses -------------------------------------------------------------------------------- */

TABLE_ROW_AS(access_at, struct sharing_access)

/* "0x404040, false sharing: counters" */
TABLE_GET(sharing_heading)
{
	const struct sharing_line *l = sharing_line_of(t, r);
	const struct data_place *p = &main_of(t, r)->data;
	size_t head;

	buf_printf(out->scratch, "0x%" PRIx64 ", %s%s%s%s", l->address,
		   sharing_verdict_name(l->verdict), l->why ? " (" : "", l->why ? l->why : "",
		   l->why ? "): " : ": ");
	head = out->scratch->len;
	data_name(out->scratch, p, sharing_view_of(t)->images);
	if (out->scratch->len == head)
		buf_puts(out->scratch, data_kind_name(p->kind));
	out->text = buf_str(out->scratch);
}

TABLE_CELL(sharing_object_cell, put_object(out, t, &access_at(r)->data); out->says = NULL)
TABLE_CELL(object_offset, put_offset(out, &access_at(r)->data, access_at(r)->address))
TABLE_CELL(sharing_type, put_type(out, access_at(r)))
TABLE_CELL(sharing_field, put_sharing_field(out, access_at(r)))
TABLE_CELL(type_text, put_type_text(out, access_at(r)))
TABLE_CELL(sharing_latency, put_mean(out, &access_at(r)->n))

TABLE_GET(sharing_comm)
{
	uint32_t id = access_at(r)->comm;

	if (id != STR_NONE)
		out->text = spaces_strings(sharing_view_of(t)->spaces)->str[id];
}

TABLE_GET(sharing_dso)
{
	const struct sharing_access *a = access_at(r);

	if (a->image != IMAGE_NONE)
		out->text = image_name(sharing_view_of(t)->images, a->image);
}

TABLE_GET(sharing_address)
{
	const struct sharing_access *a = access_at(r);

	out->n = a->code;
	if (a->image != IMAGE_NONE)
		(void)image_to_vaddr(sharing_view_of(t)->images, a->image, a->code, &out->n);
}

/* "counters.c:12" */
TABLE_GET(sharing_place)
{
	const struct sharing_access *a = access_at(r);

	if (a->file)
		cell_printf(out, "%s:%" PRIu32, path_base(a->file), a->source_line);
}

#define OF(...) TABLE_FIELD(struct sharing_access, __VA_ARGS__)
static const struct table_column access_columns[] = {
	LINE(C_DATA),
	COLUMN("line_text", "line", T_TEXT, C_PEOPLE | C_GROUP, "", .get = sharing_heading),
	COLUMN("verdict", "verdict", T_TEXT, C_DATA, "the line's", .get = verdict_text),
	COLUMN("offset", "byte", T_ID, C_KEY, "of the line", OF(offset)),
	COLUMN("width", "width", T_BYTES, C_SPARSE | C_0_IS_NONE, "of the access; null: not known",
	       OF(width)),
	COLUMN("pid", "pid", T_ID, C_KEY | C_DATA, "process", OF(pid)),
	COLUMN("tid", "tid", T_ID, C_KEY, "thread", OF(tid)),
	COLUMN("comm", "thread", T_TEXT, C_DROP, "its name", .get = sharing_comm),
	COUNTS(struct sharing_access, n),
	COLUMN("latency", "cycles", T_REAL, C_SPARSE, "mean latency of its loads", .unit = "cycles",
	       .get = sharing_latency),
	COLUMN("object", "object", T_TEXT, C_FLEX, "variable, who allocated it, or mapping",
	       .get = sharing_object_cell),
	COLUMN("object_kind", "kind", T_TEXT, C_DATA,
	       "variable, file, heap, stack, anonymous, shared memory, kernel, unknown",
	       OF(data.kind), .name_of = data_kind_name),
	COLUMN("object_offset", "offset in it", T_ID, C_DATA, "in bytes", .get = object_offset),
	COLUMN("type_text", "type and field", T_TEXT, C_PEOPLE | C_SPARSE | C_FLEX, "",
	       .get = type_text),
	COLUMN("type", "type", T_TEXT, C_DATA | C_WHY, "of the variable, or of what code accesses",
	       .get = sharing_type),
	COLUMN("field", "field", T_TEXT, C_DATA, "null: the type has none", .get = sharing_field),
	COLUMN("function", "function", T_TEXT, C_FLEX, "of the instruction", OF(function, name)),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "its file", .get = sharing_dso),
	COLUMN("address", "address", T_ADDRESS, C_KEY | C_DATA, "of the instruction",
	       .get = sharing_address),
	COLUMN("place", "source", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = sharing_place),
	COLUMN("file", "file", T_TEXT, C_DATA, "of the source line", OF(file)),
	COLUMN("line", "line", T_ID, C_DATA | C_0_IS_NONE, "source line", OF(source_line)),
};
#undef OF
static const struct table_form accesses_form = { "accesses",
						 "who accesses the first lines",
						 0,
						 TABLE_COLUMNS(access_columns),
						 .next = access_next,
						 .rest = "place" };

/* ---- objects --------------------------------------------------------------------------------- */

TABLE_ROW_AS(sharing_object_at, struct sharing_object)

TABLE_CELL(object_name, put_object(out, t, &sharing_object_at(r)->data))
TABLE_CELL(object_latency, put_mean(out, &sharing_object_at(r)->n))

TABLE_GET(object_size)
{
	out->n = sharing_object_at(r)->data.size;
	out->none = !sharing_object_at(r)->data.start;
}

TABLE_GET(object_pid)
{
	out->n = sharing_object_at(r)->pid;
	out->none = sharing_object_at(r)->data.kind == DATA_KERNEL;
}

#define OF(member) TABLE_FIELD(struct sharing_object, member)
static const struct table_column object_columns[] = {
	COLUMN("lines", "lines", T_COUNT, 0, "cache lines of the table above that it is on",
	       OF(lines)),
	COLUMN("false_lines", "false", T_COUNT, 0,
	       "of these, lines whose threads use separate bytes", OF(padded)),
	COUNTS(struct sharing_object, n),
	COLUMN("latency", "cycles", T_REAL, C_SPARSE, "mean latency of its loads", .unit = "cycles",
	       .get = object_latency),
	COLUMN("size", "size", T_BYTES, C_DROP, "of the variable or mapping", .get = object_size),
	COLUMN("object_kind", "kind", T_TEXT, 0,
	       "variable, file, heap, stack, anonymous, shared memory, kernel, unknown",
	       OF(data.kind), .name_of = data_kind_name),
	COLUMN("object", "object", T_TEXT, C_FLEX, "variable, who allocated it, or mapping",
	       .get = object_name),
	COLUMN("process", "pid", T_ID, C_KEY | C_DATA, "of the first access; null: kernel",
	       .get = object_pid),
	COLUMN("object_address", "at", T_ADDRESS, C_KEY | C_DATA | C_0_IS_NONE,
	       "its first byte; null: not known", OF(data.start)),
};
#undef OF
static const struct table_form objects_form = { "objects", "what lies on these lines", 0,
						TABLE_COLUMNS(object_columns), .rest = "object" };

/* ---- the head -------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct sharing, member)
static const struct table_column head_columns[] = {
	COLUMN("line_size", "line size", T_BYTES, 0, "bytes of a cache line", OF(line_size)),
	COUNTS(struct sharing, all),
	COLUMN("lines_accessed", "lines", T_COUNT, 0, "different ones", OF(lines)),
	COLUMN("lines_one_thread", "of one thread", T_COUNT, 0,
	       "that one thread used: they are not in the table", OF(lines_one_thread)),
	COLUMN("samples_one_thread", "their samples", T_COUNT, 0, "accesses to these",
	       OF(one_thread.samples)),
	COLUMN("usual_latency", "usual latency", T_REAL, C_WHY,
	       "median of the loads of lines that one thread used", .unit = "cycles", OF(usual)),
	COLUMN("samples_other", "other", T_COUNT, 0, "samples that are no load or store",
	       OF(other)),
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

static const struct table_column lost_columns[] = {
	COLUMN("no_address", "no address", T_COUNT, C_LOSS,
	       "loads and stores without an address: they count for no line", OF(no_address)),
};
#undef OF
static const struct table_form lost_form = { "unattributed", NULL, TABLE_ONE | TABLE_DATA,
					     TABLE_COLUMNS(lost_columns) };

static const struct table_form *const forms[] = { &head_form,		&recorded_form, &lines_form,
						  &objects_form,	&accesses_form, &lost_form,
						  &recorded_losses_form };
const struct document_form sharing_document = {
	.name = "sharing", .version = 1, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

/* ---- lines for people ------------------------------------------------------------------------ */

static const char *why_no_lines(const struct sharing *s)
{
	if (!s->all.samples)
		return s->no_address ? "no sampled load or store has an address: record with -d"
				     : "no sample is a load or a store";
	return "no cache line was accessed by two threads";
}

/* How many lines there are of each verdict that has any. */
static void add_sharing_verdicts(struct document *d, const struct sharing *s)
{
	for (enum sharing_verdict v = 0; v <= SHARING_UNKNOWN; v++) {
		uint64_t lines = 0, samples = 0;
		char a[NUM_MAX], b[NUM_MAX];

		for (size_t i = 0; i < s->n; i++) {
			lines += s->line[i].verdict == v;
			samples += s->line[i].verdict == v ? s->line[i].n.samples : 0;
		}
		if (lines)
			document_fact(d, sharing_verdict_name(v), sharing_padded(v),
				      "%s line%s, %s accesses", num_exact(a, lines),
				      lines == 1 ? "" : "s", num_exact(b, samples));
	}
}

static void add_sharing_facts(struct document *d, const struct sharing *s)
{
	char a[NUM_MAX], b[NUM_MAX];
	bool padded = false;

	if (!s->n)
		document_fact(d, "no lines", true, "%s", why_no_lines(s));
	add_sharing_verdicts(d, s);
	for (size_t i = 0; i < s->n; i++)
		padded |= sharing_padded(s->line[i].verdict);
	if (padded)
		document_fact(d, "advice", false,
			      "give the bytes that each thread uses a cache line of their own: "
			      "alignas(%u), and a size that is a multiple of %u",
			      s->line_size, s->line_size);
	document_fact(d, "one thread", false, "%s lines, %s accesses: not in the table",
		      num_exact(a, s->lines_one_thread), num_exact(b, s->one_thread.samples));
	if (s->has_latency && !isnan(s->usual.v))
		document_fact(d, "at stake", false,
			      "cycles beyond the usual latency of a load, %s (median of lines that "
			      "one thread used)",
			      num_exact(a, (uint64_t)s->usual.v));
	else if (s->has_latency)
		document_fact(d, "at stake", true, "not known: %s", s->usual.why);
	if (s->all.samples && !s->all.stores)
		document_fact(d, "no stores", true,
			      "the recording has none, so nothing shows which bytes are written");
	if (s->no_address)
		document_fact(d, "no address", true, "%s loads or stores: they count for no line",
			      num_exact(a, s->no_address));
	if (s->other)
		document_fact(d, "other", false, "%s samples are no load or store",
			      num_exact(a, s->other));
}

static void add_sharing_next(struct document *d, const struct sharing_view *v)
{
	struct next_list l = { .v = d->next, .a = &d->a, .input = v->source.input };
	const struct sharing *s = v->s;
	const struct symbol *f = s->n ? s->access[s->line[0].main_access].function : NULL;

	if (symbol_has_name(f))
		next_add(&l, "annotate", "", f->name, "code that accesses the first line");
	d->n_next = l.n;
}

/* The accesses of the first lines. */
static size_t details(const struct sharing *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n && i < DETAILS; i++)
		n += s->line[i].n_accesses;
	return n;
}

void sharing_put(struct document *d, const struct sharing_view *v)
{
	const struct table lines = { .form = &lines_form,
				     .ctx = v,
				     .people = v->limit ? v->limit : LINES };
	const struct table accesses = { .form = &accesses_form, .ctx = v, .people = details(v->s) };
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX], e[NUM_MAX];

	document_table(d, &(struct table){ .form = &head_form, .ctx = v, .array = v->s, .n = 1 });
	recorded_head(d, &v->source);

	document_title(d, INK_PLAIN, "%s accesses to %s cache lines of %u bytes; %s lines shared",
		       num_exact(a, v->s->all.samples), num_exact(b, v->s->lines), v->s->line_size,
		       num_exact(c, v->s->n));
	document_title(d, INK_PLAIN, "%s loads, %s stores, %s HITM", num_exact(a, v->s->all.loads),
		       num_exact(b, v->s->all.stores),
		       num_exact(e, v->s->all.hitm_local + v->s->all.hitm_remote));
	document_table(d, &lines);
	document_table(d, &TABLE_OF(objects_form, v, v->s->object, v->s->n_objects,
				    .people = v->limit ? v->limit : LINES));
	document_table(d, &accesses);
	document_table(d, &(struct table){ .form = &lost_form, .array = v->s, .n = 1 });
	add_sharing_facts(d, v->s);
	recorded_tail(d, &v->source);
	add_sharing_next(d, v);
}
