/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contents of a recording, as tables: the file, its machine, events with their attributes,
 * records.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "perfdata/stat_data.h"
#include "report/info_attr.h"
#include "report/info_view.h"
#include "report/recorded.h"

static const char *const form_names[] = {
	[PD_FILE] = "file",
	[PD_PIPE] = "pipe",
	[PD_DIRECTORY] = "directory",
	[PD_VERSION1] = "version 1",
	[PD_SIMPLEPERF] = "simpleperf",
	[PD_TOOLKIT] = "IBS Toolkit",
};
static const char no_features[] =
	"no header features (host, command line, build ids, ...): the recorder was stopped before "
	"it could write them";

/* ---- the file -------------------------------------------------------------------------------- */

TABLE_CTX_AS(view_of, struct info_view)

/* The time of the first or the last sample: c->which. */
TABLE_GET(sample_time)
{
	uint64_t at[2];

	out->none = !pd_time_span(view_of(t)->rec, &at[0], &at[1]);
	out->n = out->none ? 0 : at[c->which];
}

#define OF(member) TABLE_FIELD(struct pd_info, member)
#define CTX(...)   TABLE_CTX(struct info_view, __VA_ARGS__)
static const struct table_column head_columns[] = {
	COLUMN("file", "file", T_TEXT, 0, "as it was named", CTX(file)),
	COLUMN("form", "form", T_TEXT, 0, "file, pipe, directory, version 1 or simpleperf",
	       OF(form), TABLE_NAMES(form_names)),
	COLUMN("bytes", "bytes", T_BYTES, 0, "of the file", OF(file_size)),
	COLUMN("bytes_unpacked", "unpacked", T_BYTES, 0, "of its compressed records, unpacked",
	       OF(inflated_size)),
	COLUMN("aux_bytes", "AUX", T_BYTES, 0,
	       "of AUX trace: that of Arm's SPE becomes samples, another is not decoded",
	       OF(aux_bytes)),
	COLUMN("foreign_byte_order", "foreign", T_FLAG, 0,
	       "written on a machine of the other byte order", OF(foreign_order)),
	COLUMN("recorder", "recorder", T_TEXT, 0, "version of the program that recorded",
	       OF(version)),
	COLUMN("selected", "selected", T_FLAG, 0, "events' samples are those that options select",
	       CTX(selects)),
	{ "first_ns", "first", T_COUNT, 0, "ns", "time of the first sample", .get = sample_time },
	{ "last_ns", "last", T_COUNT, 0, "ns", "time of the last sample", .get = sample_time,
	  .which = 1 },
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

/* ---- the machine: not in the table "recording" ----------------------------------------------- */

/* Not recorded if it is 0. */
TABLE_CELL(cpus_online, out->none = !((const struct pd_info *)r->p)->cpus_available)

static const struct table_column machine_columns[] = {
	COLUMN("cpuid", "cpuid", T_TEXT, 0, "its CPU, by number", OF(cpuid)),
	COLUMN("cpus_online", "online", T_COUNT, 0, "CPUs that were on", OF(cpus_online),
	       .get = cpus_online),
	COLUMN("cpus_available", "available", T_COUNT, C_0_IS_NONE, "CPUs that it has",
	       OF(cpus_available)),
	{ "memory_kb", "memory", T_COUNT, C_0_IS_NONE, "kB", "in all", OF(mem_total_kb) },
	COLUMN("numa_nodes", "NUMA", T_COUNT, C_0_IS_NONE, "NUMA nodes", OF(n_nodes)),
};
#undef OF
static const struct table_form machine_form = { "machine", NULL, TABLE_ONE | TABLE_DATA,
						TABLE_COLUMNS(machine_columns) };

TABLE_CELL(hybrid_cpus, out->text = view_of(t)->source.info->hybrid_cpus[r->i])

static const struct table_column hybrid_columns[] = {
	COLUMN("pmu", "pmu", T_TEXT, C_KEY, "of a kind of core", TABLE_ROW(const char *)),
	COLUMN("cpus", "cpus", T_TEXT, 0, "of that kind", .get = hybrid_cpus),
};
static const struct table_form hybrid_form = { "hybrid", NULL, TABLE_DATA,
					       TABLE_COLUMNS(hybrid_columns) };

/* at[0] is the PMU, at[1] the capability. */
static bool cap_next(const struct table *t, struct table_row *r)
{
	const struct pd_info *i = view_of(t)->source.info;

	r->at[1] += r->p != NULL;
	for (; r->at[0] < i->n_caps; r->at[0]++, r->at[1] = 0)
		if (r->at[1] < i->caps[r->at[0]].n)
			return (r->p = &i->caps[r->at[0]]);
	return false;
}

TABLE_CELL(cap_name, out->text = ((const struct pd_pmu_caps *)r->p)->name[r->at[1]])
TABLE_CELL(cap_value, out->text = ((const struct pd_pmu_caps *)r->p)->value[r->at[1]])

static const struct table_column cap_columns[] = {
	COLUMN("pmu", "pmu", T_TEXT, C_KEY, "of the recorded machine",
	       TABLE_FIELD(struct pd_pmu_caps, pmu)),
	COLUMN("name", "capability", T_TEXT, C_KEY, "in the kernel's words", .get = cap_name),
	COLUMN("value", "value", T_TEXT, C_FLEX, "of the capability", .get = cap_value),
};
static const struct table_form caps_form = { "pmu_caps", NULL, 0, TABLE_COLUMNS(cap_columns),
					     .next = cap_next };

/* ---- events ---------------------------------------------------------------------------------- */

/* Texts that the event itself lacks: made once, in the document's arena. */
struct event_words {
	const struct info_view *v;
	const char *kind;
	struct {
		const char *const *name;
		size_t n;
	} bits[3]; /* by enum attr_bits */
};

static const struct event_words *words_of(const struct table *t, const struct table_row *r)
{
	return &((const struct event_words *)t->ctx)[r->i];
}

static const struct perf_event_attr *attr_of(const struct table_row *r)
{
	return &((const struct pd_event *)r->p)->attr;
}

TABLE_CELL(kind, out->text = words_of(t, r)->kind)
TABLE_CELL(samples, out->n = words_of(t, r)->v->of[r->i].samples)
TABLE_CELL(period, out->n = words_of(t, r)->v->of[r->i].period)
TABLE_CELL(config, out->n = attr_of(r)->config)
TABLE_CELL(config1, out->n = attr_of(r)->config1)
TABLE_CELL(config2, out->n = attr_of(r)->config2)
TABLE_CELL(freq, out->none = !attr_of(r)->freq; out->n = attr_of(r)->sample_freq)
TABLE_CELL(every, out->none = attr_of(r)->freq; out->n = attr_of(r)->sample_period)
TABLE_CELL(precise, out->n = attr_of(r)->precise_ip)
TABLE_CELL(exclude_user, out->n = attr_of(r)->exclude_user)
TABLE_CELL(exclude_kernel, out->n = attr_of(r)->exclude_kernel)
TABLE_CELL(exclude_hypervisor, out->n = attr_of(r)->exclude_hv)
TABLE_CELL(exclude_host, out->n = attr_of(r)->exclude_host)
TABLE_CELL(exclude_guest, out->n = attr_of(r)->exclude_guest)
TABLE_CELL(inherit, out->n = attr_of(r)->inherit)
TABLE_CELL(bits, out->list = words_of(t, r)->bits[c->which].name;
	   out->n_list = words_of(t, r)->bits[c->which].n)

#define OF(member) TABLE_FIELD(struct pd_event, member)
/* clang-format off */
#define ATTR(key, head, kind, flags, means) \
	COLUMN(#key, head, kind, (flags) | C_DATA, means, .get = key)
#define BITS(key, head, means, which_) \
	COLUMN(key, head, T_LIST, C_DATA, means, .get = bits, .which = which_)
/* clang-format on */
static const struct table_column event_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY | C_FLEX, "its name", OF(name)),
	COLUMN("unit", "unit", T_TEXT, C_DATA, "of its counts", OF(unit)),
	COLUMN("samples", "samples", T_COUNT, 0, "selected, if only some are", .get = samples),
	COLUMN("period", "sum of periods", T_COUNT, 0, "of these samples", .get = period),
	COLUMN("kind", "kind", T_TEXT, 0, "hardware, software, ..., or the PMU", .get = kind),
	COLUMN("type", "type", T_ID, C_KEY | C_DATA, "of perf_event_attr", OF(attr.type)),
	ATTR(config, "config", T_ID, C_KEY, "of perf_event_attr"),
	ATTR(config1, "config1", T_ID, 0, "of perf_event_attr"),
	ATTR(config2, "config2", T_ID, 0, "of perf_event_attr"),
	COLUMN("config3", "config3", T_ID, C_DATA, "of perf_event_attr", OF(config3)),
	COLUMN("config4", "config4", T_ID, C_DATA, "of perf_event_attr", OF(config4)),
	COLUMN("attr_size", "size", T_BYTES, C_DATA, "of perf_event_attr", OF(attr.size)),
	COLUMN("sample_freq", "frequency", T_COUNT, C_DATA, "samples a second that were asked for",
	       .get = freq),
	COLUMN("sample_period", "every", T_COUNT, C_DATA, "events to a sample", .get = every),
	ATTR(precise, "precise", T_ID, 0, "precise_ip"),
	ATTR(exclude_user, "no user", T_FLAG, 0, "user space is not sampled"),
	ATTR(exclude_kernel, "no kernel", T_FLAG, 0, "the kernel is not sampled"),
	ATTR(exclude_hypervisor, "no hypervisor", T_FLAG, 0, "hypervisors are not sampled"),
	ATTR(exclude_host, "guests only", T_FLAG, 0, "the host is not sampled"),
	ATTR(exclude_guest, "no guests", T_FLAG, 0, "guests are not sampled"),
	ATTR(inherit, "inherit", T_FLAG, 0, "children are sampled too"),
	BITS("sample_type", "with", "what a sample has", ATTR_SAMPLE),
	BITS("read_format", "read", "what a read has", ATTR_READ),
	BITS("branch_type", "branches", "branches in its stacks", ATTR_BRANCH),
	COLUMN("ids", "ids", T_COUNT, C_DATA, "of its counters", OF(n_ids)),
};
#undef OF
static const struct table_form events_form = { "events", NULL, TABLE_MAIN,
					       TABLE_COLUMNS(event_columns), .rest = "event" };

static int read_event(struct event_words *out, struct arena *a, const struct info_view *v,
		      const struct perf_event_attr *p)
{
	const uint64_t bit[] = { p->sample_type, p->read_format, p->branch_sample_type };
	struct buf kind_of = BUF_INIT;

	attr_put_kind(&kind_of, v->source.info, p->type);
	*out = (struct event_words){ .v = v, .kind = arena_strdup(a, buf_str(&kind_of)) };
	buf_free(&kind_of);
	for (size_t i = 0; i < 3; i++) {
		out->bits[i].name = attr_bits(a, (enum attr_bits)i, bit[i], &out->bits[i].n);
		if (!out->bits[i].name)
			return -1;
	}
	return out->kind ? 0 : -1;
}

/* ---- records, build ids ---------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct pd_type_count, member)
static const struct table_column record_columns[] = {
	COLUMN("record", "record", T_TEXT, C_KEY | C_FLEX, "its type, in the kernel's words",
	       OF(name)),
	COLUMN("count", "number", T_COUNT, 0, "those in compressed records included", OF(count)),
	COLUMN("bytes", "bytes", T_BYTES, 0, "of them", OF(bytes)),
};
#undef OF
static const struct table_form records_form = { "records", NULL, 0, TABLE_COLUMNS(record_columns),
						.rest = "type" };

TABLE_GET(build_id)
{
	const struct pd_buildid *b = r->p;
	char hex[2 * sizeof(b->id) + 1];

	text_hex(hex, b->id, b->id_len);
	buf_puts(out->scratch, hex);
	out->text = buf_str(out->scratch);
}

static const struct table_column build_id_columns[] = {
	COLUMN("build_id", "build id", T_TEXT, C_KEY, "of a program or library", .get = build_id),
	COLUMN("path", "file", T_TEXT, C_KEY | C_FLEX | C_KEEP_END, "when it was recorded",
	       TABLE_FIELD(struct pd_buildid, path)),
};
static const struct table_form build_ids_form = { "build_ids", NULL, 0,
						  TABLE_COLUMNS(build_id_columns) };

/* ---- not stored by record -------------------------------------------------------------------- */

struct left_out {
	const struct pd_left_out *l;
	const char *const *part;
	size_t n_parts;
};

TABLE_ROW_AS(left_of, struct left_out)

TABLE_CELL(left_samples, out->none = !left_of(r)->l->keep; out->n = left_of(r)->l->samples)

static const struct table_column left_out_columns[] = {
	COLUMN("samples", "samples", T_COUNT, 0, "for which --keep did not hold; null: no --keep",
	       .get = left_samples),
	COLUMN("fields", "parts", T_LIST, 0, "parts of samples that --fields left out",
	       TABLE_LIST(struct left_out, part, n_parts)),
	COLUMN("bytes", "bytes", T_BYTES, 0, "of such parts, recorded because --keep read them",
	       TABLE_FIELD(struct left_out, l, bytes)),
};
static const struct table_form left_out_form = { "left_out", NULL, TABLE_DATA,
						 TABLE_COLUMNS(left_out_columns) };

static int read_left_out(struct left_out *out, struct arena *a, const struct pd_info *i)
{
	out->l = &i->left_out;
	out->part = attr_bits(a, ATTR_SAMPLE, i->left_out.parts, &out->n_parts);
	return out->part ? 0 : -1;
}

/* Not the file's losses: it was asked for. */
static void add_left_out(struct document *d, const struct left_out *left, struct buf *b)
{
	const struct pd_left_out *l = left->l;
	char n[NUM_MAX];

	if (l->keep)
		buf_printf(b, "%s samples for which --keep did not hold", num_exact(n, l->samples));
	for (size_t i = 0; i < left->n_parts; i++)
		buf_printf(b, "%s%s",
			   i	    ? ", "
			   : b->len ? "; of samples (--fields): "
				    : "of samples (--fields): ",
			   left->part[i]);
	if (b->len)
		document_fact(d, "left out", false, "%s", buf_str(b));
	d->failed |= b->failed;
	buf_reset(b);
}

/* ---- chains ---------------------------------------------------------------------------------- */

static const struct table_column chains_columns[] = {
	COLUMN("samples", "samples", T_COUNT, 0, "whose callers were found by unwinding",
	       TABLE_FIELD(struct pd_unwound, samples)),
	COLUMN("whole", "whole", T_COUNT, 0, "up to the thread's start",
	       TABLE_FIELD(struct pd_unwound, whole)),
	COLUMN("cut", "cut", T_COUNT, 0, "up to the end of the copied stack",
	       TABLE_FIELD(struct pd_unwound, cut)),
};
static const struct table_form chains_form = { "chains", NULL, TABLE_DATA,
					       TABLE_COLUMNS(chains_columns) };

static void add_chains(struct document *d, const struct pd_unwound *u)
{
	char n[NUM_MAX];

	if (u->samples)
		document_fact(d, "call chains", false,
			      "made by unwinding while recording; %.1f %% of %s reach the thread's "
			      "start",
			      100.0 * (double)u->whole / (double)u->samples,
			      num_exact(n, u->samples));
}

/* ---- lines for people ------------------------------------------------------------------------ */

static void add(struct buf *b, const char *lead, const char *s)
{
	if (s && *s)
		buf_printf(b, "%s%s%s", b->len ? ", " : "", lead, s);
}

/* The line that was put together, which begins anew. */
static void add_head(struct document *d, const char *label, struct buf *line)
{
	document_head(d, label, "%s", line->len ? buf_str(line) : "not recorded");
	d->failed |= line->failed;
	buf_reset(line);
}

static void add_file(struct document *d, const struct info_view *v, struct buf *b)
{
	const struct pd_info *i = v->source.info;
	char n[NUM_MAX], m[NUM_MAX];

	buf_printf(b, "%s, %s form, %s", v->file, form_names[i->form], num_bytes(n, i->file_size));
	if (i->inflated_size)
		buf_printf(b, ", %s when unpacked", num_bytes(m, i->inflated_size));
	if (i->foreign_order)
		buf_puts(b, ", of the other byte order");
	add_head(d, "file", b);
}

static void add_machine(struct document *d, const struct pd_info *i, struct buf *b)
{
	char n[NUM_MAX];

	add(b, "", i->hostname);
	add(b, "Linux ", i->os_release);
	add(b, "", i->arch);
	add_head(d, "machine", b);
	add(b, "", i->cpu_desc);
	if (i->cpuid && i->cpu_desc && strcmp(i->cpuid, i->cpu_desc) != 0)
		add(b, "", i->cpuid);
	if (i->cpus_available)
		buf_printf(b, "%s%" PRIu32 " of %" PRIu32 " CPUs online", b->len ? ", " : "",
			   i->cpus_online, i->cpus_available);
	if (i->mem_total_kb)
		buf_printf(b, ", %s of memory", num_bytes(n, i->mem_total_kb * 1024));
	if (i->n_nodes > 1)
		buf_printf(b, ", %zu NUMA nodes", i->n_nodes);
	if (b->len)
		add_head(d, "cpu", b);
	for (size_t k = 0; k < i->n_hybrid; k++)
		buf_printf(b, "%s%s on CPUs %s", k ? "; " : "", i->hybrid_name[k],
			   i->hybrid_cpus[k]);
	if (b->len)
		add_head(d, "hybrid", b);
}

static void add_command(struct document *d, const struct info_view *v, struct buf *b)
{
	const struct pd_info *i = v->source.info;
	uint64_t first, last;
	char n[NUM_MAX];

	for (size_t k = 0; k < i->n_cmdline; k++)
		buf_printf(b, "%s%s", k ? " " : "", i->cmdline[k]);
	add_head(d, "command", b);
	if (i->version)
		document_head(d, "recorder", "%s", i->version);
	if (pd_time_span(v->rec, &first, &last))
		buf_printf(b,
			   "%s between the first and the last sample, at %" PRIu64 ".%06" PRIu64
			   " and %" PRIu64 ".%06" PRIu64 " s",
			   num_seconds(n, (double)(last - first) / 1e9), first / 1000000000,
			   first / 1000 % 1000000, last / 1000000000, last / 1000 % 1000000);
	add_head(d, "time", b);
}

static void put_bits(struct buf *b, const struct event_words *w, enum attr_bits which,
		     const char *lead)
{
	for (size_t i = 0; i < w->bits[which].n; i++)
		buf_printf(b, "%s%s", i ? ", " : lead, w->bits[which].name[i]);
}

/* "cycles: hardware event 0x0; 4,000 samples a second; ...; with ip, tid" */
static void add_event(struct document *d, const struct pd_event *e, const struct event_words *w,
		      struct buf *b)
{
	const struct perf_event_attr *p = &e->attr;

	buf_printf(b, "%s: %s event 0x%" PRIx64 "; ", e->name, w->kind, (uint64_t)p->config);
	attr_put_how(b, e);
	put_bits(b, w, ATTR_SAMPLE, "; with ");
	if (p->sample_type & PERF_SAMPLE_BRANCH_STACK)
		put_bits(b, w, ATTR_BRANCH, "; branches: ");
	if (w->v->verbose) {
		put_bits(b, w, ATTR_READ, "; counts read with ");
		buf_printf(b,
			   "; config1 0x%" PRIx64 ", config2 0x%" PRIx64 ", config3 0x%" PRIx64
			   "; %zu ids",
			   (uint64_t)p->config1, (uint64_t)p->config2, e->config3, e->n_ids);
	}
	document_fact(d, "event", false, "%s", buf_str(b));
	d->failed |= b->failed;
	buf_reset(b);
}

/* All that were counted, in the words of their table. */
static void add_losses(struct document *d, const struct table *losses, struct buf *b)
{
	const struct pd_losses *l = losses->array;
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;
	size_t n;
	const struct table_column *c = table_columns(losses, &n);
	char text[NUM_MAX];

	(void)table_next(losses, &r);
	for (size_t i = 0; i < n; i++) {
		table_cell(&x, losses, &c[i], &r, &scratch);
		if (x.n)
			buf_printf(b, "%s%s: %s", b->len ? "; " : "", c[i].means,
				   num_exact(text, x.n));
	}
	buf_free(&scratch);
	document_fact(d, "losses", b->len, "%s",
		      b->len	  ? buf_str(b)
		      : l->untold ? "a file of this form does not tell"
				  : "none told");
	d->failed |= b->failed;
	buf_reset(b);
}

static void add_facts(struct document *d, const struct info_view *v)
{
	const struct pd_info *i = v->source.info;
	char n[NUM_MAX], m[NUM_MAX];

	if (v->selects)
		document_fact(d, "selected", false, "events have the samples that options select");
	if (!v->source.n_events)
		document_fact(d, "events", true, "none is described");
	if (i->deferred_samples)
		document_fact(d, "call chains", i->deferred_lost,
			      "user parts of %s samples were recorded separately (deferred); %s "
			      "were joined",
			      num_exact(n, i->deferred_samples),
			      num_exact(m, i->deferred_samples - i->deferred_lost));
	if (i->aux_decoded)
		document_fact(d, "AUX trace", false, "%s of Arm's SPE: each record is a sample",
			      num_bytes(n, i->aux_decoded));
	if (i->aux_bytes > i->aux_decoded)
		document_fact(d, "AUX trace", false, "%s, which are not decoded",
			      num_bytes(n, i->aux_bytes - i->aux_decoded));
	if (i->n_buildids)
		document_fact(d, "build ids", false, "%zu%s", i->n_buildids,
			      v->verbose ? "" : " (-v lists them)");
	for (size_t k = 0; k < v->source.n_notes; k++)
		document_note(d, v->source.notes[k]);
	if (i->form == PD_FILE &&
	    !(i->features[0] | i->features[1] | i->features[2] | i->features[3]))
		document_note(d, no_features);
}

/* Readings, not only the word of the recording that it is one of counts. */
static bool has_counts(struct document *d, const struct info_view *v)
{
	struct err why = ERR_INIT;
	struct stat_data s;

	if (!v->source.info->has_stat)
		return false;
	if (!stat_data_read(&s, &d->a, v->rec, &why))
		return true;
	d->failed |= why.code == ERR_NOMEM;
	return false;
}

/* A recording of counts, or one with samples; else there is nothing more to see. */
static void add_next(struct document *d, const struct info_view *v)
{
	struct next_list l = { .v = d->next, .a = &d->a, .input = v->source.input };
	struct buf import = BUF_INIT;

	buf_puts(&import, "--import ");
	if (has_counts(d, v) && text_put_word(&import, v->file)) {
		l.input = NULL;
		next_add(&l, "stat", buf_str(&import), NULL,
			 "the counts, and the tree if they allow it");
	}
	for (size_t i = 0; i < v->source.n_events && !l.n; i++)
		if (v->of[i].samples)
			next_add(&l, "report", "", NULL, "where the time went");
	d->n_next = l.n;
	d->failed |= import.failed;
	buf_free(&import);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const struct table_form *const forms[] = {
	&head_form,    &recorded_form,	&machine_form,	      &hybrid_form,
	&caps_form,    &events_form,	&left_out_form,	      &chains_form,
	&records_form, &build_ids_form, &recorded_losses_form
};
const struct document_form info_document = {
	.name = "info", .version = 2, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

int info_put(struct document *d, const struct info_view *v, struct err *err)
{
	const struct pd_info *info = v->source.info;
	struct event_words *w = arena_alloc(&d->a, (v->source.n_events + 1) * sizeof(*w));
	struct left_out *left = arena_alloc(&d->a, sizeof(*left));
	size_t n_types;
	const struct pd_type_count *types = pd_type_counts(v->rec, &n_types);
	const struct table tables[] = {
		{ .form = &head_form, .ctx = v, .array = info, .n = 1 },
		{ .form = &recorded_form, .ctx = &v->source, .array = info, .n = 1 },
		{ .form = &machine_form, .array = info, .n = 1 },
		{ .form = &hybrid_form,
		  .ctx = v,
		  .array = info->hybrid_name,
		  .stride = sizeof(*info->hybrid_name),
		  .n = info->n_hybrid },
		{ .form = &caps_form, .ctx = v, .data_only = !v->verbose },
		{ .form = &events_form,
		  .ctx = w,
		  .array = v->source.event,
		  .stride = sizeof(*v->source.event),
		  .n = v->source.n_events },
		{ .form = &left_out_form,
		  .array = left,
		  .stride = sizeof(*left),
		  .n = info->left_out.keep || info->left_out.fields },
		{ .form = &chains_form, .array = &info->unwound, .n = info->unwound.samples > 0 },
		{ .form = &records_form, .array = types, .stride = sizeof(*types), .n = n_types },
		{ .form = &build_ids_form,
		  .array = info->buildids,
		  .stride = sizeof(*info->buildids),
		  .n = info->n_buildids,
		  .data_only = !v->verbose },
		{ .form = &recorded_losses_form, .array = v->source.losses, .n = 1 },
	};
	const size_t n_tables = sizeof(tables) / sizeof(*tables);
	struct buf line = BUF_INIT;

	if (!left || read_left_out(left, &d->a, info))
		w = NULL;
	add_file(d, v, &line);
	add_machine(d, info, &line);
	add_command(d, v, &line);
	for (size_t i = 0; w && i < v->source.n_events; i++) {
		if (read_event(&w[i], &d->a, v, &v->source.event[i].attr))
			w = NULL;
		else
			add_event(d, &v->source.event[i], &w[i], &line);
	}
	for (size_t i = 0; w && i < n_tables; i++)
		document_table(d, &tables[i]);
	if (w)
		add_left_out(d, left, &line);
	add_chains(d, &info->unwound);
	add_losses(d, &tables[n_tables - 1], &line);
	add_facts(d, v);
	add_next(d, v);
	buf_free(&line);
	return w ? 0 : err_nomem(err);
}
