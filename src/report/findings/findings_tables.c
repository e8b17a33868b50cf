/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "analyse/again.h"
#include "analyse/event_cost.h"
#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "report/findings/findings_int.h"
#include "report/recorded.h"

#define TEXT_MOST    160 /* columns of a name in data */
#define COMMAND_MOST 400 /* bytes of a command that somebody types */
#define CMDLINE_MOST 800

/* ---- words and commands ---------------------------------------------------------------------- */

static const char *unit_of(struct findings_view *v, const struct pd *rec, size_t event)
{
	const struct pd_event *ev = event == SIZE_MAX ? NULL : &v->source.event[event];

	if (!ev)
		return "the samples";
	switch (event_cost(rec, ev)) {
	case EVENT_COST_CYCLES:
		return "the cycles";
	case EVENT_COST_TIME:
		return v->f->running < 0.9 ? "the CPU time" : "the time";
	case EVENT_COST_REFERENCE:
		return "the reference cycles";
	case EVENT_COST_NONE:
		break;
	}
	return arena_xprintf(&v->a, "the event %s", ev->name);
}

static void add_again(struct next_list *l, const struct findings_view *v, const char *with)
{
	struct buf b = BUF_INIT;

	if (again_put(&b, v->source.info, with, true) && !b.failed)
		next_add_command(l, buf_str(&b), "");
	buf_free(&b);
}

static const char *command_of(struct findings_view *v, const struct finding *f)
{
	struct next out[NEXT_MAX];
	struct next_list l = { .v = out, .a = &v->a, .input = v->source.input };
	struct buf b = BUF_INIT;

	switch (f->kind) {
	case FINDING_HOT:
		next_add(&l, "annotate", "", f->at.function, "");
		break;
	case FINDING_MEMORY:
	case FINDING_MISPREDICTS:
	case FINDING_FRONTEND:
	case FINDING_STALLS:
		if (f->of == FINDING_OF_LATENCY)
			next_add(&l, "mem", "", NULL, "");
		else if (f->of == FINDING_OF_SLOTS)
			next_add(&l, "report", "", NULL, "");
		else if (f->at.function)
			next_add(&l, "annotate", "--account", f->at.function, "");
		else
			next_add(&l, "report", "--account", NULL, "");
		break;
	case FINDING_FALSE_SHARING:
		next_add(&l, "sharing", "", NULL, "");
		break;
	case FINDING_LOCK:
	case FINDING_WAITS:
	case FINDING_IO:
	case FINDING_QUOTA:
	case FINDING_LATE:
		next_add(&l, "report", "--wait", NULL, "");
		break;
	case FINDING_PROCESSES:
		next_add(&l, "report", "-s comm,pid", NULL, "");
		break;
	case FINDING_RUN_QUEUE:
	case FINDING_NO_CPU:
		next_add(&l, "report", "--concurrency", NULL, "");
		break;
	case FINDING_ALLOCATIONS:
		next_add(&l, "report", f->at.share > 0 ? "--callers" : "", NULL, "");
		break;
	case FINDING_KERNEL:
		next_add(&l, "report", f->object ? "-g" : "", NULL, "");
		break;
	case FINDING_INTERPRETER:
	case FINDING_UNNAMED:
		if (runtime_put_again(&b, &f->runtime, v->source.info,
				      source_has_chains(&v->source) ? "-g" : "", true) &&
		    !b.failed)
			next_add_command(&l, buf_str(&b), "");
		break;
	case FINDING_LOST:
		add_again(&l, v, "-F 1000");
		if (!l.n)
			next_add(&l, "info", "", NULL, "");
		break;
	case FINDING_KINDS:
		break;
	}
	buf_free(&b);
	return l.n && strlen(out[0].command) <= COMMAND_MOST ? out[0].command : NULL;
}

/* ---- texts that are not too long ------------------------------------------------------------- */

/* As it is, if it is short enough. */
static const char *folded(struct findings_view *v, const char *s)
{
	struct buf b = BUF_INIT;

	if (!s || strlen(s) <= TEXT_MOST)
		return s;
	finding_put_name(&b, s, TEXT_MOST);
	s = b.failed ? "" : arena_xstrdup(&v->a, buf_str(&b));
	buf_free(&b);
	return s;
}

static void shorten_cmdline(struct findings_view *v)
{
	struct pd_info *i = &v->info;
	size_t len = 0, n = 0;
	const char **list;

	while (n < i->n_cmdline && len <= CMDLINE_MOST)
		len += strlen(i->cmdline[n++]) + 3;
	if (len <= CMDLINE_MOST)
		return;
	list = arena_xalloc(&v->a, n * sizeof(*list));
	memcpy(list, i->cmdline, n * sizeof(*list));
	list[n - 1] = arena_xstrdup(&v->a, "...");
	i->cmdline = list;
	i->n_cmdline = n;
}

static const char *sentence(struct findings_view *v, struct buf *b)
{
	const char *text = b->failed || !b->len ? NULL : arena_xstrdup(&v->a, buf_str(b));

	buf_free(b);
	return text;
}

/* A function that has much time, and nothing that has the reason. */
static bool is_time_alone(const struct findings *f, const struct pd *rec, size_t event)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	bool hot = false;

	if (event >= n || event_cost(rec, &ev[event]) != EVENT_COST_TIME)
		return false;
	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].of == FINDING_OF_CYCLES || f->v[i].of == FINDING_OF_SLOTS)
			return false;
		hot |= f->v[i].kind == FINDING_HOT;
	}
	return hot;
}

void findings_view_fill(struct findings_view *v, const struct findings *f,
			const struct view_source *source, const struct pd *rec, size_t event)
{
	struct buf b = BUF_INIT;

	*v = (struct findings_view){ .f = f, .source = *source, .n = f->n, .info = *source->info };
	v->source.info = &v->info;
	v->head_function = folded(v, f->head.at.function);
	v->head_dso = folded(v, f->head.at.dso);
	v->unit = unit_of(v, rec, event);
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->v[i];

		v->line[i].f = x;
		v->line[i].function = folded(v, x->at.function);
		v->line[i].dso = folded(v, x->at.dso);
		v->line[i].object = folded(v, x->object);
		finding_put_statement(&b, v, x);
		v->line[i].command = command_of(v, x);
		if (!v->line[i].command && x->runtime.runtime)
			runtime_put_how(&b, &x->runtime);
		v->line[i].statement = sentence(v, &b);
		if (x->file)
			v->line[i].source =
				arena_xprintf(&v->a, "%s:%u", folded(v, x->file), x->line);
		if (x->thread)
			v->line[i].thread =
				x->tid ? arena_xprintf(&v->a, "%s (tid %u)", x->thread, x->tid)
				       : x->thread;
	}
	shorten_cmdline(v); /* commands are made of all of it */
	finding_put_headline(&b, v);
	v->headline = sentence(v, &b);
	if (is_time_alone(f, rec, event))
		v->unmeasured =
			"causes: not measured, as time alone was recorded; record --account "
			"counts them where the machine has counters";
	if (f->n)
		return;
	if (!f->samples)
		v->nothing = "no findings: there are no samples";
	else if (f->waited > 0.5 && !f->waits)
		v->nothing = "no findings: the program was off the CPUs most of the time. Whether "
			     "it waited or other programs had the CPUs, and what it waited for, "
			     "was not recorded: cyclade record --wait";
	else
		v->nothing = "nothing unusual was found: no function, wait or call stands out by "
			     "more than its error";
}

void findings_view_free(struct findings_view *v)
{
	arena_free(&v->a);
}

/* ---- tables ---------------------------------------------------------------------------------- */

TABLE_CTX_AS(findings_of, struct findings_view)
TABLE_ROW_AS(line_of, struct findings_line)

TABLE_CELL(finding_rank, out->n = (uint64_t)(line_of(r) - findings_of(t)->line) + 1)
TABLE_CELL(finding_kind, out->text = finding_kinds[line_of(r)->f->kind].name)
TABLE_CELL(finding_page, out->text = line_of(r)->f->of == FINDING_OF_LATENCY
					     ? "memory"
					     : finding_kinds[line_of(r)->f->kind].page)
TABLE_CELL(headline_text, out->text = findings_of(t)->headline)
TABLE_CELL(headline_function, out->text = findings_of(t)->head_function)
TABLE_CELL(headline_dso, out->text = findings_of(t)->head_dso)

TABLE_GET(headline_share)
{
	const struct finding *h = &findings_of(t)->f->head;

	cell_estimate(out, (struct estimate){ h->share, h->half, NULL });
}

TABLE_GET(finding_share)
{
	const struct finding *f = line_of(r)->f;

	cell_estimate(out, (struct estimate){ f->share, f->half, NULL });
}

#define OF(...) TABLE_FIELD(struct findings_line, __VA_ARGS__)
static const struct table_column finding_columns[] = {
	COLUMN("rank", "#", T_ID, C_KEY, "1: most is at stake", .get = finding_rank),
	COLUMN("kind", "kind", T_TEXT, C_DATA, "of the finding", .get = finding_kind),
	COLUMN("share", "share", T_SHARE, C_ERROR | C_DATA,
	       "of what the statement names: samples, threads' time, length", .get = finding_share),
	COLUMN("statement", "finding", T_TEXT, C_FLEX | C_CUT, "a sentence", OF(statement)),
	COLUMN("function", "function", T_TEXT, C_DATA, "where it is", OF(function)),
	COLUMN("dso", "of", T_TEXT, C_DATA, "its file", OF(dso)),
	COLUMN("source", "line", T_TEXT, C_DATA, "its source file and line", OF(source)),
	COLUMN("thread", "thread", T_TEXT, C_DATA, "of several the one with most", OF(thread)),
	COLUMN("object", "object", T_TEXT, C_DATA, "a lock, a file, a system call, a runtime",
	       OF(object)),
	COLUMN("command", "proof", T_TEXT, 0, "the command that shows it", OF(command)),
	COLUMN("page", "page", T_TEXT, C_DATA, "the page of report --html that shows it",
	       .get = finding_page),
};
#undef OF
static const struct table_form findings_form = { "rows", NULL, TABLE_MAIN,
						 TABLE_COLUMNS(finding_columns),
						 .rest = "finding" };

const struct table_form findings_among_form = { "findings", NULL, TABLE_DATA,
						TABLE_COLUMNS(finding_columns), .rest = "finding" };

void findings_put_among(struct document *d, const struct findings_view *v)
{
	document_table(d, &(struct table){ .form = &findings_among_form,
					   .ctx = v,
					   .array = v ? v->line : NULL,
					   .stride = sizeof(*v->line),
					   .n = v ? v->n : 0 });
}

static const struct table_column headline_columns[] = {
	COLUMN("text", "headline", T_TEXT, C_FLEX, "one sentence", .get = headline_text),
	COLUMN("share", "share", T_SHARE, C_ERROR, "of the samples, of the function with most",
	       .get = headline_share),
	COLUMN("function", "function", T_TEXT, 0, "that function", .get = headline_function),
	COLUMN("dso", "of", T_TEXT, 0, "its file", .get = headline_dso),
};
static const struct table_form headline_form = { "headline", NULL, TABLE_ONE | TABLE_DATA,
						 TABLE_COLUMNS(headline_columns) };

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_wrapped(struct buf *out, const char *s, size_t indent, const struct style *st)
{
	struct buf line = BUF_INIT;

	text_put_safe(&line, s, st->ascii);
	text_put_wrapped(out, buf_str(&line), indent, st->width);
	buf_free(&line);
}

/* With its command behind it, else below it or, if there is no room for that, without. */
static void put_line(struct buf *out, const struct findings_line *l, size_t n, bool below,
		     const struct style *st)
{
	bool fits = !st->width ||
		    6 + strlen(l->statement) + strlen(l->command ? l->command : "") <= st->width;

	buf_printf(out, " %zu  ", n);
	put_wrapped(out, l->statement, 4, st);
	if (l->command && (fits || below)) {
		buf_puts(out, fits ? "  " : "\n    ");
		style_ink(out, st, INK_DIM);
		text_put_safe(out, l->command, st->ascii);
		style_ink(out, st, INK_PLAIN);
	}
	buf_putc(out, '\n');
}

void findings_put_lines(struct buf *out, const struct findings_view *v, const struct style *st)
{
	for (size_t i = 0; i < v->n; i++)
		put_line(out, &v->line[i], i + 1, true, st);
}

/* Returns true if the screen shows it in another place. */
static bool is_shown(const struct finding *f, bool waits)
{
	return f->kind == FINDING_LOST || f->kind == FINDING_INTERPRETER ||
	       f->kind == FINDING_UNNAMED ||
	       (waits && (f->kind == FINDING_WAITS || f->kind == FINDING_IO));
}

#define ABOVE_MOST 3

bool findings_above(const struct findings_view *v, bool waits)
{
	for (size_t i = 0; v && i < v->n; i++)
		if (!is_shown(v->line[i].f, waits) && v->line[i].f->kind != FINDING_HOT)
			return true;
	return false;
}

void findings_put_above(struct buf *out, const struct findings_view *v, bool waits,
			const struct style *st)
{
	size_t n = 0;

	style_ink(out, st, INK_BOLD);
	buf_puts(out, " findings");
	style_ink(out, st, INK_PLAIN);
	buf_putc(out, '\n');
	for (size_t i = 0; i < v->n && n < ABOVE_MOST; i++)
		if (!is_shown(v->line[i].f, waits))
			put_line(out, &v->line[i], ++n, false, st);
}

static int write_term(struct buf *out, const struct document *d, const struct show *s,
		      struct err *err)
{
	const struct findings_view *v = d->ctx;

	if (s->table)
		return format_term(out, d, s, err);
	term_titles(out, d, &s->style);
	if (v->headline) {
		buf_puts(out, "\n ");
		put_wrapped(out, v->headline, 1, &s->style);
		buf_putc(out, '\n');
	}
	if (v->n)
		buf_putc(out, '\n');
	findings_put_lines(out, v, &s->style);
	buf_putc(out, '\n');
	term_notes(out, d, &s->style);
	term_facts(out, d, &s->style);
	return 0;
}

static const struct table_form *const forms[] = { &findings_form, &headline_form, &recorded_form,
						  &recorded_losses_form };
static const struct format faces[] = { { "term", write_term, false, false } };
const struct document_form findings_document = { "findings", 1,
						 forms,	     sizeof(forms) / sizeof(*forms),
						 faces,	     1 };

void findings_put(struct document *d, const struct findings_view *v)
{
	recorded_head(d, &v->source);
	document_table(d, &(struct table){ .form = &findings_form,
					   .ctx = v,
					   .array = v->line,
					   .stride = sizeof(*v->line),
					   .n = v->n });
	document_table(d, &(struct table){ .form = &headline_form, .ctx = v, .array = v, .n = 1 });
	if (v->nothing)
		document_note(d, v->nothing);
	if (v->unmeasured)
		document_note(d, v->unmeasured);
	recorded_tail(d, &v->source);
}
