/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls_term - calls as people read them: functions, most called first, and the edges between them;
 * or one function between its callers and callees. Then what the numbers do not cover.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/calls_view.h"
#include "report/next.h"
#include "report/page.h"

enum {
	FUNCTIONS = 20, /* that are shown unless --limit says */
	EDGES = 15,	/* likewise */
	NEIGHBOURS = 15,
	LEAST = 5, /* however small */
	DSO_COLUMNS = 14,
};

#define SMALL 0.0005 /* a share that is not shown unless asked for */

struct calls_page {
	struct page p;
	const struct calls_view *v;
	bool quiet;
};

static double of(double part, double all)
{
	return all > 0 ? part / all : NAN;
}

/* A count with its error; nothing where counts mean nothing. */
static void put_runs(struct calls_page *c, struct flow_value runs)
{
	char a[NUM_MAX], b[NUM_MAX];

	if (c->v->c->scaled)
		buf_printf(c->p.out, " %9s %-9s", page_estimate(a, runs.v), page_error(b, runs));
	else
		buf_printf(c->p.out, " %-9s", page_error(b, runs));
}

static void put_runs_heading(struct calls_page *c, const char *what)
{
	if (c->v->c->scaled)
		buf_printf(c->p.out, " %9s %-9s", what, "error");
	else
		buf_printf(c->p.out, " %-9s", "error");
}

static size_t runs_columns(const struct calls_page *c)
{
	return c->v->c->scaled ? 20 : 10;
}

static void put_share(struct calls_page *c, double share)
{
	char a[NUM_MAX];

	page_ink(&c->p, share >= 0.10 ? INK_HOT : share >= 0.02 ? INK_WARM : INK_PLAIN);
	buf_printf(c->p.out, " %7s", page_share(a, share));
	page_ink(&c->p, INK_PLAIN);
}

static void put_more(struct calls_page *c, size_t columns, size_t n, const char *what)
{
	if (!n)
		return;
	page_ink(&c->p, INK_DIM);
	buf_printf(c->p.out, "%*s(%zu more %s%s)", (int)columns, "", n, what, n == 1 ? "" : "s");
	page_ink(&c->p, INK_PLAIN);
	page_end(&c->p);
}

/* ---- head ----------------------------------------------------------------------------------- */

static void put_head(struct calls_page *c)
{
	const struct flow_sums *s = c->v->sums;
	struct buf line = BUF_INIT;
	char a[NUM_MAX], b[NUM_MAX];

	page_head(&c->p, &c->v->source);
	buf_printf(&line, "%s branch stacks of %s, up to %u entries", num_exact(a, s->stacks),
		   s->event ? s->event : "several events", s->depth);
	buf_putc(c->p.out, ' ');
	page_text(&c->p, buf_str(&line), page_room(&c->p, 1), true);
	page_end(&c->p);
	buf_reset(&line);
	if (c->v->c->scaled && c->v->c->hits) {
		buf_printf(&line, " %s calls %s", page_estimate(a, c->v->c->runs.v),
			   page_error(b, c->v->c->runs));
		buf_puts(c->p.out, buf_str(&line));
		page_end(&c->p);
	}
	c->p.out->failed |= line.failed;
	buf_free(&line);
}

/* ---- functions and edges --------------------------------------------------------------------- */

static size_t enough(const struct calls_page *c, size_t n, size_t most)
{
	size_t i = 0;

	while (i < n && i < most &&
	       (i < LEAST ||
		calls_share(c->v, c->v->c->f[i].called.v + c->v->c->f[i].tailed.v) >= SMALL))
		i++;
	return i;
}

/* Jumps to its start, which stand beside the calls and are no part of their share. */
static void put_tailed(struct calls_page *c, const struct call_function *f)
{
	char a[NUM_MAX];

	buf_printf(c->p.out, " %8s",
		   !(f->tailed.v > 0) ? ""
		   : c->v->c->scaled  ? page_estimate(a, f->tailed.v)
				      : page_share(a, calls_share(c->v, f->tailed.v)));
}

static void put_functions(struct calls_page *c)
{
	const struct calls *k = c->v->c;
	size_t limit = c->v->limit ? c->v->limit : FUNCTIONS, n = 0;
	size_t used = 8 + runs_columns(c) + 9, width;
	bool tailed = false;

	while (n < k->n && k->f[n].called.v + k->f[n].tailed.v > 0)
		n++;
	if (!c->v->limit) /* down to what is shown as 0.1 % */
		limit = enough(c, n, limit);
	for (size_t i = 0; i < n && i < limit; i++)
		tailed |= k->f[i].tailed.v > 0;
	used += tailed ? 9 : 0;
	width = page_room(&c->p, used + 2 + 1 + DSO_COLUMNS);
	page_end(&c->p);
	page_ink(&c->p, INK_BOLD);
	buf_puts(c->p.out, "   share");
	put_runs_heading(c, "called");
	buf_puts(c->p.out, tailed ? "   tailed  callers  " : "  callers  ");
	page_text(&c->p, "function", width, false);
	buf_puts(c->p.out, " of");
	page_ink(&c->p, INK_PLAIN);
	page_end(&c->p);
	for (size_t i = 0; i < n && i < limit; i++) {
		const struct call_function *f = &k->f[i];

		put_share(c, calls_share(c->v, f->called.v));
		put_runs(c, f->called);
		if (tailed)
			put_tailed(c, f);
		buf_printf(c->p.out, " %8" PRIu32 "  ", f->n_callers);
		page_text(&c->p, calls_name(c->v, (uint32_t)i), width, false);
		buf_putc(c->p.out, ' ');
		page_text(&c->p, calls_dso(c->v, (uint32_t)i), DSO_COLUMNS, true);
		page_end(&c->p);
	}
	put_more(c, used + 2, n > limit ? n - limit : 0, "function");
}

static void put_edge_row(struct calls_page *c, const struct call_edge *e, size_t width)
{
	char a[NUM_MAX];

	put_share(c, calls_share(c->v, e->runs.v));
	put_runs(c, e->runs);
	buf_printf(c->p.out, " %7s %5" PRIu32 " %-5s  ",
		   page_share(a, calls_mispredicted(&e->tally)), e->sites, calls_how(c->v, e));
	buf_reset(&c->p.text);
	calls_put_name(&c->p.text, c->v, e->caller);
	buf_puts(&c->p.text, " -> ");
	calls_put_name(&c->p.text, c->v, e->callee);
	page_text(&c->p, buf_str(&c->p.text), width, true);
	page_end(&c->p);
}

static int put_edges(struct calls_page *c, struct err *err)
{
	const struct calls *k = c->v->c;
	uint32_t *order = calls_by_runs(k);
	size_t limit = c->v->limit ? c->v->limit : EDGES, used = 8 + runs_columns(c) + 22;

	if (!order)
		return err_nomem(err);
	page_end(&c->p);
	page_ink(&c->p, INK_BOLD);
	buf_puts(c->p.out, "   share");
	put_runs_heading(c, "calls");
	buf_puts(c->p.out, " mispred sites how    from -> to");
	page_ink(&c->p, INK_PLAIN);
	page_end(&c->p);
	for (size_t i = LEAST; i < limit && !c->v->limit; i++)
		if (i >= k->n_edges || calls_share(c->v, k->edge[order[i]].runs.v) < SMALL)
			limit = i;
	for (size_t i = 0; i < k->n_edges && i < limit; i++)
		put_edge_row(c, &k->edge[order[i]], page_room(&c->p, used));
	put_more(c, used, k->n_edges > limit ? k->n_edges - limit : 0, "edge");
	free(order);
	return 0;
}

/* ---- one function ---------------------------------------------------------------------------- */

static void put_neighbours(struct calls_page *c, bool callers)
{
	const struct calls *k = c->v->c;
	const struct call_function *f = &k->f[c->v->function];
	size_t n = callers ? f->n_callers : f->n_callees;
	size_t limit = c->v->limit ? c->v->limit : NEIGHBOURS, used = 8 + runs_columns(c) + 22;
	size_t width = page_room(&c->p, used + 1 + DSO_COLUMNS);
	double all = callers ? f->called.v + f->tailed.v : f->calls.v;
	char a[NUM_MAX];

	page_end(&c->p);
	page_ink(&c->p, INK_BOLD);
	buf_puts(c->p.out, "   share");
	put_runs_heading(c, "calls");
	buf_puts(c->p.out, " mispred sites how    ");
	page_text(&c->p, callers ? "called by" : "calls", width, false);
	buf_puts(c->p.out, " of");
	page_ink(&c->p, INK_PLAIN);
	page_end(&c->p);
	for (size_t i = 0; i < n && i < limit; i++) {
		const struct call_edge *e =
			&k->edge[callers ? k->by_callee[f->first_caller + i] : f->first_callee + i];
		uint32_t other = callers ? e->caller : e->callee;

		put_share(c, of(e->runs.v, all));
		put_runs(c, e->runs);
		buf_printf(c->p.out, " %7s %5" PRIu32 " %-5s  ",
			   page_share(a, calls_mispredicted(&e->tally)), e->sites,
			   calls_how(c->v, e));
		page_text(&c->p, calls_name(c->v, other), width, false);
		buf_putc(c->p.out, ' ');
		page_text(&c->p, calls_dso(c->v, other), DSO_COLUMNS, true);
		page_end(&c->p);
	}
	put_more(c, used, n > limit ? n - limit : 0, "");
	if (!n) {
		buf_printf(c->p.out, "%*s(none in the recording)", (int)used, "");
		page_end(&c->p);
	}
}

static void put_value(struct calls_page *c, const char *label, struct flow_value v,
		      const char *text)
{
	char a[NUM_MAX], b[NUM_MAX];

	if (c->v->c->scaled)
		page_fact(&c->p, label, false, "%s times %s%s", page_estimate(a, v.v),
			  page_error(b, v), text);
	else
		page_fact(&c->p, label, false, "%s of all calls %s%s",
			  page_share(a, calls_share(c->v, v.v)), page_error(b, v), text);
}

static void put_function(struct calls_page *c)
{
	const struct call_function *f = &c->v->c->f[c->v->function];

	page_end(&c->p);
	buf_putc(c->p.out, ' ');
	page_ink(&c->p, INK_BOLD);
	page_text(&c->p, calls_name(c->v, c->v->function), 0, true);
	page_ink(&c->p, INK_PLAIN);
	buf_puts(c->p.out, "  ");
	page_text(&c->p, calls_dso(c->v, c->v->function), 0, true);
	page_end(&c->p);
	put_value(c, "called", f->called, "");
	if (f->recursive.v > 0)
		put_value(c, "  by itself", f->recursive, "");
	if (f->tailed.v > 0)
		put_value(c, "tail-called", f->tailed, ": jumps to its start");
	put_value(c, "calls others", f->calls, "");
	put_neighbours(c, true);
	put_neighbours(c, false);
}

/* ---- what to think of it --------------------------------------------------------------------- */

/* Hits that count for nobody, or not for whom one would like. */
static void put_lost(struct calls_page *c)
{
	const struct calls *k = c->v->c;
	const struct {
		uint64_t n;
		const char *label, *text;
	} rows[] = {
		{ k->no_symbol, "no symbol", "at one end: they count for the file as a whole" },
		{ k->lost_plt, "PLT",
		  "where it leads was not seen: they count for the trampoline itself" },
		{ k->strange, "strange",
		  "returns to no place behind a call (signals, longjmp, task switches), or calls "
		  "into the caller's own middle: left out" },
		{ k->guessed, "guessed",
		  "taken for calls by where they lead alone; the code is not there" },
		{ k->no_code, "not looked at",
		  "returns the call of which could not be looked at; the code is not there" },
	};
	uint64_t all = k->hits + k->strange,
		 branches = k->unknown + k->other + k->kernel + k->hits_calls + k->hits_returns;
	char a[NUM_MAX], b[NUM_MAX];

	if (k->unknown)
		page_fact(&c->p, "not known", k->unknown > branches / 20,
			  "%s of %s branches: neither code nor kind is there; --symbols DIR says "
			  "where programs are",
			  num_exact(a, k->unknown), num_exact(b, branches));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].n)
			page_fact(&c->p, rows[i].label, rows[i].n > all / 20, "%s of %s seen: %s",
				  num_exact(a, rows[i].n), num_exact(b, all), rows[i].text);
}

static void put_scale(struct calls_page *c)
{
	const struct calls *k = c->v->c;

	if (k->scaled)
		page_fact(&c->p, "told by", false,
			  "%s; the event counts the branches that are recorded", calls_by(k));
	else
		page_fact(&c->p, "told by", true,
			  "%s, shares only: the event does not count the branches that are "
			  "recorded, so that how often is not known, and stacks favour code near "
			  "what it counts",
			  calls_by(k));
}

static void put_facts(struct calls_page *c)
{
	const struct calls *k = c->v->c;
	const struct flow_sums *s = c->v->sums;
	char a[NUM_MAX], b[NUM_MAX];

	page_end(&c->p);
	if (k->n_edges)
		put_scale(c);
	page_stacks(&c->p, &c->v->source, s);
	if (!k->by_returns && k->hits_returns)
		page_fact(&c->p, "calls, returns", false,
			  "%s and %s seen; they differ by what begins or ends outside of stacks, "
			  "and by exceptions",
			  num_exact(a, k->hits_calls), num_exact(b, k->hits_returns));
	put_lost(c);
	if (k->kernel)
		page_fact(&c->p, "kernel", false,
			  "%s ways into the kernel or out of it, which are no calls",
			  num_exact(a, k->kernel));
	page_recording(&c->p, &c->v->source);
}

static void put_next(struct calls_page *c)
{
	uint32_t f = c->v->function == CALLS_ALL ? 0 : c->v->function;
	struct next list[NEXT_MAX];
	struct arena a = ARENA_INIT;
	struct next_list l = { .v = list, .a = &a, .input = c->v->source.input };
	const char *name = c->v->c->n && c->v->c->f[f].symbol ? calls_name(c->v, f) : NULL;

	if (c->v->function == CALLS_ALL && name)
		next_add(&l, "calls", "", name, "who calls it, and whom it calls");
	else if (name)
		next_add(&l, "annotate", "", name, "its source lines and instructions");
	if (c->v->c->n_edges)
		next_add(&l, "calls", "--format svg -o calls.svg",
			 c->v->function == CALLS_ALL ? NULL : name, "as a picture");
	if (c->v->sums->filter == FLOW_ANY && c->v->sums->stacks)
		next_add(&l, "blocks", "", NULL, "how often each block ran");
	page_end(&c->p);
	next_put(c->p.out, list, l.n, c->p.st);
	arena_free(&a);
}

static const char *why_no_stacks(const struct calls_view *v)
{
	const struct flow_sums *s = v->sums;
	uint64_t with = s->samples - page_other_samples(&v->source);

	if (!s->samples)
		return "the recording has no samples";
	if (!with)
		return "the event with branch stacks has no sample: it was rarer than its period, "
		       "or "
		       "had no counter";
	return s->empty ? "the samples' branch stacks are empty: no branch was recorded"
			: "options left out all samples with branch stacks";
}

int calls_term(struct buf *out, const struct calls_view *v, const struct sink_opts *o,
	       struct err *err)
{
	struct calls_page c = { .p = { .out = out, .st = &o->style }, .v = v, .quiet = o->quiet };
	int ret = 0;

	put_head(&c);
	if (v->function != CALLS_ALL)
		put_function(&c);
	else if (v->c->n_edges) {
		put_functions(&c);
		ret = put_edges(&c, err);
	} else {
		page_end(&c.p);
		page_fact(&c.p, "no calls", true, "%s",
			  !v->sums->stacks ? why_no_stacks(v)
			  : v->c->unknown
				  ? "nothing tells which of the recorded branches are calls: "
				    "neither the programs' files nor kinds of branches are "
				    "there"
			  : v->c->by_returns
				  ? "none of the recorded branches is a return to behind a call"
				  : "none of the recorded branches is a call");
	}
	put_facts(&c);
	if (!c.quiet)
		put_next(&c);
	buf_free(&c.p.text);
	return ret ? -1 : out->failed ? err_nomem(err) : 0;
}
